"""Family L4, worth: hints help, and better play earns more."""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from spade_envs.api.calls import parse_calls
from spade_envs.gates.finding import NO_REFERENCE, Finding, failed, passed, skipped, warned
from spade_envs.gates.hints import NO_HINT
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import Policy, View, random_grammar, tokens
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import (
    HINT_SEEDS,
    LADDER_FAIL,
    LADDER_RUNGS,
    LADDER_SEEDS,
    LADDER_STEPS,
)
from spade_envs.gates.trace import Trace, clip
from spade_envs.intervals import Z_95
from spade_envs.types import Episode, Fault, Json

_GENERIC_WORDS = """
    a about action actions actually after again all already always an and another answer answers
    any anything approach are as ask at attempt attention aware be because been before begin being
    best better but by can care careful carefully challenge check choose clear clearly come consider
    correct correctly could deep deeply detail details did do does done don't each easy end enough
    environment episode every everything exercise find finish first focus follow for from game get
    give given go goal good great guess hard have help helpful here hint how i idea if important in
    information input instruction instructions into is it its just keep kind know later let like
    list little logic logical logically look luck make may maybe might mind mistake mistakes more
    most must my need next no not note nothing now observation of on once one only or other our out
    patience patient pay please possible prompt proper properly puzzle question re-read read reading
    ready really reason reasoning recall relax remember reply respond response right rule rules s
    see should simple simply so solution solve solving some something start stay step steps strategy
    sure systematic systematically t take task text than that the their them then there these they
    thing things think thinking this those through time tip to too trick try turn twice understand
    up us use useful user very want watch way we well what when where which while will wisely with
    within without won't work wrong yes you your yourself
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())


def hint_helps(subject: Subject) -> Finding:
    """L4.3: the hint says something that the agent is not shown; with an agent, that it helps."""
    if not subject.has_hint:
        return skipped(NO_HINT)
    if subject.context.agent is not None:
        return _measured(subject, subject.context.agent)
    for level in subject.levels:
        hints = subject.hints(level, subject.seeds[:HINT_SEEDS])
        shown = {trace.seed or 0: trace.start.observation for trace in subject.starts(level)}
        useless = [seed for seed, hint in hints.items() if not _says(hint, shown[seed])]
        if len(useless) < len(hints) or not hints:
            continue
        if len(set(hints.values())) > 1 and _picks(hints, shown):
            continue  # it picks from what is shown, which can be help
        return failed(
            f"the hint at level {level} says nothing beyond the first observation; tell how to go "
            "about it",
            level=level,
            seed=useless[0],
            hint=clip(hints[useless[0]]),
        )
    return passed("the hint says more than the first observation")


def _picks(hints: Mapping[int, str], shown: Mapping[int, str]) -> bool:
    """Whether hints are made of what is shown, but are not just the same sentence of it."""
    if any(hint.strip() not in shown[seed] for seed, hint in hints.items()):
        return True
    parts = [shown[seed].partition(hint.strip()) for seed, hint in hints.items()]
    before = {len(re.findall(r"[.!?\n]\s", text)) for text, _, _ in parts}
    after = {len(re.findall(r"[.!?\n]\s", text)) for _, _, text in parts}
    return len(before) > 1 and len(after) > 1


def _says(hint: str, shown: str) -> bool:
    """Whether a hint has a word or number of its own."""
    known = {_stem(word) for word in tokens(shown)}
    return any(
        word.casefold() not in _GENERIC and _stem(word) not in known and _stem(word) not in _STEMS
        for word in tokens(hint)
    )


@functools.lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    return re.sub(r"(?:'s|ing|ed|es|s|e|ly)$", "", word.casefold()) or word


_STEMS = frozenset(map(_stem, _GENERIC))


def _measured(subject: Subject, agent: Policy) -> Finding:
    levels: dict[str, Json] = {}
    best = -1.0
    for level in subject.levels:
        hints = subject.hints(level, subject.seeds)

        def hinted(view: View, hints: Mapping[int, str] = hints) -> str | None:
            said = f"{view.first}\n\nHint: {hints.get(view.seed or 0, '')}"
            last = said if view.turn == 0 else view.last
            return agent(replace(view, first=said, last=last))

        seeds = list(hints)
        without = subject.play(agent, level, seeds, name="agent")
        with_hint = subject.play(hinted, level, seeds, name="agent")
        gain = Gain.of([subject.score(t) for t in without], [subject.score(t) for t in with_hint])
        levels[str(level)] = gain.as_json()
        best = max(best, gain.high)
        if gain.high < 0:
            return warned(f"the hint harms the agent at level {level}", gain=levels)
    if best <= 0:
        return warned("the hint does not help the agent at any level", gain=levels)
    return passed("the hint may help the agent; see the intervals", gain=levels)


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean difference of paired scores, with its 95 % interval."""

    mean: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, without: Sequence[float], with_hint: Sequence[float]) -> Gain:
        """Return what `with_hint` gains over `without`, pair by pair.

        Raises:
            ValueError: the lengths differ.
        """
        gains = [b - a for a, b in zip(without, with_hint, strict=True)]
        count = len(gains)
        if count < 2:
            return cls(gains[0] if gains else 0.0, -1.0, 1.0, count)
        mean = sum(gains) / count
        spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / (count - 1) / count)
        # Equal pairs say little when they are few: no narrower than one more, opposite pair.
        half = Z_95 * max(spread, 1 / (count + 1) / math.sqrt(count))
        return cls(mean, max(-1.0, mean - half), min(1.0, mean + half), count)

    def as_json(self) -> dict[str, Json]:
        """Return the gain as plain JSON."""
        interval: Json = [round(self.low, 4), round(self.high, 4)]
        return {"mean": round(self.mean, 4), "interval_95": interval, "pairs": self.pairs}


