"""Family L3, floors: what policies earn that do not know the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.api.calls import call, finish
from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.policies import (
    CONSTANTS,
    GARBAGE,
    REFUSAL,
    Policy,
    boxed,
    constant,
    cycle,
    echo_first,
    echo_last,
    random_grammar,
    script,
)
from spade_envs.gates.probes import DIGITS
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import CONFIRM_SEED, Subject
from spade_envs.gates.thresholds import (
    ADAPTIVE_FAIL,
    ADAPTIVE_WARN,
    CONFIRM_EPISODES,
    CONSTANT_FAIL,
    CONSTANT_WARN,
    IMMEDIATE_FAIL,
)
from spade_envs.gates.trace import Trace
from spade_envs.types import Json

SCREEN_SEEDS = 5
SHORT_TURNS = 4


def goal_open_at_reset(subject: Subject) -> Finding:
    """L3.2: nothing is won by submitting at once, without having done anything."""
    ways: dict[str, tuple[str, ...]] = {"an empty message": ("",), "'submit'": ("submit",)}
    if subject.interface.kind == "tool":
        ways["an unknown call, then 'Done.'"] = (call("no_such_tool"), finish())
    for level in subject.levels:
        for name, actions in ways.items():
            traces = subject.play(script(actions), level, subject.seeds, fresh=False)
            rate = Rate.of([subject.score(trace) for trace in traces])
            won = next((trace for trace in traces if subject.score(trace) > 0), None)
            early = next((trace for trace in traces if _revealed(trace)), None)
            if early is not None:
                return failed(
                    f"the first task counts as met before anything was done at level {level}; "
                    "its predicate must not hold after reset()",
                    **early.evidence(),
                )
            if won is not None and rate.mean > IMMEDIATE_FAIL:
                return failed(
                    f"{name} at once earns {rate.mean:.0%} at level {level}; "
                    "the goal must not hold after reset()",
                    floor=rate.as_json(),
                    **won.evidence(),
                )
    return passed("submitting at once earns nothing")


def _revealed(trace: Trace) -> bool:
    """Whether a tool environment's user went on to the next task after an unknown call."""
    if not trace.steps or not trace.actions[0].startswith("<tool_call>"):
        return False
    return bool(trace.steps[0][1].info.get("user"))


@dataclass(frozen=True, slots=True)
class _Guess:
    name: str
    policy: Policy
    adaptive: bool = False
    """Guesses anew each turn or reads the observation: luck may earn it more."""


def _guesses() -> list[_Guess]:
    texts = [*CONSTANTS, *map(boxed, CONSTANTS[1:]), *DIGITS[3:], REFUSAL, finish(), GARBAGE]
    found = [_Guess(f"always {text[:20]!r}", constant(text, SHORT_TURNS)) for text in texts]
    found.append(_Guess("says nothing to the end", constant("")))
    found.append(_Guess("echoes the first observation", echo_first))
    found.append(_Guess("echoes the latest observation", echo_last))
    found.append(_Guess("goes through the digits", cycle(DIGITS), adaptive=True))
    found.append(_Guess("acts at random", random_grammar, adaptive=True))
    return found


def low_floor(subject: Subject) -> Finding:
    """L3.3: policies that do not know the answer earn little on every level."""
    floors: dict[str, Json] = {}
    warning: Finding | None = None
    worst = Rate(0, 0, 0.0)
    for level in subject.levels:
        best, rate = None, Rate(0, 0, -1.0)
        for guess in _guesses():
            found = _measure(subject, guess, level)
            if found.mean > rate.mean:
                best, rate = guess, found
            limit, alarm = (
                (ADAPTIVE_FAIL, ADAPTIVE_WARN) if guess.adaptive else (CONSTANT_FAIL, CONSTANT_WARN)
            )
            if found.mean > alarm:
                found = confirm(subject, guess.policy, level, guess.name)
                text = (
                    f"an agent that {guess.name} earns {found.mean:.0%} at level {level}; "
                    "enlarge the answer space or end the episode on a wrong answer"
                )
                evidence = {"level": level, "policy": guess.name, "floor": found.as_json()}
                if found.mean > limit:
                    example = subject.play(guess.policy, level, subject.seeds[:1], name=guess.name)
                    return failed(text, **evidence, episode=example[0].evidence())
                if found.mean > alarm and warning is None:
                    warning = warned(text, **evidence)
        if best is not None:
            floors[str(level)] = {"policy": best.name, **rate.as_json()}
            worst = max(worst, rate, key=lambda one: one.mean)
    if warning is not None:
        return Finding(warning.outcome, warning.message, {**warning.evidence, "levels": floors})
    return passed(
        f"no ignorant policy earns more than {worst.mean:.0%}",
        floor=worst.as_json(),
        levels=floors,
    )


def _measure(subject: Subject, guess: _Guess, level: int) -> Rate:
    """Measure a policy on all seeds, or only on the first few if it earns nothing there."""
    seeds = subject.seeds
    few = seeds if guess.adaptive else seeds[:SCREEN_SEEDS]
    scores = _scores(subject, guess.policy, level, few, guess.name)
    if any(scores) and len(few) < len(seeds):
        scores += _scores(subject, guess.policy, level, seeds[len(few) :], guess.name)
    return Rate.of(scores)


def confirm(subject: Subject, policy: Policy, level: int, name: str) -> Rate:
    """Measure a suspicious policy on fresh seeds, so that having looked at many is no bias."""
    seeds = range(CONFIRM_SEED, CONFIRM_SEED + CONFIRM_EPISODES)
    return Rate.of(_scores(subject, policy, level, list(seeds), name))


def _scores(
    subject: Subject, policy: Policy, level: int, seeds: Sequence[int], name: str
) -> list[float]:
    traces = subject.play(policy, level, seeds, name=name, fresh=False)
    return [subject.score(trace) for trace in traces]
