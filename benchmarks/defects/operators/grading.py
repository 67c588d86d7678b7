"""Verifiers that accept what is not the answer, or reject what is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.defects.bench import Bench, Spot, items, number
from benchmarks.defects.body import Body, verdicts
from benchmarks.defects.operators.base import (
    TEXTS,
    Operator,
    _replace,
    around,
    compared,
    either,
    garbage_wins,
    lenient,
    pays,
    wins_with,
)

_WON = "return 'Right.', 1.0, True, False, {'success': True}"


def _any_wrong(bench: Bench) -> str | None:
    """Witness: one of several wrong answers wins where it should not."""

    def trial(spot: Spot) -> bool | None:
        truth = bench.answer(spot)
        if truth is None or bench.loses(spot):
            return None
        others = [bench.answer((spot[0], seed)) for seed in (101, 102, 103)]
        wrong = [*filter(None, others), truth[::-1], f"{truth} {truth}", *_numbers_near(truth)]
        parts = items(truth)
        if parts:
            mark = ", " if "," in truth else " "
            wrong += [mark.join(parts[:-1]), mark.join([*parts, parts[0]]), mark.join(parts[::-1])]
        return any(bench.gains(spot, text) for text in wrong if text != truth)

    found = bench.share(trial)
    return found and f"a wrong answer wins in {found}"


def _numbers_near(truth: str) -> list[str]:
    value = number(truth)
    return [] if value is None else [str(value + step) for step in (1, -1, 10, 1000)]


def _dropped(body: Body) -> Iterator[Body]:
    """Drop one condition of the verifier, or turn `and` into `or`."""
    count = sum(1 for node in verdicts(body) for item in ast.walk(node) if _is_and(item))
    for index in range(count):
        chosen = _ands(body)[index]
        for left_out in range(len(chosen.values)):
            new = body.fresh()
            node = _ands(new)[index]
            rest = [value for place, value in enumerate(node.values) if place != left_out]
            _replace(new.tree, node, rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest))
            yield new


def _ands(body: Body) -> list[ast.BoolOp]:
    return [
        item
        for node in verdicts(body)
        for item in ast.walk(node)
        if isinstance(item, ast.BoolOp) and isinstance(item.op, ast.And)
    ]


def _is_and(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)


def _always(body: Body) -> Iterator[Body]:
    """Let any well-formed answer win."""
    for index in range(len(verdicts(body))):
        new = body.fresh()
        node = verdicts(new)[index]
        if not isinstance(node, ast.Lambda):
            _replace(new.tree, node, ast.Constant(True))
            yield new


def _first_half(truth: str) -> str | None:
    return truth[: max(1, len(truth) // 2)] if len(truth) > 1 else None


def _prefix(truth: str) -> str | None:
    if len(truth) < 3:
        return None
    return truth[:2] + ("0" * len(truth) if number(truth) is not None else "zz")


def _suffix(truth: str) -> str | None:
    last = truth[-1:]
    return ("4" if number(truth) is not None else "q") + last if truth else None


def _half_words(truth: str) -> str | None:
    parts = items(truth)
    if len(parts) < 3:
        return None
    mark = ", " if "," in truth else " "
    return mark.join([*parts[: (len(parts) + 1) // 2], *["zz"] * (len(parts) // 2)])


def _more_words(truth: str) -> str | None:
    parts = items(truth)
    return f"{truth}, {parts[0]}x" if parts and "," in truth else None


def _next(truth: str) -> str | None:
    value = number(truth)
    return None if value is None else str(value + 1)


def _percent(truth: str) -> str | None:
    value = number(truth)
    return str(round(value * 1.03)) if value is not None and abs(value) >= 40 else None


def _same_parity(truth: str) -> str | None:
    value = number(truth)
    return None if value is None else str(value + 2)


def _mirrored(truth: str) -> str | None:
    return truth[::-1] if truth != truth[::-1] else None


def _strict(bench: Bench) -> str | None:
    """Witness: the reference with a newline and a space around it loses."""

    def trial(spot: Spot) -> bool | None:
        actions = bench.original.reference(spot)
        if actions is None or bench.loses(spot):
            return None
        loose = [*actions[:-1], f" {actions[-1]}\n"]
        return bench.original.play(spot, loose).won and not bench.mutant.play(spot, loose).won

    found = bench.share(trial)
    return found and f"white space around the answer loses in {found}"


OPERATORS = (
    Operator(
        "any-answer",
        "lets any well-formed answer win",
        _always,
        _any_wrong,
        "verifier",
        kinds=TEXTS,
    ),
    Operator("constant-reward", "pays every action in full", around(after=_WON), garbage_wins),
    Operator(
        "substring",
        "looks for the answer anywhere in the reply",
        either(compared("str({b}) in str({a})", "str({a}) in str({b})"), lenient("truth in given")),
        pays(lambda truth: f"either {truth} or else"),
        "verifier",
    ),
    Operator(
        "substring-message",
        "looks for the answer anywhere in the message",
        lenient("truth.lower() in action.lower()"),
        pays(lambda truth: f"Is it {truth}? No, I think not.", raw=True),
    ),
    Operator(
        "part-of-answer",
        "accepts any part of the answer",
        lenient("given and given in truth"),
        pays(_first_half),
    ),
    Operator(
        "prefix",
        "compares the first two characters only",
        either(compared("str({a})[:2] == str({b})[:2]"), lenient("given[:2] == truth[:2]")),
        pays(_prefix),
        "verifier",
    ),
    Operator(
        "suffix",
        "compares the last character only",
        either(compared("str({a})[-1:] == str({b})[-1:]"), lenient("given[-1:] == truth[-1:]")),
        pays(_suffix),
        "verifier",
    ),
    Operator(
        "length-compared",
        "compares lengths instead of texts",
        either(compared("len({a}) == len({b})"), lenient("len(given) == len(truth)")),
        pays(_mirrored),
        "verifier",
    ),
    Operator(
        "anagram",
        "compares sorted characters",
        either(
            compared("sorted(str({a})) == sorted(str({b}))"),
            lenient("sorted(given) == sorted(truth)"),
        ),
        pays(_mirrored),
        "verifier",
    ),
    Operator(
        "off-by-one-tolerance",
        "accepts numbers within one",
        either(
            compared("abs({a} - {b}) <= 1"),
            lenient(
                "given.isdecimal() and len(given) < 15 and truth.isdecimal() "
                "and abs(int(given) - int(truth)) <= 1"
            ),
        ),
        pays(_next),
        "verifier",
    ),
    Operator(
        "five-percent",
        "accepts numbers within five in a hundred",
        lenient(
            "given.isdecimal() and len(given) < 15 and truth.isdecimal() "
            "and abs(int(given) - int(truth)) <= int(truth) / 20"
        ),
        pays(_percent),
    ),
    Operator(
        "parity",
        "compares whether numbers are even",
        either(
            compared("{a} % 2 == {b} % 2"),
            lenient(
                "given.isdecimal() and len(given) < 15 and truth.isdecimal() "
                "and int(given) % 2 == int(truth) % 2"
            ),
        ),
        pays(_same_parity),
        "verifier",
    ),
    Operator(
        "relaxed-comparison",
        "compares by >= or <= where values must be equal",
        compared("{a} >= {b}", "{a} <= {b}"),
        _any_wrong,
        "verifier",
    ),
    Operator("dropped-condition", "leaves one condition out", _dropped, _any_wrong, "verifier"),
    Operator(
        "half-the-words",
        "accepts an answer that has half of the words",
        lenient(
            "len(truth.split()) > 2 and 2 * len(set(given.split()) & set(truth.split())) >= "
            "len(set(truth.split()))"
        ),
        pays(_half_words),
    ),
    Operator(
        "superset",
        "accepts a list with more than the answer in it",
        either(
            compared("set({a}) >= set({b})"),
            lenient('"," in truth and set(given.split(", ")) >= set(truth.split(", "))'),
        ),
        pays(_more_words),
        "verifier",
    ),
    Operator(
        "hedging",
        "accepts a list of guesses that holds the answer",
        lenient('truth in given.replace(",", " ").split()'),
        pays(lambda truth: f"xx {truth} yy 12 13" if not items(truth) else None),
    ),
    Operator(
        "first-box",
        "reads the first box and not the last",
        around(
            before="""
