"""Family L3, floors: what policies earn that do not know the answer."""

from __future__ import annotations

from spade_envs.api.calls import call, finish
from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import (
    Policy,
    script,
)
from spade_envs.gates.screen import Guess, screen
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import (
    ADAPTIVE_FAIL,
    ADAPTIVE_WARN,
    CONFIRM_EPISODES,
    CONFIRM_FURTHER,
    CONSTANT_FAIL,
    CONSTANT_WARN,
    IMMEDIATE_FAIL,
)
from spade_envs.gates.trace import Trace
from spade_envs.types import Json

SUBMIT_SEEDS = 5
"""Seeds on which one submits at once at first; all seeds where that paid."""
SCREEN_SEEDS = 5
SHORT_TURNS = 4
MOST_COMMANDS = 12
NUMBERS = " ".join(map(str, range(2000)))
LETTERS = "etaoinsrhldcumfpgwybvkxjqz"


def goal_open_at_reset(subject: Subject) -> Finding:
    """L3.2: nothing is won by submitting at once, without having done anything."""
    ways: dict[str, tuple[str, ...]] = {"an empty message": ("",), "'submit'": ("submit",)}
    if subject.interface.kind == "tool":
        ways["an unknown call, then 'Done.'"] = (call("no_such_tool"), finish())
    cases = [(level, name) for level in subject.levels for name in ways]
    few, rest = subject.seeds[:SUBMIT_SEEDS], subject.seeds[SUBMIT_SEEDS:]
    jobs = [Job(level, seed, script(ways[name])) for level, name in cases for seed in few]
    played = iter(subject.plain.run(jobs, fresh=False))
    for level, name in cases:
        traces = [next(played) for _ in few]
        if any(subject.score(trace) > 0 for trace in traces):
            traces += subject.play(script(ways[name]), level, rest, fresh=False)
        rate = Rate.of([subject.score(trace) for trace in traces])
        won = next((trace for trace in traces if subject.score(trace) > 0), None)
        early = next((trace for trace in traces if _revealed(trace)), None)
        if early is not None:
            return failed(
                f"the first task counts as met before anything was done at level {level}; "
                "its predicate must not hold after reset()",
                **early.evidence(),
            )
        # A little pay for the form of an answer, without success, is for L3.3 to weigh.
        reached = any(trace.success for trace in traces)
        if won is not None and reached and rate.mean > IMMEDIATE_FAIL:
            rate = confirm(subject, script(ways[name]), level, name, IMMEDIATE_FAIL)
        if won is not None and reached and rate.surely_above(IMMEDIATE_FAIL):
            return failed(
                f"{name} at once earns {rate.mean:.0%} at level {level}; "
                "the goal must not hold after reset()",
                floor=rate.as_json(),
                **won.evidence(),
            )
    skipped = [t for level in subject.levels for t in _played(subject, level) if _met_two(t)]
    if skipped:
        return failed(
            "one call meets two tasks, so the second one counts as met before it was asked for; "
            "its predicate must not hold then",
            **skipped[0].evidence(),
        )
    return passed("submitting at once earns nothing")


def _played(subject: Subject, level: int) -> list[Trace]:
    """Return the reference episodes of a tool environment in our contract."""
    ours = subject.interface.kind == "tool" and subject.interface.api == "spade-1"
    return subject.references(level) if ours and subject.has_reference else []


def _met_two(trace: Trace) -> bool:
    """Whether the user said two things after a single call."""
    for _, got in trace.steps:
        said = got.info.get("user")
        calls = got.info.get("tool_results")
        single = isinstance(calls, list) and len(calls) == 1
        if single and said and not got.observation.endswith(f"\nUser: {said}"):
            return True
    return False


def _revealed(trace: Trace) -> bool:
    """Whether a tool environment's user went on to the next task after an unknown call."""
    if not trace.steps or not trace.actions[0].startswith("<tool_call>"):
        return False
    return bool(trace.steps[0][1].info.get("user"))


def low_floor(subject: Subject) -> Finding:
    """L3.3: policies that do not know the answer earn little on every level."""
    warning: Finding | None = None
    floors: dict[str, Json] = {}
    worst = Rate(0, 0, 0.0)
    for (level, guess), rate in _measured(subject).items():
        worst = max(worst, rate, key=lambda one: (one.mean, one.trials))
        known = floors.get(str(level))
        if known is None or rate.mean > known["mean"]:
            floors[str(level)] = {"policy": guess.name, **rate.as_json()}
        finding = _judged(subject, level, guess, rate)
        if finding is not None and finding.outcome == "fail":
            return finding
        warning = warning or finding
    if warning is not None:
        return Finding(warning.outcome, warning.message, {**warning.evidence, "levels": floors})
    return passed(
        f"no ignorant policy earns more than {worst.mean:.0%} ({worst.trials} episodes)",
        floor=worst.as_json(),
        levels=floors,
    )


def _judged(subject: Subject, level: int, guess: Guess, rate: Rate) -> Finding | None:
    limits = (ADAPTIVE_FAIL, ADAPTIVE_WARN) if guess.adaptive else (CONSTANT_FAIL, CONSTANT_WARN)
    if rate.mean <= limits[1]:
        return None
    rate = confirm(subject, guess.policy, level, guess.name, limits[0])
    if rate.mean <= limits[1]:
        return None
    text = (
        f"an agent that {guess.name} earns {rate.mean:.0%} at level {level}; "
        "enlarge the answer space or end the episode on a wrong answer"
    )
    evidence = {"level": level, "policy": guess.name, "floor": rate.as_json()}
    if not rate.surely_above(limits[0]):
        return warned(text, **evidence)
    traces = subject.play(guess.policy, level, subject.seeds, name=guess.name, fresh=False)
    example = max(traces, key=subject.score)
    return failed(text, **{**evidence, **example.evidence()})


def _measured(subject: Subject) -> dict[tuple[int, Guess], Rate]:
    """Measure what paid in the screening, on the few seeds first and then on all."""
    found = screen(subject)
    scores: dict[tuple[int, Guess], list[float]] = {case: [] for case in found.suspects}
    few, rest = subject.seeds[:SCREEN_SEEDS], subject.seeds[SCREEN_SEEDS:]
    for seeds in (few, rest):
        wanted = [case for case in scores if seeds is few or any(scores[case])]
        jobs = [
            (case, Job(case[0], seed, case[1].policy, case[1].name))
            for case in wanted
            for seed in seeds
        ]
        traces = subject.plain.run([job for _, job in jobs], fresh=False)
        for (case, _), trace in zip(jobs, traces, strict=True):
            scores[case].append(subject.score(trace))
    rates = {case: Rate.of(got) for case, got in scores.items()}
    return {**found.clean, **rates}


def confirm(subject: Subject, policy: Policy, level: int, name: str, limit: float) -> Rate:
    """Measure a suspicious policy on fresh seeds, so that having looked at many is no bias.

    A mean above the limit, but not surely so, is measured on many more: luck is no verdict.
    """
    seeds = subject.other_seeds(CONFIRM_FURTHER)
    scores: list[float] = []
    for some in (seeds[:CONFIRM_EPISODES], seeds[CONFIRM_EPISODES:]):
        # In parts, since the deadline is looked at between them.
        for start in range(0, len(some), CONFIRM_EPISODES):
            part = some[start : start + CONFIRM_EPISODES]
            traces = subject.play(policy, level, part, name=name, fresh=False)
            scores += [subject.score(trace) for trace in traces]
        rate = Rate.of(scores)
        if rate.mean <= limit or rate.surely_above(limit):
            break
    return rate
