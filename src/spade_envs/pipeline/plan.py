"""What an attempt consists of: a pure function of the run's settings and the attempt's number."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from spade_envs.corpus import Corpus, Cursor
from spade_envs.design.brief import (
    build_brief,
    challenge_of_attempt,
    derive_seed,
    skill_of_attempt,
)
from spade_envs.design.clients import CompletionRequest
from spade_envs.design.prompting import prompt_version, render_prompt
from spade_envs.errors import ConfigError
from spade_envs.gates import GATES_VERSION
from spade_envs.types import Brief, Completion, Json, Message, Skill


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
    gates: str = GATES_VERSION

    def __post_init__(self) -> None:
        for name, least in (
            ("seed", 0),
            ("max_tokens", 1),
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
            "max_tokens": self.max_tokens,
            "prompt": prompt_version(),
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
        return Cursor(seed=self.seed, position=attempt, corpus=fingerprint)

    def brief(self, attempt: int) -> Brief:
        """Return what an attempt asks for."""
        passage = self.corpus.draw(self.cursor(attempt))[0] if self.corpus else None
        return build_brief(
            passage,
            seed=derive_seed("brief", self.seed, attempt),
            skill=skill_of_attempt(self.seed, attempt, self.skills),
            challenge=challenge_of_attempt(self.seed, attempt),
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
        sampling: dict[str, Json] = {
            "max_tokens": self.max_tokens,
            "prompt": prompt_version(),
            "seed": request_seed,
            "temperature": self.temperature,
            "turn": turn,
        }
        passage = self.brief(attempt).passage
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
            "run": self.tag(attempt),
        }


def _line(text: str) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(kept.split())[:300]
