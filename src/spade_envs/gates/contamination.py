"""Whether an environment that passed its gates holds evaluation tasks: gate L5.2 by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence

from spade_envs.gates.check import OUT_OF_TIME, STALLED, other_sandbox
from spade_envs.gates.context import Context
from spade_envs.gates.finding import failed, skipped
from spade_envs.gates.lane import OutOfTimeError, StalledError
from spade_envs.gates.ports import SandboxPort
from spade_envs.gates.subject import Subject
from spade_envs.gates.table import GATES
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource, Fault, GateResult, Limits

GATE = "L5.2"


def check_contamination(
    source: EnvSource,
    texts: Sequence[str],
    *,
    sandbox: SandboxPort | None = None,
    limits: Limits | None = None,
    seeds: int = 20,
    deadline_s: float = 60.0,
) -> GateResult:
    """Return what L5.2 says of an environment and the texts of evaluation tasks.

    Args:
        source: of an environment that passed its gates.
        texts: what the tasks show; short ones of few words say nothing.
        sandbox: where the environment runs; by default the process-wide one.
        limits: resources of its worker.
        seeds: instances per level whose first observations are looked at, >= 1.
        deadline_s: time after which it is skipped.

    Raises:
        IsolationUnavailable: no sandbox can be started here.
    """
    (gate,) = (each for each in GATES if each.id == GATE)
    subject = Subject(
        source=source,
        sandbox=sandbox or default_sandbox(),
        elsewhere=other_sandbox,
        limits=limits or Limits(),
        seed_count=seeds,
        deadline=time.monotonic() + deadline_s,
        context=Context(evaluation=tuple(texts)),
    )
    try:
        if isinstance(subject.loaded, Fault):
            return gate.result(failed(f"the environment does not load: {subject.loaded.message}"))
        return gate(subject)
    except OutOfTimeError:
        return gate.result(skipped(OUT_OF_TIME))
    except StalledError:
        return gate.result(skipped(f"{STALLED} L1.7"))
    finally:
        subject.close()
