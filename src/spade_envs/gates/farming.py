"""Family L3, farming: going in circles earns nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from spade_envs.gates.finding import Finding, failed, passed, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import Policy, View, constant, random_grammar, tokens
from spade_envs.gates.reference import wins
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import FARM_PAYMENTS, FARM_SHARE, RETURN_TOLERANCE
from spade_envs.gates.trace import Trace, clip
from spade_envs.types import Fault

DEPTH = 4
"""Longest circle that is looked for."""
FEW, MANY = 2, 6
"""Different actions that circles are made of: at first, and where some action pays on the way."""
MOST_CIRCLES = 60
SCREEN_ROUNDS = 3
WANDERERS = 2
WANDERED_TURNS = 8
COMMANDS = 2
PART_SEEDS = 4


@dataclass(frozen=True, slots=True)
class _Circle:
    """Actions repeated to the end of the episode, after some that lead there."""

    level: int
    seed: int
    before: tuple[str, ...]
    actions: tuple[str, ...]

    def policy(self, rounds: int | None = None) -> Policy:
        """Return the policy that goes round, `rounds` times or to the end."""

        def act(view: View) -> str | None:
            turn = view.turn - len(self.before)
            if turn < 0:
                return self.before[view.turn]
            if rounds is not None and turn >= rounds * len(self.actions):
                return None
            return self.actions[turn % len(self.actions)]

        return act

    def job(self, rounds: int | None = None) -> Job:
        """Return the episode."""
        return Job(self.level, self.seed, self.policy(rounds), "circle")


def cannot_be_farmed(subject: Subject) -> Finding:
    """L3.12: no circle of actions earns reward again and again without getting anywhere."""
    warning: Finding | None = None
    played = 0
    for level in subject.edge_levels:
        repeated = _one_part_wins(subject, level)
        if repeated is not None:
            return repeated
        paid = _paid_on_the_way(subject, level)
        circles = list(_circles(subject, level, paid))[:MOST_CIRCLES]
        begun = subject.plain.run([circle.job(SCREEN_ROUNDS) for circle in circles], fresh=False)
        played += len(circles)
        # Only a circle that pays at all is worth going round to the end.
        circles = [c for c, t in zip(circles, begun, strict=True) if _pays(t)]
        traces = subject.plain.run([circle.job() for circle in circles], fresh=False)
        for circle, trace in zip(circles, traces, strict=True):
            finding = _judged(subject, circle, trace)
            if finding is not None and finding.outcome == "fail":
                return finding
            warning = warning or finding
    return warning or passed(f"{played} circles of actions earn nothing", played=played)


def _one_part_wins(subject: Subject, level: int) -> Finding | None:
    """Refuse where the first paid part of a reference, said again and again, wins everything."""
    if not subject.has_reference:
        return None
    parts = []
    for trace in subject.references(level, subject.seeds[:PART_SEEDS]):
        paid = [action for action, got in trace.steps if got.reward > 0]
        if trace.success and len(set(paid)) > 1:
            parts.append((trace, paid[0]))
    jobs = [Job(level, trace.seed, constant(part)) for trace, part in parts]
    won = [t for t in subject.plain.run(jobs, fresh=False) if wins(subject, t)] if jobs else []
    if len(won) < PART_SEEDS or len(won) < len(parts):
        return None
    return failed(
        f"one part of the answer, said again and again, wins everything at level {level}; pay "
        "every part once",
        **won[0].evidence(),
    )


def _pays(trace: Trace) -> bool:
    return any(got.reward > 0 for _, got in trace.steps)


def _paid_on_the_way(subject: Subject, level: int) -> tuple[str, ...]:
    """Return actions that were seen to earn something before the end of an episode."""
    seeds = subject.seeds[:WANDERERS]
    traces = subject.references(level, seeds) if subject.has_reference else []
    wandering = [Job(level, seed, _wander, "wanderer") for seed in seeds]
    traces = [*traces, *subject.plain.run(wandering, fresh=False)]
    paid = [action for t in traces for action, got in t.steps if got.reward > 0 and not got.done]
    return tuple(dict.fromkeys(paid))


def _wander(view: View) -> str | None:
    return random_grammar(view) if view.turn < WANDERED_TURNS else None


def _circles(subject: Subject, level: int, paid: Sequence[str]) -> Iterator[_Circle]:
    """Yield circles of actions that pay, that the reference takes, and that the prompt names."""
    seed = subject.seeds[0]
    reference = _reference(subject, level, seed)
    taken = list(dict.fromkeys(reference))
    most = MANY if paid else FEW
    known = list(dict.fromkeys([*paid[:most], *taken[:most], *_moves(subject, level)[:most]]))
    single = [*known, *_commands(subject, level)]
    yield from (_Circle(level, seed, (), (action,)) for action in single)
    pairs = list(permutations(known[: most + 1], 2)) if paid else list(_windows(taken, 2))[:FEW]
    yield from (_Circle(level, seed, (), pair) for pair in pairs)
    if not paid:
        return
    start = next((i for i, action in enumerate(reference) if action in paid), 0)
    for size in range(2, DEPTH + 1):
        for window in _windows(reference, size):
            yield _Circle(level, seed, (), window)
    for action in known:
        if start:
            yield _Circle(level, seed, tuple(reference[:start]), (reference[start], action))


def _windows(actions: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    found = (tuple(actions[i : i + size]) for i in range(len(actions) - size + 1))
    yield from (window for window in dict.fromkeys(found) if len(set(window)) > 1)


def _reference(subject: Subject, level: int, seed: int) -> list[str]:
    actions = subject.solution(level, seed) if subject.has_reference else ()
    return [] if isinstance(actions, Fault) else list(actions)


def _moves(subject: Subject, level: int) -> list[str]:
    """Return the actions that the references of several seeds have in common."""
    if not subject.has_reference:
        return []
    counts: dict[str, int] = {}
    for trace in subject.references(level):
        for action in dict.fromkeys(trace.actions):
            counts[action] = counts.get(action, 0) + 1
    return sorted((a for a, count in counts.items() if count > 1), key=lambda a: -counts[a])


def _commands(subject: Subject, level: int) -> list[str]:
    """Return a few words that every first observation of the level ends with."""
    shown = [set(tokens(trace.start.observation)) for trace in subject.starts(level)]
    common = set.intersection(*shown)
    last = reversed(tokens(subject.starts(level)[0].start.observation))
    return [word for word in dict.fromkeys(last) if word in common][:COMMANDS]


def _judged(subject: Subject, circle: _Circle, trace: Trace) -> Finding | None:
    own = trace.steps[len(circle.before) :]
    earned = sum(got.reward for _, got in own)
    payments = sum(got.reward > 0 for _, got in own)
    said = [clip(action, 80) for action in circle.actions]
    evidence = {"circle": said, "payments": payments, "earned": earned, **trace.evidence()}
    text = f"repeating {', '.join(map(repr, said))} earns {earned:g} at level {trace.level}"
    if trace.total > subject.top + RETURN_TOLERANCE:
        return failed(
            f"{text}, together more than the greatest return {subject.top:g}; pay every merit once",
            **evidence,
        )
    if trace.success or payments < FARM_PAYMENTS or earned < FARM_SHARE * subject.top:
        return None
    stays = _gets_nowhere(subject, circle)
    if stays is None:
        return warned(
            f"{text} in {payments} payments without success; pay progress, and every step of it "
            "once",
            **evidence,
        )
    if not stays:
        return None
    return failed(
        f"{text} in {payments} payments and leads no nearer to the goal; pay progress, and every "
        "step of it once",
        **evidence,
    )


def _gets_nowhere(subject: Subject, circle: _Circle) -> bool | None:
    """Whether the way to the goal is as long after two rounds as before them; None if unknown."""
    if not subject.has_reference:
        return None
    lengths = [_way_left(subject, circle, rounds) for rounds in (0, 2)]
    if lengths[0] is None or lengths[1] is None:
        return None
    return lengths[1] >= lengths[0]


def _way_left(subject: Subject, circle: _Circle, rounds: int) -> int | None:
    """Return how many actions of `solution()` still win after some rounds."""
    lane = subject.plain
    live = lane.begin([circle.job(rounds)], fresh=True)[0]
    try:
        while (action := live.next_action()) is not None:
            live.step(action)
        answer = None if live.over else lane.worker.solution(live.instance)
        if answer is None or isinstance(answer, Fault):
            return None
        gone = len(live.steps)
        for action in answer:
            if live.over:
                break
            live.step(action)
        return len(live.steps) - gone if live.trace().success else None
    finally:
        live.close()
