"""Family L1, first half: the Gymnasium interface, value types, hostile strings, ending."""

from __future__ import annotations

import math
from dataclasses import replace

from spade_envs.gates.finding import Finding, failed, fault_text, passed, warned
from spade_envs.gates.lane import Job, Live
from spade_envs.gates.policies import (
    Policy,
    boxed,
    constant,
    echo_last,
    random_grammar,
    script,
)
from spade_envs.gates.probes import hostile
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import RETURN_TOLERANCE
from spade_envs.gates.trace import BOASTS, Trace
from spade_envs.types import Fault, ResetOutcome

CAREFUL_BATCH = 32
"""Episodes in lockstep where a hang is likely: each that hangs costs a whole time limit."""


def passes_check_env(subject: Subject) -> Finding:
    """L1.1: Gymnasium's own checker passes at the lowest level; in a deep check at every level."""
    lane = subject.plain
    for level in subject.edge_levels if subject.depth == "deep" else subject.levels[:1]:
        instance = lane.take(level)
        if isinstance(instance, Fault):
            return failed(f"the class cannot be constructed: {instance.message}")
        answer = lane.worker.probe(instance, "check_env", {})
        lane.give(level, instance, keep=False)
        if isinstance(answer, Fault):
            lane.note(Trace(level, None, ResetOutcome(fault=answer)))
            return failed(
                f"check_env fails at level {level}: {answer.message}", fault=answer.as_json()
            )
        error = answer.get("error") if isinstance(answer, dict) else None
        if error:
            return failed(f"check_env fails at level {level}: {error}")
    return passed("gymnasium.utils.env_checker passes")


def well_formed(subject: Subject) -> Finding:
    """L1.2: values have the declared types, rewards are finite and returns lie in their range."""
    low, high = subject.interface.reward_range
    traces = subject.plain_episodes(subject.edge_levels, subject.seeds[:3])
    traces += subject.plain_episodes(subject.levels, subject.seeds[:2])
    for trace in traces:
        fault = trace.fault
        if fault is not None and (fault.kind == "contract" or fault.op != "step"):
            mend = "return plain finite values" if fault.kind == "contract" else "it must not fail"
            return failed(f"{fault_text(trace)}; {mend}", **trace.evidence())
        if not low - RETURN_TOLERANCE <= trace.total <= high + RETURN_TOLERANCE:
            return failed(
                f"a return of {trace.total:g} lies outside reward_range ({low:g}, {high:g})",
                **trace.evidence(),
            )
        if not all(math.isfinite(got.reward) for _, got in trace.steps):
            return failed("a reward is not finite", **trace.evidence())
        if high > 0 and trace.boasts:
            return failed(BOASTS, **trace.evidence())
    return _bad_hint(subject) or passed(f"{len(traces)} episodes return well-formed values")


def _bad_hint(subject: Subject) -> Finding | None:
    if not subject.interface.has_hint:
        return None
    lane, seed = subject.plain, subject.seeds[0]
    jobs = [Job(level, seed, script(())) for level in subject.levels]
    for live in lane.begin(jobs, fresh=False):
        hint = live.start.fault or lane.worker.hint(live.instance)
        level = live.job.level
        if isinstance(hint, Fault):
            lane.note(Trace(level, seed, replace(live.start, fault=hint)))
            return failed(f"hint() fails at level {level}: {hint.message}", fault=hint.as_json())
        if not hint.strip():
            return failed(f"hint() is empty at level {level}; give the way, not the answer")
        live.close()
    return None


def survives_any_text(subject: Subject) -> Finding:
    """L1.3: no string makes a step raise, hang or crash."""
    strings = hostile(subject.interface)
    jobs = []
    for level in subject.edge_levels:
        if level == 0 or subject.depth == "deep":
            jobs += [Job(level, subject.seeds[0], script((text,))) for text in strings]
        for seed in subject.seeds[:5]:
            jobs.append(Job(level, seed, _shuffled(strings), "hostile"))
    # Values of a wrong type are L1.2's; they count here only if a hostile string brings them out.
    known = any(_is_contract(trace) for trace in subject.plain.faults)
    broken = [
        trace
        for trace in subject.plain.run(jobs, fresh=False, most=CAREFUL_BATCH)
        if trace.fault is not None and not (known and _is_contract(trace))
    ]
    if broken:
        shortest = min(broken, key=lambda trace: sum(map(len, trace.actions)))
        return failed(
            f"{fault_text(shortest)}; answer any text with an observation",
            broken=len(broken),
            played=len(jobs),
            **shortest.evidence(),
        )
    return passed(f"{len(jobs)} episodes of hostile text are survived", played=len(jobs))


