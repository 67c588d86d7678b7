"""What the designer is asked for in one design phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spade_envs.corpus import Corpus, Cursor
from spade_envs.design.brief import CHALLENGES, Challenge, build_brief, derive_seed
from spade_envs.design.modes import PARENTS, plain_mode, skills_of, tools_of_attempt
from spade_envs.design.skills import kind_of
from spade_envs.errors import CorpusError
from spade_envs.types import Brief, Mode, Parent, Passage, Skill
from spade_train.config import Config
from spade_train.curriculum import active_skills, epoch_of
from spade_train.errors import CorpusChanged
from spade_train.loop import memory
from spade_train.loop.ports import Shelf
from spade_train.loop.state import LoopState
from spade_train.rollouts.jobs import DesignJob

_MEND = (
    "Put them back, or leave all as it is now, and go on from the last checkpoint with "
    "--resume (another corpus gives other passages; a copy that nobody edits stays the same)"
)


@dataclass(frozen=True, slots=True)
class Desk:
    """Draws briefs; everything is a function of the configuration, the state and the names."""

    config: Config
    corpus: Corpus | None
    shelf: Shelf

    def jobs(
        self, state: LoopState, *, update: int, attempt: int, slots: Sequence[int]
    ) -> tuple[tuple[DesignJob, ...], LoopState]:
        """Return the jobs of one attempt at the slots of a design phase, and the state after it.

        Args:
            state: memory and place in the corpus; the latter moves on by one passage per slot.
            update: number of the update.
            attempt: how often these slots were tried before, >= 0.
            slots: briefs to draw, each with `completions_per_brief` jobs.

        Raises:
            CorpusChanged: a document is not as it was when the run began.
        """
        designer = self.config.designer
        epoch = epoch_of(update, designer.interval)
        skills = active_skills(designer.skills, designer.skills_per_epoch, epoch)
        jobs: list[DesignJob] = []
        for place, slot in enumerate(slots):
            key = f"u{update}/design/{attempt}/{slot}"
            skill = skills[(slot + epoch) % len(skills)]
            brief = self._brief(
                state,
                key,
                skill=skill,
                mode=self._mode(skill, slot // len(skills) + epoch),
                challenge=self._challenge(key),
                position=state.passages + place,
            )
            jobs += self._completions(brief, key, update, designer.completions_per_brief)
        return tuple(jobs), replace(state, passages=state.passages + len(slots))

    def pool_jobs(
        self, state: LoopState, *, attempt: int, slots: Sequence[int]
    ) -> tuple[tuple[DesignJob, ...], LoopState]:
        """Return the jobs by which the untrained designer writes places of a fixed pool.

        Skills go round; challenges too, if they are to be even.

        Raises:
            CorpusChanged: a document is not as it was when the run began.
        """
        skills = self._pool_skills()
        jobs: list[DesignJob] = []
        for place, slot in enumerate(slots):
            key = f"pool/design/{attempt}/{slot}"
            brief = self._brief(
                state,
                key,
                skill=skills[slot // len(CHALLENGES) % len(skills)],
                mode=None,
                challenge=self._pool_challenge(key, slot),
                position=state.passages + place,
            )
            jobs += self._completions(brief, key, 0, 1)
        return tuple(jobs), replace(state, passages=state.passages + len(slots))

    def _brief(
        self,
        state: LoopState,
        key: str,
        *,
        skill: Skill,
        mode: Mode | None,
        challenge: Challenge,
        position: int,
    ) -> Brief:
        config = self.config
        shown: tuple[str, ...] = ()
        avoid: tuple[str, ...] = ()
        parents: tuple[Parent, ...] = ()
        if config.memory.enabled:
            rng = np.random.default_rng(derive_seed("memory", config.run.seed, key))
            if mode is not None and mode in PARENTS:
                parents = self._parents(state, mode, skill, rng)
            if not parents:
                digests = memory.examples(state.memory, config.memory, skill, rng)
                shown = tuple(self.shelf.source(digest).code for digest in digests)
            avoid = memory.warnings(state.memory, config.memory, skill, rng)
        if mode in PARENTS and not parents:
            mode = plain_mode(kind_of(skill))
        domain, task = "", ""
        if mode is not None and not parents and kind_of(skill) == "tool":
            domain, task = tools_of_attempt(config.run.seed, position)
        return build_brief(
            self._passage(position),
            seed=derive_seed("brief", config.run.seed, key),
            skill=skill,
            challenge=challenge,
            examples=shown,
            avoid=avoid,
            mode=mode,
            parents=parents,
            domain=domain,
            task=task,
        )

    def _mode(self, skill: Skill, turn: int) -> Mode | None:
        """Return the mode whose turn it is; None leaves it to the skill."""
        fitting = [mode for mode in self.config.designer.modes if skill in skills_of(mode)]
        return fitting[turn % len(fitting)] if fitting else None

    def _parents(
        self, state: LoopState, mode: Mode, skill: Skill, rng: np.random.Generator
    ) -> tuple[Parent, ...]:
        found = memory.parents(state.memory, self.config.memory, mode, skill, rng)
        return tuple(
            Parent(code=self.shelf.source(each.digest).code, facts=memory.facts(each))
            for each in found
        )

    def _passage(self, position: int) -> Passage | None:
        if self.corpus is None:
            return None
        cursor = Cursor(
            seed=self.config.corpus.seed, position=position, corpus=self.corpus.fingerprint
        )
        try:
            return self.corpus.draw(cursor)[0]
        except CorpusError as error:
            what = str(error).removesuffix("; open the corpus again")
            raise CorpusChanged(f"documents changed during the run: {what}. {_MEND}") from error

    def _challenge(self, key: str) -> Challenge:
        asked = self.config.designer.challenge
        if asked != "mixed":
            return asked
        drawn = derive_seed("challenge", self.config.run.seed, key)
        return CHALLENGES[drawn % len(CHALLENGES)]

    def _pool_skills(self) -> tuple[Skill, ...]:
        skills, config = self.config.designer.skills, self.config
        count = max(1, round(config.pool.skill_share * len(skills)))
        if count == len(skills):
            return tuple(skills)
        rng = np.random.default_rng(derive_seed("pool-skills", config.run.seed))
        kept = sorted(rng.choice(len(skills), size=count, replace=False).tolist())
        return tuple(skills[number] for number in kept)

    def _pool_challenge(self, key: str, slot: int) -> Challenge:
        asked = self.config.pool.challenges
        if asked == "drawn":
            return self._challenge(key)
        return CHALLENGES[slot % len(CHALLENGES)] if asked == "even" else asked

    def _completions(self, brief: Brief, key: str, update: int, count: int) -> list[DesignJob]:
        return [
            DesignJob(
                key=f"{key}/{number}",
                brief=brief,
                brief_key=key,
                sample_seed=derive_seed("designer", self.config.run.seed, key, number),
                update=update,
            )
            for number in range(count)
        ]
