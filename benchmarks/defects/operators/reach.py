"""Tasks that the reference cannot win, and references and formats that are wrong."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from benchmarks.defects.bench import Bench, Spot
from benchmarks.defects.body import Body
from benchmarks.defects.operators.base import (
    SPADE,
    TEXTS,
    Mutate,
    Operator,
    Witness,
    around,
    compared,
    either,
    lost,
)

_SHIFTED = """
given = plain(action)
if given.isdecimal() and len(given) < 15 and "<tool_call>" not in action:
    action = action.replace(given, str(int(given) + 1))
"""


def _lost_somewhere(bench: Bench) -> str | None:
    """Witness: the reference loses on some seeds and wins on others."""
    results = [(spot, bench.loses(spot)) for spot in _many(bench)]
    failed = [spot for spot, result in results if result]
    if not failed or len(failed) == len(results):
        return None
    return f"the reference loses in {len(failed)} of {len(results)} episodes, such as {failed[0]}"


def _many(bench: Bench) -> list[Spot]:
    return [(level, seed) for level in {0, bench.top} for seed in range(40, 60)]


def _lost_at_top(bench: Bench) -> str | None:
    """Witness: the reference wins at the lowest level and loses at the highest."""
    if bench.top == 0:
        return None
    seeds = [seed for _, seed in bench.spots[:4]]
    low = [bench.loses((0, seed)) for seed in seeds]
    high = [bench.loses((bench.top, seed)) for seed in seeds]
    return "the reference loses at the top level only" if not any(low) and all(high) else None


def _own_reference_loses(bench: Bench) -> str | None:
    """Witness: what the mutant's own solution() says does not win in the mutant."""

    def trial(spot: Spot) -> bool:
        actions = bench.mutant.reference(spot)
        return actions is None or not bench.mutant.play(spot, actions).won

    found = bench.share(trial)
    return found and f"its own reference loses in {found}"


def _without_solution(body: Body) -> Iterator[Body]:
    new = body.fresh()
    own = new.method("solution")
    if own is not None:
        new.cls.body.remove(own)
        yield new


def _solution_ends(code: str) -> Mutate:
    """Return the mutation that changes what solution() returns."""

    def mutate(body: Body) -> Iterator[Body]:
        new = body.fresh()
        own = new.method("solution")
        if own is not None:
            own.name = "inner_solution"
            new.add(code)
            yield new

    return mutate


_SHORT = """
def solution(self):
    return self.inner_solution()[:-1]
"""
_STALE = """
def solution(self):
    if not hasattr(self, "kept"):
        self.kept = self.inner_solution()
    return copy.deepcopy(self.kept)
"""


def _stale(body: Body) -> Iterator[Body]:
    for new in _solution_ends(_STALE)(body):
        yield new.head("import copy")


def _stale_reference(bench: Bench) -> str | None:
    """Witness: on an object that was reset before, the reference is the one of the first task."""

    def trial(spot: Spot) -> bool | None:
        with bench.mutant.open((spot[0], spot[1] + 1000)) as live:
            first = live.solution()
            live.reset(spot[1])
            second = live.solution()
            if not first or not second or first == bench.original.reference(spot):
                return None
            return not live.play(second).won

    found = bench.share(trial)
    return found and f"a second episode's reference loses in {found}"


def hidden_format(name: str, opening: str, closing: str) -> Operator:
    """Return the operator that takes answers in one form only and does not say so."""
    cut = f".split({closing!r})[0]" if closing else ""
    before = f"""
if {opening!r} in action:
    action = self.in_form(action.split({opening!r}, 1)[1]{cut})
elif self.last_step():
    action = "zz"
"""

    def mutate(body: Body) -> Iterator[Body]:
        new = body.fresh()
        own = new.method("solution")
        if own is None:
            return
        box = '"\\\\boxed{" + text + "}"' if new.kind == "published" else "text"
        own.name = "inner_solution"
        new.wrap_reset(after="self.left_to_do = len(self.all_of(self.inner_solution()))")
        new.wrap_step(
            before.replace("self.last_step()", "self.left_to_do <= 1"), "self.left_to_do -= 1"
        )
        new.add(
            f"""
def in_form(self, text):
    return {box}

def all_of(self, value):
    return value if isinstance(value, list) else [value]

def solution(self):
    *steps, last = self.all_of(self.inner_solution())
    return [*steps, {opening!r} + plain(last) + {closing!r}]
"""
        )
        new.prepare("plain(")
        yield new

    return Operator(
        name,
        f"takes the answer only as {opening}X{closing}, and does not say so",
        mutate,
        _is_hidden(opening),
        kinds=TEXTS,
    )