def _is_contract(trace: Trace) -> bool:
    return trace.fault is not None and trace.fault.kind == "contract"


def _shuffled(strings: tuple[str, ...]) -> Policy:
    return lambda view: view.rng.choice(strings)


def always_ends(subject: Subject) -> Finding:
    """L1.4: every episode ends within max_turns, whatever the agent does."""
    limit = subject.interface.max_turns
    ways: list[tuple[str, Policy]] = [
        ("repeats itself", constant(boxed("3"))),
        ("echoes", echo_last),
        ("acts at random", random_grammar),
    ]
    jobs = [
        Job(level, seed, policy, name)
        for level in subject.edge_levels
        for name, policy in ways
        for seed in subject.seeds[: 2 if policy is random_grammar else 1]
    ]
    silent = subject.silent_episodes(subject.edge_levels, subject.seeds[:1])
    played = [("says nothing", trace) for trace in silent]
    traces = subject.plain.run(jobs, fresh=False)
    played += [(job.name, trace) for job, trace in zip(jobs, traces, strict=True)]
    for name, trace in played:
        if trace.fault is not None:
            continue  # judged by L1.2 and L1.3
        if not trace.done or len(trace.steps) > limit:
            return failed(
                f"after {len(trace.steps)} turns the episode of an agent that {name} has not "
                f"ended; end it within max_turns = {limit}",
                **trace.evidence(),
            )
    message = f"every episode ends within {limit} turns"
    cut = sum(_cut_off(trace, limit) for _, trace in played)
    if not subject.trusted_imports or not cut:
        return passed(message, played=len(played))
    message += f"; {cut} of {len(played)} only because the wrapper stops them there"
    return passed(message, played=len(played), cut_off=cut)


def _cut_off(trace: Trace, limit: int) -> bool:
    """Whether an episode was truncated at the limit, as the wrapper of a library's game does."""
    return len(trace.steps) == limit and trace.done and not trace.steps[-1][1].terminated


def steps_after_end(subject: Subject) -> Finding:
    """L1.5: a step after the end raises, or earns nothing and stays ended."""
    lane = subject.plain
    level, seed = subject.levels[-1], subject.seeds[0]
    ways: list[tuple[str, ...]] = [("no",) * lane.most_steps, (boxed("3"),) * lane.most_steps]
    reference = subject.solution(level, seed) if subject.has_reference else ()
    if not isinstance(reference, Fault) and reference:
        ways.insert(0, reference)
    jobs = [Job(level, seed, script(actions)) for actions in ways]
    running = lane.begin(jobs, fresh=False)
    lane.play(running)
    for live, actions in zip(running, ways, strict=True):
        offence = _after_end(live, actions)
        if offence is None:
            continue
        message = "a step after the end pays or revives the episode"
        if subject.interface.api == "published-1":
            mend = "pay nothing once it is over (whoever plays a published shape stops by itself)"
            return warned(f"{message}; {mend}", **offence.evidence())
        mend = "raise gymnasium.error.ResetNeeded, as the step() of TextEnv does by itself"
        return failed(f"{message}; {mend}", **offence.evidence())
    return passed("a step after the end is refused")


def _after_end(live: Live, actions: tuple[str, ...]) -> Trace | None:
    """Return the episode that was played to its end if a further step pays or revives it."""
    if not live.trace().done:
        live.close()
        return None
    found = None
    for action in (live.steps[-1][0], actions[0], "again"):
        outcome = live.step(action)
        if outcome.fault is not None:
            break
        if outcome.reward != 0.0 or not outcome.done:
            found = live.trace()
            break
    live.close()
    return found
