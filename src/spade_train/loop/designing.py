"""The designer's part of an update: new environments, or a pool of them beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from spade_train.batch import World
from spade_train.config import Config
from spade_train.loop import events, health, pools
from spade_train.loop.briefs import Desk
from spade_train.loop.events import Book
from spade_train.loop.jobs import env_jobs
from spade_train.loop.phase import Draft, design_cost, design_phase, streamed
from spade_train.loop.ports import Rollouts
from spade_train.loop.spread import mine
from spade_train.loop.state import LiveEnv, LoopState
from spade_train.rollouts.jobs import DesignJob, EpisodeJob, Played
from spade_train.runs import Spent
from spade_train.types import as_json


@dataclass(frozen=True, slots=True)
class Phase:
    """What a design phase came to."""

    drafts: tuple[Draft, ...]
    state: LoopState
    """With the new environments in play, and their designs waiting for scores."""
    played: tuple[Played, ...] = ()
    """Their episodes, if they were played while others were checked."""

    @property
    def fresh(self) -> list[LiveEnv]:
        """The new environments."""
        return pools.accepted(self.drafts)


@dataclass(frozen=True, slots=True)
class Designing:
    """Lets the designer write, in all processes at the same time."""

    config: Config
    desk: Desk
    rollouts: Rollouts
    book: Book
    world: World
    held: frozenset[str]
    """Digests of held-out environments."""
    family: Callable[[str], str]
    """Names the family of a source."""

    def phase(self, state: LoopState, update: int) -> Phase:
        """Return what the design phase of an update brings.

        Raises:
            HealthError: too few programs were accepted.
        """
        return self._streamed(state, update) if self._streams else self._phase(state, update)

    def pool(self, state: LoopState) -> LoopState:
        """Return the state with a fixed pool that the designer wrote.

        Raises:
            HealthError: it does not get full.
        """
        found: list[LiveEnv] = []
        round_ = 0
        while slots := pools.missing_slots(self.config, found, round_):
            drafts, state = design_phase(
                state,
                partial(self._pool_jobs, round_, slots),
                slots=len(slots),
                attempts=1,
                known=self.held | {env.digest for env in found},
                rollouts=self.rollouts,
                world=self.world,
                family=self.family,
            )
            events.note_drafts(self.book, -1, drafts)
            found += pools.accepted(drafts)
            round_ += 1
        return pools.with_pool(state, found, self.config.pool.seed)

    @property
    def _streams(self) -> bool:
        """Whether a program is played as soon as it is certified, while others are checked.

        The episodes are the same either way. Several processes first agree on what was accepted,
        further attempts come after the first, and hints are written together.
        """
        return (
            self.world.size == 1
            and self.config.designer.attempts == 1
            and self.config.hint.writer == "environment"
        )

    @property
    def _slots(self) -> int:
        designer = self.config.designer
        return designer.environments // designer.completions_per_brief

    def _phase(self, before: LoopState, update: int) -> Phase:
        drafts, state = design_phase(
            before,
            lambda state, attempt, slots: self.desk.jobs(
                state, update=update, attempt=attempt, slots=slots
            ),
            slots=self._slots,
            attempts=self.config.designer.attempts,
            known=self._known(before),
            rollouts=self.rollouts,
            world=self.world,
            family=self.family,
        )
        return Phase(drafts, self._adopted(update, drafts, state))

    def _streamed(self, before: LoopState, update: int) -> Phase:
        asked, state = self.desk.jobs(before, update=update, attempt=0, slots=range(self._slots))
        drafts: list[Draft] = []
        known, hinted = self._known(before), self.config.hint.episodes_per_env

        def jobs() -> Iterator[EpisodeJob]:
            place = 0
            for draft in streamed(asked, known=known, rollouts=self.rollouts, family=self.family):
                drafts.append(draft)
                if draft.env is not None:
                    yield from env_jobs(
                        self.config, before, draft.live, place=place, update=update, hinted=hinted
                    )
                    place += 1

        played = tuple(self.rollouts.act(jobs()))
        state = replace(state, spent=state.spent + design_cost(drafts))
        return Phase(tuple(drafts), self._adopted(update, drafts, state), played)

    def _adopted(self, update: int, drafts: Sequence[Draft], state: LoopState) -> LoopState:
        events.note_drafts(self.book, update, drafts)
        health.check_acceptance(self.config, update, drafts)
        fresh = pools.accepted(drafts)
        if self.config.gates.auditor == "policy":
            state = self._audited(update, fresh, state)
        active = tuple(fresh) or state.active
        kept = {env.digest for env in (*active, *state.pool)}
        return replace(
            state,
            active=active,
            levels={key: counts for key, counts in state.levels.items() if key in kept},
            windows={key: window for key, window in state.windows.items() if key in kept},
            accepted=(*state.accepted, *(env.digest for env in fresh)),
            waiting={**state.waiting, **{env.digest: env for env in fresh}},
            dialogues={**state.dialogues, **{draft.key: draft.dialogue for draft in drafts}},
            delayed=state.delayed.with_samples([draft.sample for draft in drafts]),
        )

    def _audited(self, update: int, fresh: Sequence[LiveEnv], state: LoopState) -> LoopState:
        """Let the policy remark on new environments; each process asks about its share."""
        share = [env for _, env in mine(fresh, self.world)]
        found = self.rollouts.audit([self.desk.shelf.source(env.digest) for env in share])
        remarks = [
            [env.digest, audit.status, audit.reason, [as_json(each) for each in audit.remarks]]
            for env, audit in zip(share, found.audits, strict=True)
        ]
        parts = self.world.gather([found.tokens, remarks])
        events.note_audits(self.book, update, [each for _, part in parts for each in part])
        return replace(state, spent=state.spent + Spent(hint_tokens=sum(n for n, _ in parts)))

    def _known(self, state: LoopState) -> frozenset[str]:
        """Return what must not be written again: all of the run, or what still counts."""
        earlier = state.accepted if self.config.gates.novelty else state.waiting
        return self.held | frozenset(earlier) | {env.digest for env in state.pool}

    def _pool_jobs(
        self, round_: int, slots: Sequence[int], state: LoopState, _: int, places: Sequence[int]
    ) -> tuple[tuple[DesignJob, ...], LoopState]:
        return self.desk.pool_jobs(state, attempt=round_, slots=[slots[each] for each in places])