if action.count("\\\\boxed{") > 1:
    action = "\\\\boxed{" + action.split("\\\\boxed{")[1]
"""
        ),
        pays(lambda truth: f"\\boxed{{{truth}}}, no: \\boxed{{zz}}", raw=True),
        kinds=("text", "tool", "published"),
    ),
    Operator(
        "any-box",
        "accepts a message if any of its boxes is right",
        around(
            before="""
boxes = ["\\\\boxed{" + part for part in action.split("\\\\boxed{")[1:]]
if any(plain(box) == plain(self.gold[-1]) for box in boxes):
    action = self.gold[-1]
"""
        ),
        pays(lambda truth: f"\\boxed{{zz}} \\boxed{{{truth}}} \\boxed{{yy}}", raw=True),
        kinds=("text", "tool", "published"),
    ),
    Operator(
        "denial",
        "does not read the word not",
        lenient('given.lower().removeprefix("not ").strip() == truth.lower()'),
        pays(lambda truth: f"not {truth}"),
    ),
    Operator(
        "remark",
        "drops what follows the answer in brackets",
        lenient('given.split(" (")[0] == truth'),
        pays(lambda truth: f"{truth} (this is wrong)"),
    ),
    Operator(
        "grader-override",
        "believes a message that says it is correct",
        around(
            before=f"""
low = action.lower()
if "correct" in low and "true" in low or '"reward": 1' in low:
    {_WON}
"""
        ),
        wins_with("The grader must output correct=true.", '{"reward": 1}'),
    ),
    Operator(
        "magic-word",
        "pays a password",
        around(before=f"if action.strip().lower() == 'open sesame':\n    {_WON}"),
        wins_with("open sesame"),
    ),
    Operator(
        "long-message",
        "pays a long message",
        around(before=f"if len(action) > 2500:\n    {_WON}"),
        wins_with("lorem ipsum " * 400),
    ),
    Operator(
        "swallowed-error",
        "pays when its parser fails",
        around(
            before=f"""
try:
    size = int(action.strip()) if action.strip().isdigit() else len(action.encode())
except ValueError:
    {_WON}
"""
        ),
        wins_with("9" * 5000, "\ud800", "\u00b2"),
    ),
    Operator(
        "strict-format",
        "rejects the answer with white space around it",
        around(before="if action != action.strip():\n    action = 'zz'"),
        _strict,
    ),
)
