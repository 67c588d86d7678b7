"""Where briefs are chosen with a view to what the store holds already."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from spade_envs.corpus import Corpus, Cursor
from spade_envs.design.brief import CHALLENGES, Challenge
from spade_envs.design.length import MAX_SOURCE_CHARS
from spade_envs.design.modes import PARENTS, plain_mode, skills_of, tools_of_attempt
from spade_envs.design.skills import kind_of
from spade_envs.errors import ConfigError, CorpusError, StoreError
from spade_envs.memory import Memory, Neighbour, Recall, recall
from spade_envs.memory.embedders.base import Vectors
from spade_envs.memory.recall import describe
from spade_envs.novelty.crowd import CROWD, Crowded, Crowds
from spade_envs.pipeline.choice import Choice, Choices
from spade_envs.pipeline.parents import (
    Candidates,
    choose_parents,
    facts_of,
    short_source,
)
from spade_envs.store import EnvStore
from spade_envs.store.plays import PlayReader
from spade_envs.types import EnvSource, Json, Parent, Record, Skill

_RECENT = 16
"""Choices before this one whose passages count as used, even if nothing has come of them yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The settings of a run that choices depend on."""

    key: str
    seed: int
    skills: tuple[Skill, ...]
    corpus: Corpus | None
    free: bool
    """Whether the mode is left to the skill."""


class Desk:
    """Chooses what an attempt asks for: from what is in the store when it is asked.

    Every second attempt designs for the skill that the store has least of, so that a skill whose
    designs are always refused takes at most half of a run. Challenges are evened out by skill. Of
    `candidates` passages that one is taken which is least like what is there. Examples and what to
    avoid come from the memory. Without memory only parents are chosen.

    Args:
        store: where environments are published.
        memory: of this store, refreshed; None chooses by the plain rotations.
        recall: what is shown of earlier environments.
        candidates: passages to choose from, >= 1.
        apart: least distance (1 - cosine, in [0, 1]) of a new environment from all others.
        crowd: most environments that are made alike and have the same level, >= 1, or 0 for no
            limit; with memory only.
        named: digests of the environments to take as parents; the whole store if empty.
        keep: note choices in the store's ledger, so that a run can go on with them.

    Raises:
        ConfigError: a setting is out of range.
    """

    def __init__(
        self,
        store: EnvStore,
        *,
        memory: Memory | None = None,
        recall: Recall | None = None,
        candidates: int = 8,
        apart: float = 0.0,
        crowd: int = CROWD,
        named: Sequence[str] = (),
        keep: bool = True,
    ) -> None:
        if candidates < 1 or not 0 <= apart <= 1:
            raise ConfigError("candidates must be >= 1, and apart in [0, 1]")
        if crowd < 0:
            raise ConfigError(f"crowd must be >= 1, or 0 for no limit, not {crowd}")
        self.store, self.memory, self.apart = store, memory, apart
        self._crowds = Crowds(store, crowd) if crowd and memory is not None else None
        self._recall, self._candidates = recall or Recall(), candidates
        self._named, self._keep = tuple(named), keep
        self._plays = PlayReader(store.root)
        self._lock = threading.Lock()  # the memory is asked by the threads that check sources
        self._open: tuple[str, Choices, _Counts] | None = None
        self._used: dict[int, str] = {}  # of the last choices, by place: some files read slowly

    @cached_property
    def settings(self) -> dict[str, Json]:
        """Return what a run's name depends on, as plain JSON."""
        found: dict[str, Json] = {"named": list(self._named)} if self._named else {}
        if self.memory is not None:
            found |= {"memory": str(self.memory.fingerprint), "candidates": self._candidates}
            found |= {"apart": self.apart, "recall": repr(self._recall)}
            found["crowd"] = self._crowds.most if self._crowds else 0
        return found

    def choice(self, plain: Choice, task: Task) -> Choice:
        """Return what an attempt asks for; what was chosen once stays.

        Args:
            plain: what it would ask for by the rotations alone.
            task: settings of the run; one desk serves one run at a time.

        Raises:
            CorpusError: none of the passages to choose from can be read any more.
        """
        if self._open is None or self._open[0] != task.key:
            choices = Choices(self.store, task.key, keep=self._keep)
            self._open, self._used = (task.key, choices, _Counts()), {}
            for each in choices.by_attempt.values():
                self._open[2].add(each)
        _, choices, counts = self._open
        if (found := choices.by_attempt.get(plain.attempt)) is not None:
            return found
        with self._lock:
            chosen = with_tools(self._chosen(plain, task, choices, counts), task.seed)
        choices.add(chosen)
        counts.add(chosen)
        return chosen

    def parents(self, choice: Choice) -> tuple[Parent, ...] | None:
        """Return the parents of a choice; None if one of them cannot be read any more."""
        found = []
        for digest, facts in zip(choice.parents, choice.facts, strict=True):
            source = self._source_of(digest)
            if source is None:
                return None
            found.append(Parent(code=source.code, facts=facts))
        return tuple(found)

    def examples(self, choice: Choice) -> tuple[str, ...]:
        """Return the sources of a choice's examples, without those that cannot be read any more."""
        sources = [self._source_of(digest) for digest in choice.examples]
        return tuple(source.code for source in sources if source is not None)

    def note(self, record: Record, source: EnvSource) -> None:
        """Remember an environment that was just published."""
        if self.memory is not None:
            with self._lock:
                self.memory.add(record, source)
                if self._crowds is not None:
                    self._crowds.add(record, source)

    def crowded(self, source: EnvSource) -> Crowded | None:
        """Return the crowd that a source would join, if that takes no more."""
        if self._crowds is None:
            return None
        with self._lock:
            self._crowds.take(self._records())
            return self._crowds.full(source)

    def too_near(self, source: EnvSource) -> Neighbour | None:
        """Return the nearest environment, if a source is nearer to it than `apart` allows."""
        if self.memory is None or not self.apart:
            return None
        with self._lock:
            nearest = self.memory.near(self.memory.embed_source(source), 1)
        found = nearest[0] if nearest else None
        return found if found and 1 - found.similarity < self.apart else None

    def _chosen(self, plain: Choice, task: Task, choices: Choices, counts: _Counts) -> Choice:
        choice = self._with_parents(plain, task, counts) if plain.mode in PARENTS else plain
        if self.memory is None:
            return choice
        if not choice.parents:
            choice = self._evened(choice, task, counts)
        passage = None
        if task.corpus is not None:
            position, passage = self._place(choice.attempt, task, choices)
            choice = msgspec.structs.replace(choice, position=position)
        settings = self._recall
        if choice.parents:
            settings = replace(settings, examples=0)
        shown = recall(
            self.memory,
            self._plays.figures(),
            skill=choice.skill.value,
            passage=passage,
            settings=settings,
        )
        short = [r for r in shown.examples if self._short(r) is not None]
        known = {record.digest: record for record in self._records()} if choice.parents else {}
        own = tuple(describe(known[digest]) for digest in choice.parents if digest in known)
        return msgspec.structs.replace(
            choice,
            examples=tuple(record.digest for record in short),
            avoid=tuple(line for line in shown.avoid if not line.startswith(own)),
        )

    def _with_parents(self, plain: Choice, task: Task, counts: _Counts) -> Choice:
        """Take parents from the store; without any, design afresh for the skill.

        Raises:
            ConfigError: some were named, and none of them can be taken.
        """
        wanted = set(task.skills) & set(skills_of(plain.mode))
        records = [record for record in self._records() if _skill_of(record, wanted) is not None]
        if self._named:
            records = [record for record in self._records() if record.digest in self._named]
            records = [record for record in records if _named_skill(record, wanted, plain.skill)]
        among = Candidates(
            records=records,
            figures=self._plays.figures(),
            children=counts.children,
            seed=task.seed,
            named=bool(self._named),
        )
        short: Callable[[Record], EnvSource | None] = self._short
        found = choose_parents(plain.mode, among, short, self.memory)
        if not found and self._named:
            raise ConfigError(
                f"--mode {plain.mode} can take none of the parents that are named: they must be "
                "in use, and for cross two of one kind, and exercise a skill that is asked for"
            )
        if not found:
            return msgspec.structs.replace(plain, mode=plain_mode(kind_of(plain.skill)))
        return msgspec.structs.replace(
            plain,
            skill=_named_skill(found[0], wanted, plain.skill) or plain.skill,
            challenge=_TOWARDS.get(plain.mode, plain.challenge),
            parents=tuple(record.digest for record in found),
            facts=tuple(facts_of(self.store, record, self._plays) for record in found),
        )

    def _evened(self, choice: Choice, task: Task, counts: _Counts) -> Choice:
        """Ask for what there is least of."""
        skill = choice.skill
        if choice.attempt % 2:
            fitting = task.skills if task.free else _fitting(choice, task)
            have = Counter(name for record in self._records() for name in record.skills)
            skill = min(fitting, key=lambda s: (have[s] + counts.skills[s], s != choice.skill))
        asked = [
            (counts.challenges[skill, level], level != choice.challenge) for level in CHALLENGES
        ]
        challenge = CHALLENGES[asked.index(min(asked))]
        if skill == choice.skill:
            return msgspec.structs.replace(choice, challenge=challenge)
        mode = plain_mode(kind_of(skill)) if task.free else choice.mode
        return msgspec.structs.replace(choice, skill=skill, challenge=challenge, mode=mode)

    def _place(self, attempt: int, task: Task, choices: Choices) -> tuple[int, str]:
        """Return the place of the passage that is least like what is there, and its text."""
        assert self.memory is not None
        first = attempt * self._candidates
        texts = _texts(task, range(first, first + self._candidates))
        places = list(texts)
        rows = self.memory.embed_texts(list(texts.values()))
        likeness = np.array([self._likeness(row) for row in rows])
        recent = [
            choices.by_attempt[before].position
            for before in range(max(0, attempt - _RECENT), attempt)
            if before in choices.by_attempt
        ]
        used = self._used_before(task, recent)
        if used:
            likeness += (rows @ self.memory.embed_texts(list(used.values())).T).max(axis=1)
        place = places[int(np.argmin(likeness))]
        self._used = {**used, place: texts[place]}
        return place, texts[place]

    def _used_before(self, task: Task, places: Sequence[int]) -> dict[int, str]:
        """Return the texts at places of earlier choices, without those that cannot be read."""
        found: dict[int, str] = {}
        for place in places:
            text = self._used.get(place) or _text_or_none(task, place)
            if text is not None:
                found[place] = text
        return found

    def _likeness(self, row: Vectors) -> float:
        assert self.memory is not None
        nearest = self.memory.near(row, 1)
        return nearest[0].similarity if nearest else 0.0

    def _records(self) -> Sequence[Record]:
        if self.memory is not None:
            return self.memory.records
        return [record for record in self.store.records() if record.withdrawn is None]

    def _short(self, record: Record) -> EnvSource | None:
        limit = None if record.digest in self._named else MAX_SOURCE_CHARS
        return short_source(self.store, record, limit=limit)

    def _source_of(self, digest: str) -> EnvSource | None:
        try:
            return short_source(self.store, self.store.get(digest), limit=None)
        except StoreError:
            return None


