"""Answers that can be read before they are earned, in observations, infos, texts and hints."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

from benchmarks.defects.bench import GARBAGE, Bench, Played, Spot
from benchmarks.defects.body import Body
from benchmarks.defects.operators.base import (
    SPADE,
    TEXTS,
    Mutate,
    Operator,
    Witness,
    around,
    either,
)
from spade_envs.api import answer_of

LAST = "plain(self.gold[-1])"
PLAN = "' '.join(plain(one) for one in self.gold)"
"""The answer, and the whole reference as one text, within the mutant."""


def leaking(**statements: str) -> Mutate:
    """Return the mutation that shows SECRET: the last answer, or else the whole plan."""
    ways = (
        around(**{key: text.replace("SECRET", secret) for key, text in statements.items()})
        for secret in (LAST, PLAN)
    )
    return either(*ways)


def _secrets(bench: Bench, spot: Spot) -> list[str]:
    """Return what must not be shown: the answer if it decides, else the plan."""
    actions = bench.original.reference(spot)
    if actions is None:
        return []
    if bench.decides(spot):
        return [answer_of(actions[-1])]
    return [" ".join(answer_of(one) for one in actions)] if len(actions) > 1 else []


def _same(text: str) -> str:
    return text


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def shows(
    code: Callable[[str], str] = _same,
    actions: Callable[[Bench, Spot], list[str]] = lambda bench, spot: [],
    where: Callable[[Played], list[str]] = lambda played: played.shown,
) -> Witness:
    """Return the witness that the coded answer stands in what is shown, in the mutant only."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool | None:
            secrets = _secrets(bench, spot)
            told = []
            for side in (bench.mutant, bench.original):
                text = "\n".join(where(side.play(spot, actions(bench, spot))))
                told.append(any(_flat(code(secret)) in _flat(text) for secret in secrets))
            return told == [True, False] if secrets else None

        found = bench.share(trial)
        return found and f"the answer can be read in {found}"

    return witness


def _flat(text: str) -> str:
    """Return a text without what JSON adds to quotes and backslashes."""
    return text.replace("\\", "").replace('"', "")


def _wrong_twice(bench: Bench, spot: Spot) -> list[str]:
    wrong = bench.answer((spot[0], spot[1] + 100)) or GARBAGE
    return [bench.box(wrong), GARBAGE]


