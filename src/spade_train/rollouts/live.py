"""One episode in play: its tokens, its texts, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from spade_envs.design.brief import derive_seed
from spade_envs.play.chat import opening
from spade_envs.play.stage import Opened
from spade_envs.types import Episode, Fault, Message, StepOutcome, Turn
from spade_train.engines import Sampled
from spade_train.rollouts.jobs import EpisodeJob, Played
from spade_train.rollouts.settings import ActSettings
from spade_train.tokens import ChatFormat, Dialogue, messages_of
from spade_train.types import EpisodeResult


@dataclass(slots=True)
class Live:
    """An episode that is being played; `played` is set when it is over."""

    job: EpisodeJob
    form: ChatFormat
    most_turns: int
    native: bool
    first: str
    hint: str
    solution: tuple[str, ...]
    dialogue: Dialogue
    ids: tuple[int, ...]
    """All tokens of the dialogue, kept beside it since each turn needs them whole."""
    turns: list[Turn] = field(default_factory=list)
    malformed: int = 0
    played: Played | None = None

    @property
    def turn_seed(self) -> int:
        """Of the turn that is sampled next."""
        return derive_seed("turn", self.job.sample_seed, len(self.turns))

    def said(self, turn: Sampled) -> str:
        """Take in a sampled turn and return the action that it is."""
        self.dialogue = self.form.sampled(self.dialogue, turn.ids, turn.logprobs)
        self.ids += turn.ids
        spoken = self.form.turn(self.dialogue)
        self.malformed += any(call.error is not None for call in spoken.calls)
        return spoken.text

    def answered(self, action: str, step: StepOutcome) -> None:
        """Take in what the environment answered to an action."""
        self.turns.append(Turn(action, step.observation, step.reward))
        if step.fault is not None or step.done:
            self.end(step.fault, success=step.won, terminated=step.terminated)
            return
        if len(self.turns) >= self.most_turns:
            self.end(None)
            return
        said = messages_of(step.observation, step.info, native_tools=self.native)
        self.dialogue = self.form.reply(self.dialogue, said)
        if self.dialogue.truncated:
            self.end(None)
        else:
            self.ids += self.dialogue.segments[-1].ids

    def end(self, fault: Fault | None, *, success: bool = False, terminated: bool = False) -> None:
        """Note how the episode ended; by default it ran out of turns or of room."""
        job = self.job
        episode = Episode(
            env_id=job.env,
            level=job.level,
            seed=job.seed,
            first_observation=self.first,
            turns=tuple(self.turns),
            total_reward=sum(turn.reward for turn in self.turns),
            success=success,
            terminated=terminated,
            truncated=not terminated,
            hinted=job.hinted,
            fault=fault,
        )
        self.played = Played(
            job=job,
            result=EpisodeResult.of(episode, update=job.update),
            dialogue=self.dialogue,
            episode=episode,
            hint=self.hint,
            solution=self.solution,
            malformed_calls=self.malformed,
        )


def begun(job: EpisodeJob, form: ChatFormat, start: Opened, settings: ActSettings) -> Live:
    """Return an episode with its prompt; it is over at once if it could not start."""
    fault, hint = start.fault, ""
    if job.hinted:
        hint = start.hint if job.hint is None else job.hint
        fault = fault or (start.hint_fault if job.hint is None else None)
    dialogue = Dialogue(())
    if fault is None:
        shown = opening(start.observation, hint if job.hinted else None)
        dialogue = form.begin([Message("user", shown)], tools=start.tools)
    live = Live(
        job=job,
        form=form,
        most_turns=settings.max_turns,
        native=bool(start.tools),
        first=start.observation,
        hint=hint,
        solution=start.solution,
        dialogue=dialogue,
        ids=tuple(i for segment in dialogue.segments for i in segment.ids),
    )
    if fault is not None or dialogue.truncated:
        live.end(fault)
    return live
