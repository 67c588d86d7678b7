"""Admission linter."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.types import EnvSource


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing in a source that the policy does not admit."""

    line: int
    """Line number, from 1; 0 if it concerns the whole file."""
    code: str
    """Stable name of the rule, such as `import`."""
    message: str


def lint(source: EnvSource) -> tuple[LintFinding, ...]:
    """Return what the policy does not admit, in the order of lines."""
    return ()
