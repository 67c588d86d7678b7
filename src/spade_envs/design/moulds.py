"""The mould of an environment: how its program is made and how its levels scale, from code alone.

A mould is the distribution of a program's statements: what they do, whatever is named, numbered or
said in them, and in whatever order they stand. Programs made by one idea share most statements,
even where constants, words and a line here and there differ; programs of two ideas share the few
that the contract asks for.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spade_envs.design.novelty import BODIES, statements
from spade_envs.design.syntax import Problem, parse_python
from spade_envs.types import EnvSource

MOULD_VERSION = 1
"""Changes with the rules below: moulds of two versions do not compare."""

_NUMBER = re.compile(r"-?[\d.][\d.e+-]*j?")
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Mould:
    """How a program is made."""

    scale: str
    """Hash of the statements that read the level, with their numbers; empty if none does."""
    counts: dict[str, int]
    """How often each statement occurs, by a hash of what it does; each at least once."""

    def distance(self, other: Mould) -> float:
        """Return how differently two programs are made, in [0, 1]: 0 for the same statements.

        It is one minus the Bhattacharyya coefficient of the two distributions of statements; added
        up so that the order of keys, which differs from process to process, does not matter.
        """
        both = self.counts.keys() & other.counts.keys()
        shared = math.fsum((self.counts[key] * other.counts[key]) ** 0.5 for key in both)
        whole = (sum(self.counts.values()) * sum(other.counts.values())) ** 0.5
        return min(1.0, max(0.0, 1.0 - shared / whole)) if whole else 1.0


def mould_of(source: EnvSource) -> Mould | None:
    """Return the mould of a program; None for code that does not parse or is nested too deep."""
    tree = parse_python(source.code)
    if isinstance(tree, Problem):
        return None
    try:
        lines = statements(tree)
    except RecursionError:
        return None
    plain = Counter(_hashed(_without_numbers(line)) for _, line in lines if line)
    scale = sorted({line for node, line in lines if line and _reads_level(node)})
    return Mould(_hashed("\n".join(scale)) if scale else "", dict(plain))


def _without_numbers(line: str) -> str:
    return " ".join("n" if _NUMBER.fullmatch(word) else word for word in line.split())


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _reads_level(statement: ast.stmt) -> bool:
    """Whether the head of a statement, without what it holds as a body, reads `self.level`."""
    if isinstance(statement, _DEFINITIONS):
        return False
    return any(
        isinstance(node, ast.Attribute) and node.attr == "level" and isinstance(node.ctx, ast.Load)
        for part in _head(statement)
        for node in ast.walk(part)
    )


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(statement):
        if field not in BODIES:
            items = value if isinstance(value, list) else [value]
            yield from (item for item in items if isinstance(item, ast.AST))
