"""What an attempt consists of: a pure function of the run's settings and the attempt's number."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from spade_envs.corpus import Corpus, Cursor
from spade_envs.design.brief import (
    build_brief,
    challenge_of_attempt,
    derive_seed,
    skill_of_attempt,
)
from spade_envs.design.clients import CompletionRequest
from spade_envs.design.length import PROMPT_TOKENS, fit
from spade_envs.design.modes import mode_of_attempt, plain_mode, skills_of
from spade_envs.design.prompting import prompt_version, render_prompt
from spade_envs.design.skills import kind_of
from spade_envs.errors import ConfigError
from spade_envs.gates import GATES_VERSION
from spade_envs.novelty import Thresholds
from spade_envs.pipeline.choice import Choice
from spade_envs.pipeline.desk import Desk, Task, with_tools
from spade_envs.types import Brief, Completion, Json, Message, Mode, Passage, Skill

_PASSAGES = 1024
"""Passages that are kept in memory: more than there are attempts under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Settings that decide what is designed; the same plan gives the same environments."""

    skills: tuple[Skill, ...]
    corpus: Corpus | None
    designer: str
    """Name of the designer."""
    seed: int = 0
    temperature: float = 0.8
    max_tokens: int = 4096
    repair_turns: int = 0
    modes: tuple[Mode, ...] = ()
    """Sorts of design to rotate through; empty leaves it to the skill."""
    prompt_tokens: int = PROMPT_TOKENS
    """Longest prompt of a design, by `design.length.estimate`."""
    desk: Desk | None = field(default=None, compare=False, repr=False)
    """Who chooses with a view to the store; None goes by the rotations alone."""
    novelty: Thresholds = field(default_factory=Thresholds)
    """How near to another environment a new one may be."""
    gates: str = GATES_VERSION
    _passages: dict[int, Passage | None] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Of the last attempts: what was shown is named in the end, even if its file has changed."""

    def __post_init__(self) -> None:
        for name, least in (
            ("seed", 0),
            ("max_tokens", 1),
            ("prompt_tokens", 1),
            ("repair_turns", 0),
            ("temperature", 0),
        ):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be >= {least}, not {getattr(self, name)}")

    @property
    def key(self) -> str:
        """Name of the run, such as `generate-0-5d41402abc4b`: equal plans, equal names."""
        settings = {
            "corpus": self.corpus.fingerprint if self.corpus else None,
            "designer": self.designer,
            "gates": self.gates,
            "desk": self.desk.settings if self.desk else {},
            "max_tokens": self.max_tokens,
            "modes": list(self.modes),
            "novelty": str(self.novelty),
            "prompt": prompt_version(),
            "prompt_tokens": self.prompt_tokens,
            "repair_turns": self.repair_turns,
            "seed": self.seed,
            "skills": list(self.skills),
            "temperature": self.temperature,
        }
        text = json.dumps(settings, sort_keys=True)
        return f"generate-{self.seed}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def tag(self, attempt: int) -> str:
        """Return what an environment's provenance says about its run and attempt."""
        return f"{self.key}#{attempt}"

    def cursor(self, attempt: int) -> Cursor:
        """Return the place in the corpus that an attempt draws from."""
        fingerprint = self.corpus.fingerprint if self.corpus else ""
        position = self.choice(attempt).position
        return Cursor(seed=self.seed, position=position, corpus=fingerprint)

    def choice(self, attempt: int) -> Choice:
        """Return what an attempt asks for; with a desk, as the store was when it was asked first.

        Raises:
            ClientError: the embedder of the desk's memory failed.
        """
        mode, skill = self._mode_and_skill(attempt)
        plain = Choice(
            attempt=attempt,
            position=attempt,
            skill=skill,
            challenge=challenge_of_attempt(self.seed, attempt),
            mode=mode,
        )
        if self.desk is None:
            return with_tools(plain, self.seed)
        task = Task(
            key=self.key,
            seed=self.seed,
            skills=self.skills,
            corpus=self.corpus,
            free=not self.modes,
        )
        return self.desk.choice(plain, task)

    def brief(self, attempt: int) -> Brief:
        """Return what an attempt asks for, as the designer gets it.

        Raises:
            ConfigError: the prompt cannot be made to fit.
            CorpusError: the passage cannot be read any more.
        """
        choice = self.choice(attempt)
        parents = self.desk.parents(choice) if self.desk else ()
        mode = choice.mode if parents is not None else plain_mode(kind_of(choice.skill))
        whole = build_brief(
            self._passage(attempt),
            seed=derive_seed("brief", self.seed, attempt),
            skill=choice.skill,
            challenge=choice.challenge,
            examples=self.desk.examples(choice) if self.desk else (),
            avoid=choice.avoid,
            mode=mode,
            parents=parents or (),
            domain=choice.domain,
            task=choice.task,
        )
        return fit(whole, self.prompt_tokens)

    def _mode_and_skill(self, attempt: int) -> tuple[Mode, Skill]:
        if not self.modes:
            skill = skill_of_attempt(self.seed, attempt, self.skills)
            return plain_mode(kind_of(skill)), skill
        mode, before = mode_of_attempt(self.seed, attempt, self.modes)
        fitting = [skill for skill in self.skills if skill in skills_of(mode)]
        return mode, skill_of_attempt(self.seed, before, fitting)

    def _passage(self, attempt: int) -> Passage | None:
        if attempt not in self._passages:
            drawn = self.corpus.draw(self.cursor(attempt))[0] if self.corpus else None
            self._passages[attempt] = drawn
            if len(self._passages) > _PASSAGES:
                del self._passages[next(iter(self._passages))]
        return self._passages[attempt]

    def empty(self, attempt: int) -> CompletionRequest:
        """Return the request of an attempt that cannot be asked for."""
        return CompletionRequest(
            messages=(),
            seed=derive_seed("sample", self.seed, attempt, 0),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            attempt=attempt,
        )

    def request(
        self, attempt: int, turn: int = 0, messages: tuple[Message, ...] = ()
    ) -> CompletionRequest:
        """Return the request of a turn: the design from its brief, a repair from its messages."""
        return CompletionRequest(
            messages=messages or render_prompt(self.brief(attempt)),
            seed=derive_seed("sample", self.seed, attempt, turn),
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            attempt=attempt,
            turn=turn,
        )

    def provenance(self, attempt: int, turn: int, completion: Completion) -> dict[str, Json]:
        """Return where an environment comes from, in the fields of `manifest.Provenance`."""
        request_seed = derive_seed("sample", self.seed, attempt, turn)
        choice = self.choice(attempt)
        asked = ("mode", "challenge", "domain", "task", "examples")
        asked_for = {name: getattr(choice, name) for name in asked}
        sampling: dict[str, Json] = {
            **{name: value for name, value in asked_for.items() if value},
            "max_tokens": self.max_tokens,
            "prompt": prompt_version(),
            "seed": request_seed,
            "temperature": self.temperature,
            "turn": turn,
        }
        passage = self._passage(attempt)
        return {
            "designer": {"model": _line(completion.model) or "unnamed", "sampling": sampling},
            "passage": passage
            and {
                "corpus": _line(passage.corpus),
                "source": _line(passage.source),
                "offset": passage.offset,
                "sha256": passage.sha256,
                "licence": _line(passage.licence),
                "title": _line(passage.title),
            },
            "seed": self.seed,
            "parents": list(choice.parents),
            "run": self.tag(attempt),
        }


def _line(text: str) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(kept.split())[:300]
