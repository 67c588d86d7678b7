"""Family L3, binding: an answer belongs to its task and earns nothing on another one."""

from __future__ import annotations

from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.floors import confirm
from spade_envs.gates.policies import script
from spade_envs.gates.reference import answer_in, wins
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Sample, Subject, answer_forms
from spade_envs.gates.thresholds import CONFIRM_PAIRS, CONSTANT_FAIL, CROSS_SEED_FAIL
from spade_envs.gates.trace import BOASTS, Trace, clip
from spade_envs.types import Json

ANSWERS, ANSWERS_BETWEEN = 6, 3
"""References tried as a constant at the lowest and highest level, and at those between."""
SCREEN = 3
"""Other seeds that each is tried on at first."""
FIRST = 6
"""Seeds that are looked at first; the others follow if one of them was won."""
HALF = 0.5
"""Share of the greatest return below which a success counts as none: it took a roundabout way."""
OFFSETS = (1, 3)
MIN_OTHERS = 5
"""Other answers that a hedge must hold."""


Actions = tuple[str, ...]
Case = tuple[int, Actions]
"""Level and reference."""


def no_best_constant(subject: Subject) -> Finding:
    """L3.4: no single answer, taken from the references, wins on many seeds."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    best: dict[str, Json] = {}
    for level, shares in _shares(subject).items():
        winner = max(shares, key=lambda actions: shares[actions])
        share = shares[winner]
        if share > CONSTANT_FAIL:
            rate = confirm(subject, script(winner), level, "best constant", CONSTANT_FAIL)
            share = rate.mean
            if rate.surely_above(CONSTANT_FAIL):
                return failed(
                    f"one fixed answer earns {share:.0%} over the seeds of level {level}; "
                    "enlarge the answer space or compare with the instance's own answer",
                    level=level,
                    best_constant={**best, str(level): round(share, 4)},
                    floor=rate.as_json(),
                    actions=[clip(action) for action in winner[:8]],
                )
        best[str(level)] = round(share, 4)
    highest = max(best.values(), default=0.0)
    make = warned if highest > CONSTANT_FAIL else passed
    return make(f"the best fixed answer earns {highest:.0%}", best_constant=best)


def _shares(subject: Subject) -> dict[int, dict[Actions, float]]:
    """Return, by level, the mean score of each reference on the other seeds, frequent ones first.

    A reference that earns nothing on the first few seeds with another reference is not played on
    the rest of them.
    """
    same: dict[Case, list[float]] = {}
    others: dict[Case, list[int]] = {}
    for level in subject.floor_levels:
        rows: dict[Actions, list[Trace]] = {}
        for trace in subject.references(level):
            rows.setdefault(trace.actions, []).append(trace)
        edge = level in (subject.levels[0], subject.levels[-1])
        frequent = sorted(rows, key=lambda actions: -len(rows[actions]))
        for actions in frequent[: ANSWERS if edge else ANSWERS_BETWEEN]:
            same[level, actions] = [subject.score(trace) for trace in rows[actions][1:]]
            left = {trace.seed for trace in rows[actions]}
            others[level, actions] = [seed for seed in subject.seeds if seed not in left]
    scores: dict[Case, list[float]] = {case: [] for case in others}
    for part in (slice(0, SCREEN), slice(SCREEN, None)):
        wanted = [case for case in others if part.start == 0 or any(scores[case])]
        played = [(case, seed) for case in wanted for seed in others[case][part]]
        traces = subject.replays([(case[0], seed, case[1]) for case, seed in played])
        for (case, _), trace in zip(played, traces, strict=True):
            scores[case].append(subject.score(trace))
    found: dict[int, dict[Actions, float]] = {}
    for (level, actions), seeds in others.items():
        earned, count = same[level, actions], len(same[level, actions]) + len(seeds)
        share = (sum(earned) + sum(scores[level, actions])) / count if count else 0.0
        found.setdefault(level, {})[actions] = share
    return found


def bound_to_its_seed(subject: Subject) -> Finding:
    """L3.5: the reference of one seed does not win on other seeds."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    shares: dict[str, Json] = {}
    highest = 0.0
    swapped = _played(subject, {level: _swapped(subject, level) for level in subject.levels})
    hedges = _played(subject, {level: _hedged(subject, level) for level in subject.levels})
    for level in subject.levels:
        played = swapped[level]
        boasting = [trace for trace in played if subject.top > 0 and trace.boasts]
        if boasting:
            return failed(BOASTS, **boasting[0].evidence())
        rate = _won(subject, played)
        # The pairs share their references, so that one frequent answer counts many times.
        if rate.mean > CROSS_SEED_FAIL and not rate.surely_above(2 * CROSS_SEED_FAIL):
            played = subject.replays(_swapped(subject, level, further=True))
            rate = _won(subject, played)
        shares[str(level)] = rate.as_json()
        paid = sum(map(subject.score, played)) / max(1, len(played))
        highest = max(highest, paid)
        if rate.surely_above(CROSS_SEED_FAIL):
            return failed(
                f"the reference of another seed wins {rate.mean:.0%} at level {level}; "
                "check the answer against the instance at hand, or enlarge the answer space",
                cross_seed=shares,
                **max(played, key=subject.score).evidence(),
            )
        rate = Rate.of([float(wins(subject, trace)) for trace in hedges[level]])
        if rate.mean > CROSS_SEED_FAIL:
            return failed(
                f"an answer that names the answers of all seeds wins {rate.mean:.0%} at level "
                f"{level}; compare the whole answer, not a part of it",
                hedge=rate.as_json(),
                level=level,
            )
    make = warned if highest > CROSS_SEED_FAIL else passed
    return make(f"the reference of another seed earns at most {highest:.0%}", cross_seed=shares)


