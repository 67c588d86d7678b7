"""Inputs that break it, time, memory, and what it does to the process around it."""

from __future__ import annotations

from benchmarks.defects.bench import GARBAGE, Bench, NotLoadedError, Spot
from benchmarks.defects.operators.base import Operator, Witness, around

_COUNT = "self.steps_made = 0"


def _breaks_on(*texts: str, kinds: tuple[str, ...] = ()) -> Witness:
    """Return the witness for inputs that the mutant alone does not survive."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool:
            for text in texts:
                mutant, original = (
                    side.play(spot, [text] * 4).fault for side in (bench.mutant, bench.original)
                )
                if mutant is not None and original is None and (not kinds or mutant.kind in kinds):
                    return True
            return False

        found = bench.share(trial)
        return found and f"the episode breaks in {found}"

    return witness


def _hangs(bench: Bench) -> str | None:
    """Witness: a step or reset breaks its time limit (one episode, since each costs the limit)."""
    wrong = bench.box(bench.answer((0, bench.spots[0][1] + 100)) or GARBAGE)
    for text in ("7", bench.box("7"), GARBAGE, wrong):
        mutant = bench.mutant.play(bench.spots[0], [text] * 4).fault
        if mutant is not None and mutant.kind == "timeout":
            return f"{mutant.op} takes longer than its limit"
    return None


def _grows(bench: Bench) -> str | None:
    """Witness: a few episodes take more than 100 MiB more than in the original."""

    def used(side: object) -> float:
        for spot in bench.spots[:4]:
            fault = side.play(spot, [GARBAGE] * 3).fault  # type: ignore[attr-defined]
            if fault is not None and fault.kind in ("memory", "crash"):
                return 1e9
        return float(side.probe(bench.spots[0], "rss_mb") or 0)  # type: ignore[attr-defined]

    mutant, original = used(bench.mutant), used(bench.original)
    return f"{mutant:.0f} MiB, not {original:.0f}" if mutant > original + 100 else None


def _long(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        mutant, original = (
            side.play(spot, [GARBAGE] * (bench.max_turns - 1))
            for side in (bench.mutant, bench.original)
        )
        sizes = [max(map(len, played.shown)) for played in (mutant, original)]
        return sizes[0] > 50_000 + sizes[1] or (mutant.fault is not None and original.fault is None)

    found = bench.share(trial)
    return found and f"an observation beyond 50,000 characters in {found}"


def _refused_by_host(bench: Bench) -> str | None:
    """Witness: the sandbox stops what the mutant attempts, and nothing in the original."""
    try:
        played = bench.mutant.play(bench.spots[0], [GARBAGE] * 2)
    except NotLoadedError as error:
        return str(error)
    events = bench.mutant.probe(bench.spots[0], "audit", [GARBAGE]) or []
    before = bench.original.probe(bench.spots[0], "audit", [GARBAGE]) or []
    if played.fault is not None:
        return played.fault.message
    return f"audited: {events[:1]}" if len(events) > len(before) else None


def _changes_process(bench: Bench) -> str | None:
    """Witness: the process differs after an episode."""
    found = []
    for side in (bench.mutant, bench.original):
        side.play(bench.spots[0], [GARBAGE])
        found.append(set(side.probe(bench.spots[0], "effects", [GARBAGE]) or ()))
    new = found[0] - found[1]
    return f"after an episode: {min(new)}" if new else None


def _reset_fails(bench: Bench) -> str | None:
    spots = [(0, seed) for seed in range(40)]
    faults = [spot for spot in spots if bench.mutant.play(spot, []).fault is not None]
    if not faults or len(faults) == len(spots):
        return None
    return f"reset fails for {len(faults)} of {len(spots)} seeds"


OPERATORS = (
    Operator(
        "crash-on-empty",
        "reads the first character of an empty message",
        around(before="shouted = action[0].isupper()"),
        _breaks_on(""),
    ),
    Operator(
        "crash-on-unicode",
        "cannot take letters beyond ASCII",
        around(before="size = len(action.encode('ascii'))"),
        _breaks_on("\U0001f600", "\u4f60\u597d"),
    ),
    Operator(
        "crash-on-number",
        "turns whatever looks like digits into a number",
        around(before="value = int(action) if action.isdigit() else 0"),
        _breaks_on("9" * 5000, "\u00b2"),
    ),
    Operator(
        "crash-on-zero",
        "divides by the number it is given",
        around(
            before="given = plain(action)\n"
            "share = 100 / int(given) if given.isdecimal() and len(given) < 9 else 0"
        ),
        _breaks_on("0", "\\boxed{0}", "<answer>0</answer>"),
    ),
    Operator(
        "crash-on-braces",
        "formats the message it is given",
        around(before="text = action.format(name='agent')"),
        _breaks_on("{", "{0}", "{x}"),
    ),
    Operator(
        "reset-fails",
        "cannot start some tasks",
        around(reset_after="if len(observation) % 5 == 0:\n    raise KeyError('no such task')"),
        _reset_fails,
    ),
    Operator(
        "hangs-on-input",
        "loops on one input",
        around(before="while plain(action) == '7':\n    pass"),
        _hangs,
    ),
    Operator(
        "hangs-later",
        "loops at its third step, or second if there are no more",
        around(
            reset_after=_COUNT,
            before="self.steps_made += 1\nwhile self.steps_made >= min(3, self.max_turns - 1):\n"
            "    pass",
        ),
        _hangs,
    ),
    Operator(
        "memory-grows",
        "keeps a great list of every step",
        around(
            top="HISTORY = []",
            before="HISTORY.append([action] * 8_000_000)",
        ),
        _grows,
    ),
    Operator(
        "observation-grows",
        "shows its history, which doubles with each step",
        around(
            reset_after="self.story = observation",
            after="self.story = self.story + self.story + action * 40_000\n"
            "observation = observation + self.story",
        ),
        _long,
    ),
    Operator(
        "writes-file",
        "writes its log to a file",
        around(after="with open('/tmp/log.txt', 'a') as log:\n    log.write(action)"),
        _refused_by_host,
    ),
    Operator(
        "runs-process",
        "asks another program",
        around(head="import os", after="os.system('true')"),
        _refused_by_host,
    ),
    Operator(
        "changes-environ",
        "changes the environment variables",
        around(head="import os", reset_after="os.environ['TASK'] = 'on'"),
        _changes_process,
    ),
    Operator(
        "changes-decimal",
        "changes the precision of decimal numbers for all",
        around(head="import decimal", reset_after="decimal.getcontext().prec = 7"),
        _changes_process,
    ),
    Operator(
        "changes-numpy",
        "changes numpy's error handling for all",
        around(head="import numpy", reset_after="numpy.seterr(all='raise')"),
        _changes_process,
    ),
)