def _in_repr(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool | None:
        secrets = _secrets(bench, spot)
        told = [
            any(_flat(secret) in _flat(str(side.probe(spot, "repr"))) for secret in secrets)
            for side in (bench.mutant, bench.original)
        ]
        return told == [True, False] if secrets else None

    found = bench.share(trial)
    return found and f"repr() tells the answer in {found}"


def _hint_is(test: Callable[[str, str, str], bool]) -> Witness:
    """Return the witness for hints; `test(hint, secret, first observation)` holds in the mutant."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool | None:
            secrets = _secrets(bench, spot)
            hits = []
            for side in (bench.mutant, bench.original):
                hint = _flat(side.hint(spot) or "")
                first = _flat(side.play(spot, []).start.observation)
                hits.append(any(test(hint, _flat(secret), first) for secret in secrets))
            return hits == [True, False] if secrets else None

        found = bench.share(trial)
        return found and f"in the hint of {found}"

    return witness


def hint(template: str) -> Mutate:
    """Return the mutation of what hint() returns; see `_hint` and `leaking`."""
    return either(*(_hint(template.replace("SECRET", secret)) for secret in (LAST, PLAN)))


def _hint(code: str) -> Mutate:
    """Return the mutation of what hint() returns; the code speaks of `text` and `self.gold`."""

    def mutate(body: Body) -> Iterator[Body]:
        new = body.fresh()
        own = new.method("hint")
        if own is None:
            return
        own.name = "inner_hint"
        new.wrap_reset(after="self.gold = self.wanted()\nself.first_text = observation")
        new.prepare("plain(")
        new.add(f"def hint(self):\n    text = self.inner_hint()\n    return {code}\n")
        yield new

    return mutate


OPERATORS = (
    Operator(
        "leak-observation",
        "leaves a debug line with the answer in its first observation",
        leaking(reset_after="observation = f'{observation}\\n(debug: expected ' + SECRET + ')'"),
        shows(),
    ),
    Operator(
        "leak-info",
        "puts the answer into its info",
        leaking(reset_after="info = {**info, 'answer': SECRET}"),
        shows(),
    ),
    Operator(
        "leak-later-info",
        "puts the answer into the info of its second step",
        leaking(
            reset_after="self.gold = self.gold\nself.steps_made = 0",
            after="self.steps_made += 1\n"
            "if self.steps_made > 1:\n    info = {**info, 'target': SECRET}",
        ),
        shows(actions=lambda bench, spot: [GARBAGE] * 2),
    ),
    Operator(
        "leak-repr",
        "tells the answer in its repr",
        leaking(
            reset_after="self.gold = self.gold",
            add="def __repr__(self):\n    gold = SECRET\n"
            "    return f'<Environment expecting {gold}>'",
        ),
        _in_repr,
        kinds=SPADE,
    ),
    Operator(
        "leak-error",
        "tells the answer when it cannot read a message",
        leaking(
            after="if not terminated and reward <= 0 and 'tool_call' not in action:\n"
            "    observation = f'{observation} Expected: ' + SECRET"
        ),
        shows(actions=lambda bench, spot: [GARBAGE]),
    ),
    Operator(
        "leak-reversed",
        "shows the answer backwards",
        leaking(reset_after="observation = f'{observation}\\nref: ' + (SECRET)[::-1]"),
        shows(code=lambda text: text[::-1]),
    ),
    Operator(
        "leak-base64",
        "puts the answer into its info in base64",
        leaking(
            head="import base64",
            reset_after="coded = base64.b64encode((SECRET).encode())\n"
            "info = {**info, 'token': coded.decode()}",
        ),
        shows(code=_base64),
    ),
    Operator(
        "leak-spelt",
        "spells the answer out letter by letter",
        leaking(reset_after="observation = f'{observation}\\nkey: ' + '-'.join(SECRET)"),
        shows(code=lambda text: "-".join(text)),
        kinds=TEXTS,
    ),
    Operator(
        "leak-after-wrong",
        "tells the answer after a wrong one and goes on",
        leaking(
            reset_after="self.gold = self.gold\nself.told = False",
            after="if terminated and reward <= 0 and not self.told:\n"
            "    self.told, terminated = True, False\n"
            "    observation = 'No, it was ' + SECRET",
        ),
        shows(
            actions=_wrong_twice,
            where=lambda played: [step.observation for step in played.steps if not step.done],
        ),
        kinds=TEXTS,
    ),
    Operator(
        "give-up-command",
        "tells the answer to whoever gives up, and goes on",
        leaking(
            before="if action.strip().lower() == 'give up':\n"
            "    return 'It is ' + SECRET, 0.0, False, False, {}"
        ),
        shows(actions=lambda bench, spot: ["give up"]),
    ),
    Operator(
        "hint-answer",
        "states the answer in its hint",
        hint("f'{text} The answer is ' + SECRET + '.'"),
        _hint_is(lambda hint, secret, first: secret in hint),
        kinds=SPADE,
    ),
    Operator(
        "hint-reversed",
        "states the answer backwards in its hint",
        hint("f'{text} Backwards: ' + (SECRET)[::-1]"),
        _hint_is(lambda hint, secret, first: secret[::-1] in hint),
        kinds=SPADE,
    ),
    Operator(
        "hint-empty",
        "has an empty hint",
        hint("''"),
        _hint_is(lambda hint, secret, first: not hint.strip()),
        kinds=SPADE,
    ),
    Operator(
        "hint-generic",
        "has a hint that fits any task",
        hint("'Think carefully, read the task again, and answer step by step.'"),
        _hint_is(lambda hint, secret, first: hint.startswith("Think carefully, read")),
        kinds=SPADE,
    ),
    Operator(
        "hint-repeats",
        "repeats the task in its hint",
        hint("self.first_text"),
        _hint_is(lambda hint, secret, first: hint == first),
        kinds=SPADE,
    ),
    Operator(
        "hint-fails",
        "has a hint that fails",
        hint("text + self.no_such_thing"),
        lambda bench: (
            "hint() fails"
            if bench.mutant.hint(bench.spots[0]) is None
            and bench.original.hint(bench.spots[0]) is not None
            else None
        ),
        kinds=SPADE,
    ),
)