def measure_hint(without: Sequence[Episode], with_hint: Sequence[Episode]) -> Gain:
    """Return how much more often episodes succeed with a hint, paired by level and seed.

    Episodes that ended in a fault, or lack their partner, are left out.
    """
    played = {(e.level, e.seed): float(e.success) for e in without if e.fault is None}
    pairs = [
        (played[e.level, e.seed], float(e.success))
        for e in with_hint
        if e.fault is None and (e.level, e.seed) in played
    ]
    return Gain.of([a for a, _ in pairs], [b for _, b in pairs])


# L4.4


def degraded(actions: Sequence[str], noise: float) -> Policy:
    """Return the policy that takes `actions`, each replaced by a random one with chance `noise`."""

    def act(view: View) -> str | None:
        if view.turn >= len(actions):
            return None
        rng: random.Random = view.rng
        return random_grammar(view) if rng.random() < noise else actions[view.turn]

    return act


def difficulty_separates(subject: Subject) -> Finding:
    """L4.4: the better the play, the greater the return."""
    if not subject.has_reference:
        return skipped(NO_REFERENCE)
    ladder: dict[str, Json] = {}
    flat = True
    for level in subject.levels if subject.depth == "deep" else subject.levels[-1:]:
        rungs = {noise: _rung(subject, level, noise) for noise in LADDER_RUNGS}
        rates = {noise: Rate.of([subject.score(t) for t in rung]) for noise, rung in rungs.items()}
        ladder[str(level)] = {f"{n:g}": rates[n].as_json() for n, rung in rungs.items() if rung}
        flat = flat and all(rate.mean >= LADDER_FAIL for rate in rates.values())
        worst = rates[LADDER_RUNGS[0]]
        if worst.mean < LADDER_FAIL or not rungs[LADDER_RUNGS[0]]:
            continue
        seeds = subject.other_seeds(LADDER_SEEDS * 3)
        again = _rung(subject, level, LADDER_RUNGS[0], seeds)
        rate = Rate.of([subject.score(trace) for trace in again])
        if rate.mean >= LADDER_FAIL:
            return failed(
                f"play of which {LADDER_RUNGS[0]:.0%} is random earns {rate.mean:.0%} at level "
                f"{level}; make the return depend on every part of the task",
                ladder=ladder,
                degraded=rate.as_json(),
                **next(iter(sorted(again, key=subject.score, reverse=True))).evidence(),
            )
    if flat and ladder:
        return warned("spoilt play earns as much as the reference on every rung", ladder=ladder)
    return passed("spoilt play earns less than the reference", ladder=ladder)


def _rung(
    subject: Subject, level: int, noise: float, seeds: Sequence[int] | None = None
) -> list[Trace]:
    """Return spoilt references; only long ones for the roughest noise, since luck is short."""
    wanted = subject.seeds[:LADDER_SEEDS] if seeds is None else seeds
    jobs = []
    for seed, actions in subject.solutions(level, wanted).items():
        if isinstance(actions, Fault) or not actions:
            continue
        if noise == LADDER_RUNGS[0] and len(actions) < LADDER_STEPS and not _calls(actions):
            continue
        jobs.append(Job(level, seed, degraded(actions, noise), f"noise {noise:g}"))
    return subject.plain.run(jobs, fresh=False)


def _calls(actions: Sequence[str]) -> bool:
    return any(map(parse_calls, actions))