def _is_hidden(mark: str) -> Witness:
    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool | None:
            actions, own = bench.original.reference(spot), bench.mutant.reference(spot)
            if actions is None or own is None:
                return None
            start = bench.mutant.play(spot, []).start.observation
            told = mark in start
            wins = bench.mutant.play(spot, own).won
            return wins and not told and not bench.mutant.play(spot, actions).won

        found = bench.share(trial)
        return found and f"the answer in the shown form loses in {found}"

    return witness


def _unreachable_predicate(body: Body) -> Iterator[Body]:
    """Ask of a task's predicate what no tool brings about."""
    count = len(_predicates(body))
    for index in range(count):
        new = body.fresh()
        chosen = _predicates(new)[index]
        name = chosen.args.args[0].arg
        extra = ast.parse(f"{name}.get('sealed') == 'yes'", mode="eval").body
        chosen.body = ast.BoolOp(ast.And(), [chosen.body, extra])
        yield new


def _wrong_type(body: Body) -> Iterator[Body]:
    """Compare a text with a number in a task's predicate."""
    for index in range(len(_predicates(body))):
        new = body.fresh()
        for node in ast.walk(_predicates(new)[index].body):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
                node.left = ast.Call(ast.Name("repr", ast.Load()), [copy.deepcopy(node.left)], [])
                yield new
                break


def _predicates(body: Body) -> list[ast.Lambda]:
    found = [
        node.value
        for node in ast.walk(body.cls)
        if isinstance(node, ast.keyword)
        and node.arg == "done"
        and isinstance(node.value, ast.Lambda)
    ]
    for node in ast.walk(body.cls):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == "_message_criteria"
            for target in node.targets
        ):
            found += [item for item in ast.walk(node.value) if isinstance(item, ast.Lambda)]
    return found


OPERATORS = (
    Operator(
        "unreachable",
        "never pays",
        around(
            after="reward = min(reward, 0.0)\nif terminated:\n    info = {**info, 'success': False}"
        ),
        lost,
    ),
    Operator("half-reward", "pays half at most", around(after="reward = reward / 2"), lost),
    Operator(
        "unreachable-at-top",
        "cannot be won at its highest level",
        around(
            after="if self.level == self.levels - 1:\n"
            "    reward, info = 0.0, {**info, 'success': False}"
        ),
        _lost_at_top,
        kinds=SPADE,
    ),
    Operator(
        "unreachable-sometimes",
        "cannot be won on some seeds",
        around(
            reset_after="self.odd_case = len(observation) % 3 == 0",
            after="if self.odd_case and reward > 0:\n"
            "    reward, info = 0.0, {**info, 'success': False}",
        ),
        _lost_somewhere,
    ),
    Operator(
        "type-mismatch",
        "compares values of different types",
        either(compared("{a} == repr({b})", "repr({a}) == {b}", "{a} == [{b}]"), _wrong_type),
        lost,
        "verifier",
    ),
    Operator(
        "off-by-one",
        "wants one more than the answer",
        either(compared("{a} == {b} + 1"), around(before=_SHIFTED)),
        lost,
        "verifier",
    ),
    Operator(
        "unreachable-predicate",
        "wants of a task what no tool brings about",
        _unreachable_predicate,
        lost,
        "verifier",
        kinds=("tool", "published-tool"),
    ),
    Operator(
        "success-not-said",
        "does not report its success",
        around(after="if terminated:\n    info = {**info, 'success': False}"),
        lost,
    ),
    Operator(
        "no-reference",
        "has no reference",
        _without_solution,
        _own_reference_loses,
        "code",
        kinds=("text", "tool", "published"),
    ),
    Operator(
        "short-reference",
        "leaves the last action out of its reference",
        _solution_ends(_SHORT),
        _own_reference_loses,
        "code",
    ),
    Operator(
        "stale-reference",
        "keeps the reference of its first task",
        _stale,
        _stale_reference,
        "code",
    ),
    hidden_format("hidden-brackets", "ANS<<", ">>"),
    hidden_format("hidden-prefix", "submit: ", ""),
)