def _won(subject: Subject, traces: list[Trace]) -> Rate:
    """Return how often episodes ended in success; partial credit for a wrong answer is none."""
    return Rate.of([float(t.success and subject.score(t) > HALF) for t in traces])


def _played(subject: Subject, samples: dict[int, list[Sample]]) -> dict[int, list[Trace]]:
    """Play each level's first few samples, and the rest where one of these earned anything."""
    found: dict[int, list[Trace]] = {level: [] for level in samples}
    for part in (slice(0, FIRST), slice(FIRST, None)):
        wanted = [
            sample
            for level, some in samples.items()
            if part.start == 0 or any(subject.score(trace) > 0 for trace in found[level])
            for sample in some[part]
        ]
        for trace in subject.replays(wanted):
            found[trace.level].append(trace)
    return found


def _hedged(subject: Subject, level: int) -> list[Sample]:
    """Return episodes whose last answer has those of other seeds around it."""
    traces = subject.references(level)
    answers = [answer_in(subject, trace.actions) for trace in traces]
    form = answer_forms(subject, level)[0]
    samples = []
    for position, (trace, own) in enumerate(zip(traces, answers, strict=True)):
        others = [answer for answer in answers if answer and own and answer != own]
        if len(set(others)) < MIN_OTHERS:
            continue
        middle = 1 + position % (len(others) - 1)
        said = " ".join([*others[:middle], own or "", *others[middle:]])
        samples.append((level, trace.seed or 0, (*trace.actions[:-1], form(said))))
    return samples


def _swapped(subject: Subject, level: int, *, further: bool = False) -> list[Sample]:
    """Return episodes in which a seed is answered with the reference of another one.

    Those of `further` seeds are fresh, and more.
    """
    traces = subject.references(level, subject.other_seeds(CONFIRM_PAIRS) if further else None)
    samples = []
    for position, trace in enumerate(traces):
        for offset in OFFSETS:
            other = traces[(position + offset) % len(traces)]
            if other.seed != trace.seed:
                samples.append((level, other.seed or 0, trace.actions))
    return samples
