"""What a mutation operator is, and the two ways in which most of them are written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.defects.bench import GARBAGE, Bench, Spot
from benchmarks.defects.body import Body, equalities, verdicts

How = Literal["verifier", "wrapper", "declaration", "code"]
Context = Literal["", "known", "evaluation"]
Mutate = Callable[[Body], Iterator[Body]]
Witness = Callable[[Bench], str | None]
"""Returns what shows the defect, or None if this mutant does not show it."""

SPADE = ("text", "tool")
TEXTS = ("text", "published")
EVERY = ("text", "tool", "published", "published-tool")


@dataclass(frozen=True)
class Operator:
    """One kind of defect."""

    id: str
    title: str
    mutate: Mutate
    """Yields mutants, the most natural first; the first that its witness confirms is taken."""
    witness: Witness
    how: How = "wrapper"
    """`verifier`: a test in the source was changed; `wrapper`: statements around step or reset;
    `declaration`: an attribute, schema or docstring; `code`: another change of the source."""
    kinds: tuple[str, ...] = EVERY
    context: Context = ""
    """What the check is told besides the source."""


def around(
    *,
    before: str = "",
    after: str = "",
    reset_before: str = "",
    reset_after: str = "",
    head: str = "",
    top: str = "",
    add: str = "",
) -> Mutate:
    """Return the mutation that puts statements around `step` and `reset`.

    `self.gold` holds the reference's actions of the episode where the statements name it.
    """

    def mutate(body: Body) -> Iterator[Body]:
        new = body.fresh()
        kept = reset_after
        if "self.gold" in before + after + reset_after + add:
            kept = f"self.gold = self.wanted()\n{_flush(reset_after)}"
        if reset_before or kept:
            new.wrap_reset(reset_before, kept)
        if before or after:
            new.wrap_step(before, after)
        if head:
            new.head(head)
        if top:
            new.top(top)
        if add:
            new.prepare(add).add(add)
        yield new

    return mutate


def _flush(code: str) -> str:
    lines = code.strip("\n").splitlines()
    first = next((line for line in lines if line.strip()), "")
    margin = len(first) - len(first.lstrip())
    return "\n".join(line[margin:] for line in lines)


def lenient(condition: str) -> Mutate:
    """Return the mutation that takes an answer for the right one if a condition holds.

    The condition speaks of `given` and `truth`, the bare texts, and of `action`.
    """
    return around(
        before=f"""
given, truth = plain(action), plain(self.gold[-1])
if "<tool_call>" not in action and ({condition}):
    action = self.gold[-1]
"""
    )


def compared(*templates: str) -> Mutate:
    """Return the mutation that rewrites one `a == b` of the verifier, by each template in turn."""

    def mutate(body: Body) -> Iterator[Body]:
        count = sum(len(equalities(node)) for node in verdicts(body))
        for index in range(min(count, 6)):
            for template in templates:
                new = body.fresh()
                chosen = [item for node in verdicts(new) for item in equalities(node)][index]
                left, right = ast.unparse(chosen.left), ast.unparse(chosen.comparators[0])
                code = template.replace("{a}", left).replace("{b}", right)
                _replace(new.tree, chosen, ast.parse(code, mode="eval").body)
                yield new

    return mutate


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    Swap().visit(tree)


def either(*ways: Mutate) -> Mutate:
    """Return the mutation that tries several ways in turn."""

    def mutate(body: Body) -> Iterator[Body]:
        for way in ways:
            yield from way(body)

    return mutate


def pays(change: Callable[[str], str | None], *, raw: bool = False) -> Witness:
    """Return the witness for a verifier that is too loose.

    The answer is changed (`change` gives None where it does not apply); the changed one must win in
    the mutant and not in the original, and the true one must still win. The last move of a plan is
    no answer: to read a move leniently pays nobody who does not know the plan.
    """

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool | None:
            truth = bench.answer(spot)
            changed = change(truth) if truth is not None else None
            if changed is None or changed == truth or not bench.decides(spot):
                return None
            return bench.gains(spot, changed, raw=raw) and not bench.loses(spot)

        found = bench.share(trial)
        return found and f"a changed answer wins in {found}"

    return witness


def lost(bench: Bench) -> str | None:
    """Witness: the original's reference does not win any more."""
    found = bench.share(bench.loses)
    return found and f"the reference loses in {found}"


def wins_with(*actions: str, repeat: int = 1) -> Witness:
    """Return the witness for a mutant in which fixed actions win."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool:
            for action in actions:
                for text in (bench.box(action), action):
                    if bench.differs(spot, [text] * repeat):
                        return True
            return False

        found = bench.share(trial)
        return found and f"a fixed message wins in {found}"

    return witness


def garbage_wins(bench: Bench) -> str | None:
    """Witness: a meaningless answer wins."""
    return wins_with(GARBAGE)(bench)