class _Counts:
    """How often each thing was asked for in a run."""

    def __init__(self) -> None:
        self.skills: Counter[str] = Counter()
        self.challenges: Counter[tuple[str, str]] = Counter()
        self.children: Counter[str] = Counter()

    def add(self, choice: Choice) -> None:
        self.skills[choice.skill] += 1
        self.challenges[choice.skill, choice.challenge] += 1
        self.children.update(choice.parents)


_TOWARDS: dict[str, Challenge] = {"harden": "hard", "ease": "easy"}


def with_tools(choice: Choice, seed: int) -> Choice:
    """Return a choice with domain and task, if it is a fresh design with tools; else without."""
    domain, task = tools_of_attempt(seed, choice.attempt)
    if kind_of(choice.skill) != "tool" or choice.parents:
        domain = task = ""
    return msgspec.structs.replace(choice, domain=domain, task=task)


def _skill_of(parent: Record, wanted: set[Skill]) -> Skill | None:
    """Return the first skill of a parent that is wanted and belongs to its kind."""
    return next(
        (s for s in Skill if s in wanted and s in parent.skills and kind_of(s) == parent.kind), None
    )


def _named_skill(parent: Record, wanted: set[Skill], preferred: Skill) -> Skill | None:
    """Return the skill that a parent is taken for; one without a skill suits any of its kind."""
    own = _skill_of(parent, wanted)
    if own is not None or parent.skills:
        return own
    fitting = [skill for skill in Skill if skill in wanted and kind_of(skill) == parent.kind]
    return preferred if preferred in fitting else next(iter(fitting), None)


def _fitting(choice: Choice, task: Task) -> tuple[Skill, ...]:
    able = skills_of(choice.mode)
    return tuple(skill for skill in task.skills if skill in able)


def _texts(task: Task, places: Iterable[int]) -> dict[int, str]:
    """Return the texts at those places whose documents are still as they were, at least one."""
    found: dict[int, str] = {}
    failure = None
    for place in places:
        try:
            found[place] = _text(task, place)
        except CorpusError as error:
            failure = error
    if failure is not None and not found:
        raise failure
    return found


def _text_or_none(task: Task, place: int) -> str | None:
    try:
        return _text(task, place)
    except CorpusError:
        return None


def _text(task: Task, place: int) -> str:
    assert task.corpus is not None
    cursor = Cursor(seed=task.seed, position=place, corpus=task.corpus.fingerprint)
    passage = task.corpus.draw(cursor)[0]
    return f"{passage.title}\n{passage.text}"
