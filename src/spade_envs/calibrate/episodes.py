"""Many episodes at once: those that are live ask the player together, and then step together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spade_envs.calibrate.players import Player, Said, Seen
from spade_envs.errors import ClientError
from spade_envs.play.stage import Opened, Scene, Seat
from spade_envs.types import EnvSource, Episode, Fault, Interface, StepOutcome, Turn

MOST_ENVS = 64
"""Environments in play at once: each has a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One episode to play."""

    env: str
    """Digest of the environment."""
    source: EnvSource
    interface: Interface
    level: int
    number: int
    """Number of the instance at its level, >= 0."""
    seed: int
    hinted: bool
    text: str | None = None
    """A hint to show; None shows the environment's own in the arm with the hint."""

    @property
    def key(self) -> str:
        """Name of the episode."""
        arm = "hinted" if self.hinted else "plain"
        return f"{self.env}/{self.level}/{self.number}/{self.seed}/{arm}"


Result = tuple[Job, Episode | ClientError]


@dataclass(slots=True)
class _Live:
    job: Job
    start: Opened
    hint: str | None
    turns: list[Turn] = field(default_factory=list)
    over: Episode | ClientError | None = None

    @property
    def seen(self) -> Seen:
        return Seen(
            env=self.job.env,
            interface=self.job.interface,
            level=self.job.level,
            seed=self.job.seed,
            number=self.job.number,
            first=self.start.observation,
            turns=tuple(self.turns),
            hint=self.hint,
            solution=self.start.solution,
        )

    def answered(self, action: str, step: StepOutcome, most_turns: int | None) -> None:
        self.turns.append(Turn(action, step.observation, step.reward))
        if step.fault is not None or step.done:
            self.end(step.fault, success=step.won, terminated=step.terminated)
        elif most_turns is not None and len(self.turns) >= most_turns:
            self.end(None)

    def end(self, fault: Fault | None, *, success: bool = False, terminated: bool = False) -> None:
        self.over = Episode(
            env_id=self.job.env,
            level=self.job.level,
            seed=self.job.seed,
            first_observation=self.start.observation,
            turns=tuple(self.turns),
            total_reward=sum(turn.reward for turn in self.turns),
            success=success,
            terminated=terminated,
            truncated=not terminated,
            hinted=self.job.hinted,
            fault=fault,
        )


def play_all(
    jobs: Iterable[Job],
    player: Player,
    scene: Scene,
    *,
    live: int = 64,
    most_turns: int | None = None,
) -> Iterator[list[Result]]:
    """Yield the episodes that ended, round by round; results do not depend on how many are live.

    Args:
        jobs: what to play, those of one environment together.
        player: acts.
        scene: runs the environments; it is not closed here.
        live: episodes in play at once, >= 1.
        most_turns: turns at most, whatever an environment allows; an episode that is cut is lost.

    Raises:
        ClientError: the player answered in no episode of a round.
        SandboxError: the sandbox itself failed; what an environment does wrong is a fault.
    """
    waiting, going = _Queue(iter(jobs)), list[_Live]()
    while True:
        new = waiting.take(live - len(going), {one.job.env for one in going})
        if not going and not new:
            return
        seats = [_seat(job, player) for job in new]
        for job, start in zip(new, scene.open(seats), strict=True):
            going.append(_begun(job, start))
        playing = [one for one in going if one.over is None]
        said = player.act([one.seen for one in playing]) if playing else []
        _step(scene, playing, said, most_turns)
        scene.leave([one.job.key for one in going if one.over is not None])
        over = [(one.job, one.over) for one in going if one.over is not None]
        going = [one for one in going if one.over is None]
        if over:
            yield over


def _step(scene: Scene, playing: list[_Live], said: list[Said], most_turns: int | None) -> None:
    acting: list[tuple[_Live, str]] = []
    for one, action in zip(playing, said, strict=True):
        if isinstance(action, ClientError):
            one.over = action
        elif action is None:
            one.end(None)
        else:
            acting.append((one, action))
    steps = scene.step([(one.job.key, action) for one, action in acting])
    for (one, action), step in zip(acting, steps, strict=True):
        one.answered(action, step, most_turns)


def _seat(job: Job, player: Player) -> Seat:
    return Seat(
        key=job.key,
        env=job.env,
        source=job.source,
        level=job.level,
        seed=job.seed,
        hinted=(job.hinted and job.text is None) or player.knows,
    )


def _begun(job: Job, start: Opened) -> _Live:
    fault, hint = start.fault, job.text if job.hinted else None
    if job.hinted and job.text is None:
        fault, hint = fault or start.hint_fault, start.hint
    one = _Live(job, start, hint)
    if fault is not None:
        one.end(fault)
    return one


class _Queue:
    """Jobs that wait for room."""

    def __init__(self, jobs: Iterator[Job]) -> None:
        self._jobs = jobs
        self._next = next(jobs, None)

    def take(self, room: int, envs: set[str]) -> list[Job]:
        """Return the next jobs for which there is room, of episodes and of environments."""
        taken: list[Job] = []
        while len(taken) < room and (job := self._next) is not None:
            if job.env not in envs and len(envs) >= MOST_ENVS:
                break
            envs.add(job.env)
            taken.append(job)
            self._next = next(self._jobs, None)
        return taken
