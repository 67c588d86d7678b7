"""Family L0: what the source says, and whether it keeps to what it may do."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from spade_envs.api.published_names import forgotten
from spade_envs.gates.finding import (
    MAX_EXAMPLES,
    Finding,
    counted,
    failed,
    fault_text,
    passed,
    skipped,
    warned,
)
from spade_envs.gates.lane import Job, Lane
from spade_envs.gates.policies import script
from spade_envs.gates.subject import RNG_CODE, Subject
from spade_envs.gates.thresholds import MAX_SOURCE_BYTES
from spade_envs.gates.trace import Trace, clip, first_difference
from spade_envs.sandbox.policy import LintFinding
from spade_envs.types import Fault, Json


def parses(subject: Subject) -> Finding:
    """L0.1: parses without warnings, loads, and holds one fully described environment class."""
    tree = _compiled(subject.source.code)
    if isinstance(tree, Finding):
        return tree
    refused = [item for item in subject.lint(tree) if item.code != RNG_CODE]
    lane = subject.loaded
    if isinstance(lane, Fault):
        if refused:
            return passed("parsed; it does not load, see L0.2 for what it may not do")
        at = f" ({lane.traceback.strip().splitlines()[-1].strip()})" if lane.traceback else ""
        return failed(
            f"the source does not load: {lane.message}{at}",
            fault={**lane.as_json(), "traceback": clip(lane.traceback, 2000)},
        )
    interface = lane.worker.interface
    published = interface.api == "published-1"
    missing = forgotten(ast.parse(subject.source.code)) if published else ()
    if missing:
        return warned(f"it uses {', '.join(missing)} without importing them; they were supplied")
    if interface.api == "spade-1" and not interface.summary:
        return failed(
            f"class {interface.entry} has no docstring; say in its first line what the agent does"
        )
    if not interface.has_hint and interface.api == "spade-1":
        return warned(f"class {interface.entry} has no hint(); regret cannot be measured")
    return passed(
        f"one {interface.kind} environment, {counted(interface.levels, 'level')}, "
        f"at most {counted(interface.max_turns, 'turn')}",
        entry=interface.entry,
    )


def _compiled(code: str) -> ast.Module | Finding:
    """Return the tree of a source that compiles, or what is wrong with it."""
    try:
        size = len(code.encode("utf-8"))
        if size > MAX_SOURCE_BYTES:
            return failed(f"the source has {size} bytes; at most {MAX_SOURCE_BYTES} are allowed")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tree = ast.parse(code)
            compile(tree, "<environment>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return failed(f"line {error.lineno}: {error.msg}", line=error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return failed(f"the source cannot be compiled: {type(error).__name__}: {error}")
    if caught:
        first = caught[0]
        return failed(
            f"line {first.lineno}: {first.message}; remove what the warning is about",
            line=first.lineno,
        )
    return tree


def allowed_code(subject: Subject) -> Finding:
    """L0.2: only allowed imports and names, also at run time; plays alike when restricted."""
    refused = [item for item in subject.findings if item.code != RNG_CODE]
    if refused:
        return _lint_failure(refused)
    if isinstance(subject.loaded, Fault):
        return skipped("the source does not load")
    plain = [trace for _, trace in _samples(subject)]
    events = _audit(subject)
    if events and not subject.trusted_imports:
        return failed(_did(events), events=events[:MAX_EXAMPLES])
    if subject.depth == "quick":
        return passed("no findings; the restricted run is left out of a quick check")
    subject.allow_copies()
    lane = subject.lane("restricted")
    if isinstance(lane, Fault):
        return failed(
            f"the restricted policy refuses the source: {lane.message}", fault=lane.as_json()
        )
    for one, other in zip(plain, _replayed(subject, lane), strict=True):
        difference = first_difference(one, other)
        if difference and lane.may_copy:
            lane.may_copy = False
            difference = first_difference(one, _replayed(subject, lane)[plain.index(one)])
        if difference:
            if not _repeats_itself(subject):
                break  # which is L2.1's to say
            return failed(
                "the restricted run differs from the plain run; use plain language features only",
                difference=difference,
            )
    if events:
        return warned(_did(events), events=events[:MAX_EXAMPLES])
    return passed(f"no findings, and {len(plain)} restricted episodes equal the plain ones")


def _did(events: Sequence[Mapping[str, Json]]) -> str:
    first = events[0]
    return (
        f"while running, the environment did {first['event']} ({first['detail']}); "
        "an environment computes only"
    )


def own_randomness(subject: Subject) -> Finding:
    """L0.3: no process-wide randomness, clock, hash or address is used."""
    findings = [item for item in subject.findings if item.code == RNG_CODE]
    if findings:
        return _lint_failure(findings)
    if isinstance(subject.loaded, Fault):
        return skipped("the source does not load")
    subject.allow_copies()
    lane = subject.lane("elsewhere") if subject.one_poisoned else subject.lane("poisoned")
    if isinstance(lane, Fault) and subject.one_poisoned and "poison" not in lane.message.lower():
        lane = subject.lane("poisoned")  # it may be the other place that it does not load in
    if isinstance(lane, Fault):
        verdict = warned if subject.trusted_imports else failed
        return verdict(
            f"loading needs process-wide randomness or a clock: {lane.message}; "
            "draw from self.np_random in reset()",
            fault=lane.as_json(),
        )
    # Backwards, as in L2.1, whose lane this may be.
    for trace in _replayed(subject, lane, backwards=True):
        if trace.fault is not None and "poison" in trace.fault.message.lower():
            verdict = warned if subject.trusted_imports else failed
            return verdict(
                f"{fault_text(trace)}; draw from self.np_random only", **trace.evidence()
            )
    return passed("draws only from its own generator")


_LIBRARY_EVENTS = (
    "open", "import", "marshal.loads", "os.listdir", "os.scandir", "_thread.", "gc.", "code.",
)  # fmt: skip
"""What a trusted library may do; the worker's Landlock rules bound what it can open."""


def _samples(subject: Subject) -> list[tuple[tuple[str, ...], Trace]]:
    found = []
    for level in subject.edge_levels:
        found += subject.samples(level, subject.seeds[:1])
    return found


def _repeats_itself(subject: Subject) -> bool:
    """Whether plain runs equal each other, together and one by one."""
    kept = _samples(subject)
    again = zip(kept, _replayed(subject, subject.plain), strict=True)
    together = all(one.key() == other.key() for (_, one), other in again)
    return together and all(subject.reproduces(*pair) for pair in kept)


def _replayed(subject: Subject, lane: Lane, *, backwards: bool = False) -> list[Trace]:
    """Play the samples again in another lane, the highest level first if `backwards`."""
    jobs = [Job(trace.level, trace.seed, script(actions)) for actions, trace in _samples(subject)]
    return lane.run(jobs[::-1])[::-1] if backwards else lane.run(jobs)


def _lint_failure(findings: Sequence[LintFinding]) -> Finding:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    rows: list[Json] = [
        {"line": item.line, "code": item.code, "message": item.message} for item in findings[:50]
    ]
    return failed(f"line {first.line}: {first.message}{more}", findings=rows)


def _audit(subject: Subject) -> list[dict[str, Json]]:
    lane = subject.plain
    instance = lane.take(0)
    if isinstance(instance, Fault):
        return []
    found = lane.worker.probe(instance, "audit", {})
    lane.give(0, instance, keep=False)
    events = [] if isinstance(found, Fault) else list(found)
    if subject.trusted_imports:
        events = [item for item in events if not item["event"].startswith(_LIBRARY_EVENTS)]
    return events
