"""Playing episodes: many environments, many turns, all live episodes in one batch.

    jobs -> begin -> [ sample a turn of every live episode -> step every environment ] -> Played

Which episodes are sampled together follows from the jobs alone and never from the time that
something takes, so a run can be repeated to the last digit. Episodes begin in the order of the
jobs, which may come from an iterator that still waits for gates: what is there is played meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from spade_envs.play.stage import Scene, Seat, Stage
from spade_envs.types import EnvSource
from spade_train.engines import Engine, SampleRequest
from spade_train.rollouts.clock import Clock, Times
from spade_train.rollouts.jobs import EpisodeJob, Played
from spade_train.rollouts.live import Live, begun
from spade_train.rollouts.settings import ActSettings
from spade_train.tokens import ChatFormat

MOST_ENVS = 64
"""Environments in play at once: each has a process."""


class _Queue:
    """Jobs that wait for room."""

    def __init__(self, jobs: Iterator[EpisodeJob]) -> None:
        self._jobs = jobs
        self._next: EpisodeJob | None = None

    def take(self, room: int, seated: set[str]) -> list[EpisodeJob]:
        """Return the next jobs for which there is room, of episodes and of environments."""
        taken: list[EpisodeJob] = []
        while len(taken) < room:
            job = self._next or next(self._jobs, None)
            self._next = job
            if job is None or (job.env not in seated and len(seated) >= MOST_ENVS):
                break
            self._next = None
            seated.add(job.env)
            taken.append(job)
        return taken


class Sources(Protocol):
    """Has the programs of environments, such as a `Shelf`."""

    def source(self, digest: str) -> EnvSource:
        """Return the source of an environment."""
        ...


@dataclass(frozen=True, slots=True)
class Acted:
    """Episodes in the order of their jobs, and where the time went."""

    played: tuple[Played, ...]
    times: Times


def act(
    jobs: Iterable[EpisodeJob],
    *,
    engine: Engine,
    form: ChatFormat,
    shelf: Sources,
    settings: ActSettings,
    clock: Clock | None = None,
    scene: Scene | None = None,
) -> Acted:
    """Play an episode for each job.

    Args:
        jobs: what to play; taken as room comes up, so an iterator may produce them meanwhile.
            Those of one environment are best together: they share a worker.
        engine: samples the agent's turns.
        form: the agent's chat format.
        shelf: has the environments.
        settings: decoding and limits.
        clock: counts the time; give one that the iterator of jobs uses as well, so that what it
            does in between is counted once.
        scene: plays on other machines; None plays on this one. It is not closed here.

    Raises:
        EngineError: the engine cannot answer.
        NotFound: an environment is not on the shelf.
        SandboxError: the sandbox itself failed; what an environment does wrong is a fault.
    """
    clock = clock or Clock()
    order: dict[str, int] = {}

    def numbered() -> Iterator[EpisodeJob]:
        for job in jobs:
            order[job.key] = len(order)
            yield job

    played: list[Played] = []
    place = Stage(settings.workers) if scene is None else scene
    try:
        for one in stream(
            numbered(),
            engine=engine,
            form=form,
            shelf=shelf,
            settings=settings,
            clock=clock,
            scene=place,
        ):
            played.append(one)
    finally:
        if scene is None:
            place.close()
    played.sort(key=lambda one: order[one.job.key])
    return Acted(tuple(played), clock.times())


def stream(
    jobs: Iterable[EpisodeJob],
    *,
    engine: Engine,
    form: ChatFormat,
    shelf: Sources,
    settings: ActSettings,
    clock: Clock,
    scene: Scene,
) -> Iterator[Played]:
    """Yield episodes as they end; see `act`."""
    waiting = _Queue(iter(jobs))
    live: list[Live] = []
    while True:
        over = [one for one in live if one.played is not None]
        engine.forget([one.job.key for one in over])
        with clock.on("play"):
            scene.leave([one.job.key for one in over])
        yield from (one.played for one in over if one.played is not None)
        live = [one for one in live if one.played is None]
        new = waiting.take(settings.live_episodes - len(live), {one.job.env for one in live})
        if not live and not new:
            return
        with clock.on("play"):
            begins = scene.open([_seat(job, shelf, form, settings) for job in new])
        with clock.on("tokens"):
            pairs = zip(new, begins, strict=True)
            live += [begun(job, form, start, settings) for job, start in pairs]
        playing = [one for one in live if one.played is None]
        with clock.on("model"):
            turns = engine.sample([_request(one, settings) for one in playing])
        with clock.on("tokens"):
            actions = [one.said(turn) for one, turn in zip(playing, turns, strict=True)]
        with clock.on("play"):
            keys = [one.job.key for one in playing]
            steps = scene.step(list(zip(keys, actions, strict=True)))
        with clock.on("tokens"):
            for one, action, step in zip(playing, actions, steps, strict=True):
                one.answered(action, step)


def _seat(job: EpisodeJob, shelf: Sources, form: ChatFormat, settings: ActSettings) -> Seat:
    return Seat(
        key=job.key,
        env=job.env,
        source=shelf.source(job.env),
        level=job.level,
        seed=job.seed,
        hinted=job.hinted,
        native_tools=settings.native_tools and not form.traits.native_tools,
    )


def _request(one: Live, settings: ActSettings) -> SampleRequest:
    decoding = settings.decoding
    return SampleRequest(
        key=one.job.key,
        ids=one.ids,
        seed=one.turn_seed,
        max_tokens=one.dialogue.room(one.form.window),
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        top_k=decoding.top_k,
    )
