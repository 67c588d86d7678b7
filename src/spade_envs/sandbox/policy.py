"""The admission linter: line-numbered findings that go back to whoever wrote the source.

It keeps honest code honest and catches lazy tricks; the boundary is the worker process, for which
the linter is no substitute.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from spade_envs.sandbox import rules
from spade_envs.types import EnvSource

MAX_CHARS = 500_000


@dataclass(frozen=True, slots=True, order=True)
class LintFinding:
    """One thing in a source that the policy does not admit."""

    line: int
    """Line number, from 1; 0 if it concerns the whole file."""
    code: str
    """Name of the rule: `syntax`, `size`, `import`, `name`, `attribute`, `shared-state`,
    `restricted`, or `global-rng` (process-wide randomness, clocks, addresses and hashes)."""
    message: str


def lint(
    source: EnvSource, *, trusted_imports: Collection[str] = (), tree: ast.Module | None = None
) -> tuple[LintFinding, ...]:
    """Return what the policy does not admit, in the order of lines; nothing is executed.

    Args:
        source: what to read.
        trusted_imports: modules that this source may import besides the usual ones.
        tree: the source parsed, if that was done already; rewritten here, so of no more use.
    """
    if len(source.code) > MAX_CHARS:
        message = f"the source has {len(source.code)} characters; {MAX_CHARS} are allowed"
        return (LintFinding(0, "size", message),)
    try:
        tree = tree or ast.parse(source.code)
        found = {*_by_rules(tree, trusted_imports), *_by_policy(tree)}
    except SyntaxError as error:
        return (LintFinding(error.lineno or 0, "syntax", str(error.msg)),)
    except (ValueError, RecursionError, MemoryError) as error:
        return (LintFinding(0, "syntax", f"{type(error).__name__}: {error}"),)
    return tuple(sorted(found))


def _by_rules(tree: ast.AST, trusted_imports: Collection[str]) -> Iterator[LintFinding]:
    nodes = rules.every_node(tree)
    facts = rules.collect(nodes)
    facts.trusted.update(trusted_imports)
    for node in nodes:
        for rule in rules.RULES.get(type(node), ()):
            for code, message in rule(node, facts):
                yield LintFinding(getattr(node, "lineno", 0), code, message)


def _by_policy(tree: ast.Module) -> Iterator[LintFinding]:
    # Imported late: gym.make and the host's fast path do not need RestrictedPython.
    from spade_envs.sandbox.relaxed import RelaxedTransformer

    transformer = RelaxedTransformer()
    transformer.visit(tree)  # rewrites the tree, so it comes last
    for line, message in transformer.found:
        yield LintFinding(line, "restricted", message)
