"""`check`: run the gates on one source and report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from spade_envs.gates.context import Context, Fingerprint
from spade_envs.gates.finding import failed, fault_text, skipped
from spade_envs.gates.lane import OutOfTimeError, StalledError
from spade_envs.gates.policies import Policy
from spade_envs.gates.ports import SandboxPort
from spade_envs.gates.rubbish import rarely_collected
from spade_envs.gates.subject import Depth, Subject
from spade_envs.gates.table import GATES, GATES_VERSION, LIMITS_GATE, Gate
from spade_envs.gates.thresholds import CERTIFY_SEEDS
from spade_envs.sandbox import default_sandbox, open_sandbox
from spade_envs.types import EnvSource, Fault, GateResult, Limits, Report

QUICK_SEEDS = 5
HANG_GATES = frozenset({"L1.3", "L1.4"})
"""Gates that are about hanging: a broken time limit counts against them themselves."""


def check(
    source: EnvSource,
    *,
    sandbox: SandboxPort | None = None,
    elsewhere: SandboxPort | None = None,
    limits: Limits | None = None,
    depth: Depth = "standard",
    seeds: int = 20,
    deadline_s: float = 120.0,
    trusted_imports: tuple[str, ...] = (),
    known: Sequence[Fingerprint] = (),
    evaluation: Sequence[str] = (),
    certificate: Report | None = None,
    agent: Policy | None = None,
    progress: Callable[[GateResult], None] | None = None,
) -> Report:
    """Return every gate's verdict on a source.

    Gates run in the order of `GATES`. After a family with a failure the rest is left out, except
    in a deep check, and the report is not `complete`.

    Args:
        source: what to check.
        sandbox: where to run it; by default the process-wide one.
        elsewhere: a sandbox with another hash seed, time zone and folder; by default a shared one.
        limits: resources of the workers.
        depth: `quick` runs the gates that find most, at the lowest and the highest level, with 5
            seeds; `deep` runs every gate, and all levels everywhere.
        seeds: seeds per level, >= 3.
        deadline_s: time after which the remaining gates are skipped. A call into the environment
            that is under way may still use up its own time limit.
        trusted_imports: installed modules that the source may import, and no others; `sandbox` and
            `elsewhere` must have been opened with them as `libraries`. That the library uses
            process-wide randomness or leaves traces in the process is then a warning: whether it
            matters is for the gates that compare episodes to say.
        known: fingerprints of environments that this one must not repeat, without its own.
        evaluation: texts of evaluation tasks that must not occur in it.
        certificate: an earlier report on it, which must still hold.
        agent: a policy, such as a model, to measure the hint's worth with.
        progress: called with each result as it is known.

    Raises:
        ValueError: `seeds` is below 3.
        IsolationUnavailable: no sandbox can be started here.
    """
    if seeds < 3:
        raise ValueError(f"seeds must be >= 3, not {seeds}")
    begun = time.monotonic()
    subject = Subject(
        source=source,
        sandbox=sandbox or default_sandbox(),
        elsewhere=(lambda: elsewhere) if elsewhere is not None else other_sandbox,
        limits=limits or Limits(),
        depth=depth,
        seed_count=QUICK_SEEDS if depth == "quick" else seeds,
        deadline=begun + deadline_s,
        trusted_imports=trusted_imports,
        context=Context(tuple(known), tuple(evaluation), certificate, agent, GATES_VERSION),
    )
    return _judged(subject, progress, begun)


@rarely_collected()
def _judged(
    subject: Subject, progress: Callable[[GateResult], None] | None, begun: float
) -> Report:
    try:
        for result in _results(subject):
            subject.results.append(result)
            if progress is not None:
                progress(result)
        return _report(subject, subject.results, begun)
    finally:
        subject.close()


def _report(subject: Subject, results: Sequence[GateResult], begun: float) -> Report:
    lane = subject.loaded
    done = {result.gate for result in results if not _unfinished(result)}
    return Report(
        source_sha256=subject.source.sha256,
        gates_version=GATES_VERSION,
        interface=None if isinstance(lane, Fault) else lane.worker.interface,
        results=tuple(results),
        layers=() if isinstance(lane, Fault) else tuple(lane.worker.layers),
        elapsed_s=round(time.monotonic() - begun, 4),
        complete=subject.seed_count >= CERTIFY_SEEDS and done == {gate.id for gate in GATES},
    )


def _results(subject: Subject) -> Iterator[GateResult]:
    failed_family = ""
    for gate in GATES:
        if failed_family and (gate.family != failed_family and subject.depth != "deep"):
            return
        if subject.depth == "quick" and not gate.quick:
            yield gate.result(skipped(LEFT_OUT))
            continue
        try:
            if gate.family != "L0":
                subject.allow_copies()
            result = gate(subject)
        except OutOfTimeError:
            yield gate.result(skipped(OUT_OF_TIME))
            return
        except StalledError as stalled:
            yield from _stalled(gate, stalled)
            return
        yield result
        if result.outcome == "fail" and gate.stops:
            failed_family = gate.family
        if gate.id == "L0.3" and isinstance(subject.loaded, Fault):
            return


def _stalled(gate: Gate, stalled: StalledError) -> Iterator[GateResult]:
    text = f"{fault_text(stalled.trace)}; bound every loop"
    finding = failed(text, **stalled.trace.evidence())
    if gate.id in HANG_GATES or gate is LIMITS_GATE:
        yield gate.result(finding)
        return
    yield gate.result(skipped(f"{STALLED} {LIMITS_GATE.id}"))
    yield LIMITS_GATE.result(finding)


LEFT_OUT = "left out of a quick check"
OUT_OF_TIME = "the deadline of the whole check has passed"
STALLED = "the environment broke a time limit, see"


def _unfinished(result: GateResult) -> bool:
    return result.outcome == "skip" and result.message.startswith((OUT_OF_TIME, STALLED))


_other: SandboxPort | None = None
_other_lock = threading.Lock()


def other_sandbox() -> SandboxPort:
    """Return the process-wide sandbox with another hash seed, time zone and folder."""
    global _other
    with _other_lock:
        if _other is None:
            _other = open_sandbox(hash_seed=4242, timezone="NPT-5:45", working_dir="/elsewhere")
        return _other
