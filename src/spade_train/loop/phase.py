"""A design phase: attempts at each slot until a program is accepted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from spade_train.batch import World
from spade_train.loop.ports import Rollouts
from spade_train.loop.spread import gathered, mine
from spade_train.loop.state import LiveEnv, LoopState
from spade_train.rollouts.jobs import Designed, DesignJob
from spade_train.runs import Spent
from spade_train.tokens import Dialogue
from spade_train.types import DesignSample, HintInformation

Jobs = Callable[[LoopState, int, Sequence[int]], tuple[tuple[DesignJob, ...], LoopState]]
"""From state, attempt and slots to jobs, slot by slot, and the state after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What came of one design job, as all processes know it."""

    index: int
    key: str
    brief: str
    skill: str
    challenge: str
    update: int
    dialogue: Dialogue
    env: str | None = None
    stage: str = ""
    """Where it was refused; empty if it was not."""
    reason: str = ""
    levels: int = 0
    chance: float = 0.0
    hint: HintInformation | None = None
    title: str = ""
    summary: str = ""
    family: str = ""

    @classmethod
    def of(cls, index: int, designed: Designed, family: Callable[[str], str]) -> Draft:
        """Return the draft of a design.

        Args:
            index: place of its job.
            designed: what came of it.
            family: names the family of a source.
        """
        job, hint = designed.job, designed.hint
        if hint is not None:
            hint = replace(hint, withheld=designed.hints_withheld)
        return cls(
            index=index,
            key=job.key,
            brief=job.brief_key,
            skill=job.brief.skill.value,
            challenge=job.brief.challenge,
            update=job.update,
            dialogue=designed.dialogue,
            env=designed.env,
            stage=designed.stage or "",
            reason=designed.reason,
            levels=designed.levels,
            chance=designed.chance,
            hint=hint,
            title=designed.title,
            summary=designed.summary,
            family=family(designed.source.code) if designed.source else "",
        )

    @property
    def sample(self) -> DesignSample:
        """The sample that waits for a score."""
        return DesignSample(
            key=self.key, brief=self.brief, skill=self.skill, update=self.update, env=self.env
        )

    @property
    def live(self) -> LiveEnv:
        """The environment; only of a draft that was accepted."""
        return LiveEnv(
            digest=self.env or "",
            skill=self.skill,
            levels=self.levels,
            challenge=self.challenge,
            update=self.update,
            chance=self.chance,
            hint=self.hint,
            title=self.title,
            summary=self.summary,
            family=self.family,
        )


def design_phase(
    state: LoopState,
    jobs: Jobs,
    *,
    slots: int,
    attempts: int,
    known: Collection[str],
    rollouts: Rollouts,
    world: World,
    family: Callable[[str], str],
) -> tuple[tuple[Draft, ...], LoopState]:
    """Return all drafts of a phase, refused ones too, and the state with what they cost.

    Every process calls it with the same state and gets the same drafts.

    Args:
        state: the loop's state.
        jobs: makes the jobs of an attempt at some slots.
        slots: slots to fill, each by one job or, with groups, by at least one of several.
        attempts: times that a slot is tried.
        known: digests that must not be written again.
        rollouts: writes and checks.
        world: the processes that share the jobs.
        family: names the family of a source.
    """
    drafts: list[Draft] = []
    taken = set(known)
    pending = list(range(slots))
    for attempt in range(attempts):
        asked, state = jobs(state, attempt, pending)
        per_slot = len(asked) // len(pending)
        share = mine(asked, world)
        done = rollouts.design([job for _, job in share], known=taken)
        own = [
            Draft.of(index, designed, family)
            for (index, _), designed in zip(share, done, strict=True)
        ]
        found = [_first(draft, taken) for draft in gathered(own, Draft, world)]
        state = replace(state, spent=state.spent + design_cost(found))
        base = len(drafts)
        drafts += [replace(draft, index=base + draft.index) for draft in found]
        filled = {pending[draft.index // per_slot] for draft in found if draft.env}
        pending = [slot for slot in pending if slot not in filled]
        if not pending:
            break
    return tuple(drafts), state


def streamed(
    asked: Sequence[DesignJob],
    *,
    known: Collection[str],
    rollouts: Rollouts,
    family: Callable[[str], str],
) -> Iterator[Draft]:
    """Give the drafts of one attempt in one process, each as soon as it is known.

    Args:
        asked: the jobs.
        known: digests that must not be written again.
        rollouts: writes and checks.
        family: names the family of a source.
    """
    taken = set(known)
    for index, designed in enumerate(rollouts.design(asked, known=known)):
        yield _first(Draft.of(index, designed, family), taken)


def design_cost(drafts: Sequence[Draft]) -> Spent:
    """Return what drafts count in a budget, refused ones too."""
    tokens = sum(draft.dialogue.sampled_tokens for draft in drafts)
    return Spent(completions=len(drafts), designer_tokens=tokens)


def _first(draft: Draft, taken: set[str]) -> Draft:
    """Refuse what another draft wrote, too; `taken` takes up what is new."""
    if draft.env is None:
        return draft
    if draft.env in taken:
        return replace(draft, env=None, stage="novelty", reason="another one wrote the same")
    taken.add(draft.env)
    return draft
