"""Family L3, floors: what policies earn that do not know the answer."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.api.calls import call, finish
from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import (
    CONSTANTS,
    GARBAGE,
    REFUSAL,
    Policy,
    all_candidates,
    constant,
    copy_example,
    cycle,
    echo_first,
    echo_last,
    null,
    random_grammar,
    script,
    tokens,
)
from spade_envs.gates.probes import DIGITS, HOSTILE
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject, answer_forms
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

SUBMIT_SEEDS = 10
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
    seeds = subject.seeds[:SUBMIT_SEEDS]
    jobs = [Job(level, seed, script(ways[name])) for level, name in cases for seed in seeds]
    played = iter(subject.plain.run(jobs, fresh=False))
    for level, name in cases:
        traces = [next(played) for _ in seeds]
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


@dataclass(frozen=True, slots=True)
class _Guess:
    name: str
    policy: Policy
    adaptive: bool = False
    """Guesses anew each turn or reads the observation: luck may earn it more."""


def _guesses(subject: Subject, level: int) -> list[_Guess]:
    texts = [form(text) for form in answer_forms(subject, level) for text in CONSTANTS]
    texts += ["", " ", REFUSAL, finish(), GARBAGE]
    if level == subject.levels[0]:
        texts += dict.fromkeys(HOSTILE)
    found = [_Guess(f"always {text[:20]!r}", constant(text, SHORT_TURNS)) for text in texts]
    found.append(_Guess("says nothing to the end", null))
    found.append(_Guess("copies the worked examples", copy_example))
    found.append(_Guess("names all that it reads at once", all_candidates))
    found.append(_Guess("echoes the first observation", echo_first))
    found.append(_Guess("echoes the latest observation", echo_last))
    form = answer_forms(subject, level)[0]
    found.append(_Guess("names 2000 numbers at once", constant(form(NUMBERS), 1)))
    found.append(_Guess("counts up from 0", lambda view: form(str(view.turn)), adaptive=True))
    letters = [form(letter) for letter in LETTERS]
    found.append(_Guess("goes through the letters", cycle(letters), adaptive=True))
    found.append(_Guess("goes through the digits", cycle(DIGITS), adaptive=True))
    found.append(_Guess("acts at random", random_grammar, adaptive=True))
    return found


def _commands(subject: Subject, level: int) -> list[_Guess]:
    """Return policies that repeat one word which every first observation of the level holds."""
    if subject.interface.kind == "tool":
        return []
    shown = [trace.start.observation for trace in subject.starts(level)[:SCREEN_SEEDS]]
    common = set.intersection(*(set(tokens(text)) for text in shown))
    words = [word for word in dict.fromkeys(reversed(tokens(shown[0]))) if word in common]
    return [_Guess(f"always says {word!r}", constant(word)) for word in words[:MOST_COMMANDS]]


def low_floor(subject: Subject) -> Finding:
    """L3.3: policies that do not know the answer earn little on every level."""
    warning: Finding | None = None
    floors: dict[str, Json] = {}
    worst = Rate(0, 0, 0.0)
    for (level, guess), rate in _measured(subject).items():
        worst = max(worst, rate, key=lambda one: one.mean)
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
        f"no ignorant policy earns more than {worst.mean:.0%}",
        floor=worst.as_json(),
        levels=floors,
    )


def _judged(subject: Subject, level: int, guess: _Guess, rate: Rate) -> Finding | None:
    limits = (ADAPTIVE_FAIL, ADAPTIVE_WARN) if guess.adaptive else (CONSTANT_FAIL, CONSTANT_WARN)
    if rate.mean <= limits[1]:
        return None
    rate = confirm(subject, guess.policy, level, guess.name)
    if rate.mean <= limits[1]:
        return None
    text = (
        f"an agent that {guess.name} earns {rate.mean:.0%} at level {level}; "
        "enlarge the answer space or end the episode on a wrong answer"
    )
    evidence = {"level": level, "policy": guess.name, "floor": rate.as_json()}
    if rate.mean <= limits[0]:
        return warned(text, **evidence)
    traces = subject.play(guess.policy, level, subject.seeds, name=guess.name, fresh=False)
    example = max(traces, key=subject.score)
    return failed(text, **{**evidence, **example.evidence()})


def _measured(subject: Subject) -> dict[tuple[int, _Guess], Rate]:
    """Measure every policy on every level.

    A policy that ignores the observation and earns nothing on the first few seeds is left at that.
    """
    cases = [
        (level, guess)
        for level in subject.levels
        for guess in (*_guesses(subject, level), *_commands(subject, level))
    ]
    scores: dict[tuple[int, _Guess], list[float]] = {case: [] for case in cases}
    few, rest = subject.seeds[:SCREEN_SEEDS], subject.seeds[SCREEN_SEEDS:]
    for seeds in (few, rest):
        wanted = [case for case in cases if seeds is few or case[1].adaptive or any(scores[case])]
        jobs = [
            (case, Job(case[0], seed, case[1].policy, case[1].name))
            for case in wanted
            for seed in seeds
        ]
        traces = subject.plain.run([job for _, job in jobs], fresh=False)
        for (case, _), trace in zip(jobs, traces, strict=True):
            scores[case].append(subject.score(trace))
    return {case: Rate.of(found) for case, found in scores.items()}


def confirm(subject: Subject, policy: Policy, level: int, name: str) -> Rate:
    """Measure a suspicious policy on fresh seeds, so that having looked at many is no bias."""
    seeds = subject.other_seeds(CONFIRM_EPISODES)
    traces = subject.play(policy, level, seeds, name=name, fresh=False)
    return Rate.of([subject.score(trace) for trace in traces])
