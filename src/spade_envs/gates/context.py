"""What a check may be told beside the source: other environments, evaluation texts, an agent."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.gates.policies import Policy
from spade_envs.types import Report


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one environment from another, whatever it is called and however it talks."""

    name: str
    """Id or file name, for messages."""
    source_sha256: str
    program: str
    """`design.novelty.ast_hash` of the source: equal under renaming and reformatting."""
    replies: str
    """Hash of what it says and pays in fixed episodes: equal under rewriting of the code."""
    solutions: tuple[str, ...] = ()
    """Hashes of reference actions and what they earn, by fixed seed: equal under rewording."""


@dataclass(frozen=True, slots=True)
class Context:
    """Optional knowledge of a check."""

    known: tuple[Fingerprint, ...] = ()
    """Environments that this one must not repeat (L5.1); not itself."""
    evaluation: tuple[str, ...] = ()
    """Texts of evaluation tasks that must not occur in it (L5.2)."""
    certificate: Report | None = None
    """An earlier report on it, which must still hold (L5.3)."""
    agent: Policy | None = None
    """A model to measure the hint's worth with (L4.3)."""
    gates_version: str = ""
    """Version of the gates that run now."""
