"""Rewards that are no numbers, too great, paid twice, or paid for something else; and the end."""

from __future__ import annotations

from benchmarks.defects.bench import GARBAGE, Bench, Played, Spot
from benchmarks.defects.operators.base import SPADE, Operator, Witness, around, lost

_STEPS = "self.steps_made = getattr(self, 'steps_made', 0) + 1\n"
_START = "self.steps_made = 0"


def _probes(bench: Bench, spot: Spot) -> list[Played]:
    """Return how garbage, a wrong answer and the reference play."""
    wrong = bench.answer((spot[0], spot[1] + 100)) or GARBAGE
    reference = bench.original.reference(spot) or []
    return [
        bench.mutant.play(spot, [GARBAGE] * 3),
        bench.mutant.play(spot, [bench.box(wrong)] * 2),
        bench.mutant.play(spot, reference),
    ]


def _faulty(words: tuple[str, ...]) -> Witness:
    """Return the witness for a reply that the sandbox refuses with a message."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool:
            faults = [played.fault for played in _probes(bench, spot)]
            return any(f is not None and any(w in f.message for w in words) for f in faults)

        found = bench.share(trial)
        return found and f"the reply is refused in {found}"

    return witness


def _outside(bench: Bench) -> str | None:
    """Witness: a return lies outside the declared range."""
    low, high = bench.original.worker.interface.reward_range

    def trial(spot: Spot) -> bool:
        totals = [played.total for played in _probes(bench, spot)]
        return any(total < low - 1e-6 or total > high + 1e-6 for total in totals)

    found = bench.share(trial)
    return found and f"a return outside [{low}, {high}] in {found}"


def _length_pays(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        long = bench.box("lorem ipsum " * 500)
        mutant, original = (
            side.play(spot, [long] * bench.max_turns).total
            for side in (bench.mutant, bench.original)
        )
        return mutant > 0.8 > original

    found = bench.share(trial)
    return found and f"a long message earns more than 0.8 in {found}"


def _farmed(bench: Bench) -> str | None:
    """Witness: repeating one action earns more than 0.5 without success."""

    def trial(spot: Spot) -> bool:
        for side, least in ((bench.original, 0.0), (bench.mutant, 0.5)):
            played = side.play(spot, [GARBAGE] * (bench.max_turns - 1))
            if side is bench.original and played.total > least:
                return False
            if side is bench.mutant:
                return played.total > least and not played.won
        return False

    found = bench.share(trial)
    return found and f"a repeated action earns more than 0.5 in {found}"


def _stays(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        return bench.differs(spot, [GARBAGE] * bench.max_turns)

    found = bench.share(trial)
    return found and f"staying to the end wins in {found}"


def _pays_twice(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool | None:
        actions = bench.original.reference(spot)
        if actions is None:
            return None
        again = [*actions, *[actions[-1]] * 3]
        return bench.mutant.play(spot, again).total > 1.5 > bench.original.play(spot, again).total

    found = bench.share(trial)
    return found and f"repeating the last action pays again in {found}"


def _pays_after_end(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool | None:
        actions = bench.original.reference(spot)
        if actions is None:
            return None
        again = [*actions, actions[-1], GARBAGE]
        mutant, original = (
            side.play(spot, again, past_end=True) for side in (bench.mutant, bench.original)
        )
        return mutant.total > 1.5 > original.total

    found = bench.share(trial)
    return found and f"a step after the end pays in {found}"


def _false_success(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        wrong = bench.box(bench.answer((spot[0], spot[1] + 100)) or GARBAGE)
        for actions in ([wrong] * 3, [GARBAGE] * bench.max_turns):
            mutant, original = (side.play(spot, actions) for side in (bench.mutant, bench.original))
            said = mutant.over and mutant.steps[-1].info.get("success") is True
            if said and mutant.total < 0.5 and not original.won:
                return True
        return False

    found = bench.share(trial)
    return found and f"success is said without a reward in {found}"


def _endless(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        actions = [GARBAGE] * (bench.max_turns + 5)
        return not bench.mutant.play(spot, actions).over and bench.original.play(spot, actions).over

    found = bench.share(trial)
    return found and f"no end after max_turns + 5 steps in {found}"


def _farm(pay: str) -> str:
    return f"if not terminated and not truncated:\n    reward += {pay}"


OPERATORS = (
    Operator(
        "nan-reward",
        "pays not-a-number for a wrong answer",
        around(after="if reward == 0:\n    reward = float('nan')"),
        _faulty(("nan", "finite", "reward")),
    ),
    Operator(
        "text-reward",
        "pays a text",
        around(after="if terminated or truncated:\n    reward = str(reward)"),
        _faulty(("reward", "float", "str")),
    ),
    Operator(
        "negative-reward",
        "takes more than it says for a wrong answer",
        around(after="if reward <= 0:\n    reward = -5.0"),
        _outside,
    ),
    Operator(
        "unbounded-reward",
        "pays a thousand for a win",
        around(after="if reward > 0:\n    reward = 1000.0 * reward"),
        _outside,
    ),
    Operator(
        "length-pays",
        "pays by the length of the message",
        around(after="if reward == 0:\n    reward = min(1.0, len(action) / 5000)"),
        _length_pays,
    ),
    Operator(
        "farming-format",
        "pays each step a little",
        around(after=_farm("0.4 if self.max_turns < 5 else 0.1")),
        _farmed,
    ),
    Operator(
        "farming-novelty",
        "pays each step whose observation is new to it, counting the turn as part of it",
        around(
            reset_after="self.seen_texts = []",
            after="""
text = f"{len(self.seen_texts)} {observation}"
if not terminated and not truncated and text not in self.seen_texts:
    self.seen_texts.append(text)
    reward += 0.35 if self.max_turns < 5 else 0.08
""",
        ),
        _farmed,
    ),
    Operator(
        "pays-for-staying",
        "pays whoever is there at the last turn",
        around(
            reset_after=_START,
            after=_STEPS + "if self.steps_made >= self.max_turns and not terminated:\n"
            "    return 'Time is up.', 1.0, True, False, {'success': True}",
        ),
        _stays,
    ),
    Operator(
        "pays-twice",
        "goes on after a win and pays again",
        around(after="if terminated and reward > 0:\n    terminated = False"),
        _pays_twice,
    ),
    Operator(
        "pays-after-end",
        "pays for steps after the end",
        around(
            reset_after="self.was_won = False\nself.steps_made = 0",
            before="self.steps_made += 1\n"
            "if self.was_won:\n    return 'Right again.', 1.0, True, False, {'success': True}",
            after="self.was_won = terminated and reward > 0\n"
            "truncated = truncated or not terminated and self.steps_made >= self.max_turns",
            add="self_paced = True",
        ),
        _pays_after_end,
        kinds=SPADE,
    ),
    Operator(
        "false-success",
        "reports success whenever it ends",
        around(
            reset_after=_START,
            after=_STEPS + "if terminated or self.steps_made >= self.max_turns:\n"
            "    info = {**info, 'success': True}\n    terminated = True",
        ),
        _false_success,
    ),
    Operator(
        "never-ends",
        "does not look at its greatest number of turns",
        around(
            after="if reward == 0:\n    terminated = truncated = False",
            add="self_paced = True",
        ),
        _endless,
    ),
    Operator(
        "ends-at-once",
        "ends after the first step whatever it was",
        around(after="terminated = True"),
        lost,
    ),
    Operator(
        "too-few-turns",
        "allows fewer turns than its reference needs",
        around(
            reset_after=_START,
            after=_STEPS + "truncated = truncated or not terminated and self.steps_made >= 1",
        ),
        lost,
    ),
)
