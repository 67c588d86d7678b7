"""Run the gates on targets, several at a time, each in the strictest sandbox that it can stand."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

from spade_envs.errors import IsolationUnavailable, SandboxError
from spade_envs.gates import check
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.subject import Depth
from spade_envs.gates.table import GATES_VERSION
from spade_envs.interop.known import earlier_files, glance, strangers
from spade_envs.interop.target import Library, Target
from spade_envs.sandbox import Sandbox, open_sandbox
from spade_envs.types import EnvSource, Fault, Limits, Report

logger = logging.getLogger(__name__)

LIBRARY_LIMITS = Limits(
    load_timeout_s=30.0, reset_timeout_s=15.0, step_timeout_s=10.0, memory_mb=1024
)
"""Libraries are larger than single files; a timeout still ends them."""
_TRIAL_SEEDS = (0, 1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A target and what came of it. Either `report` or `error` is set."""

    target: Target
    report: Report | None = None
    error: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the gates accept it."""
        return self.report is not None and self.report.accepted

    @property
    def weakened(self) -> bool:
        """Whether it ran with less isolation than our own environments do."""
        layers = self.report.layers if self.report is not None else ()
        return any(layer.startswith("weakened") for layer in layers)


def check_target(
    target: Target,
    *,
    depth: Depth = "standard",
    seeds: int = 20,
    deadline_s: float = 120.0,
    known: Sequence[Fingerprint] = (),
    into: Sequence[Fingerprint] = (),
    evaluation: Sequence[str] = (),
) -> Checked:
    """Return the gates' verdict on one target; see `gates.check` for the settings.

    It is compared with what is `known`, and with what the store holds that it is meant `into`, but
    for its own entry (`known.strangers`).

    A library runs under every layer if it can. If it fails there because it reads its own files
    or starts threads, it runs in a weaker, still killable worker, and the report's layers say so.

    Raises:
        IsolationUnavailable: no sandbox can be started here.
    """
    if target.source is None:
        return Checked(target=target, error=target.error)
    library = target.library
    settings: Any = {
        "depth": depth,
        "seeds": seeds,
        "deadline_s": deadline_s,
        "known": strangers(target, known, into),
        "evaluation": evaluation,
        "certificate": _in_force(target.certificate),
    }
    if library is None:
        report = _with_reason(check(target.source, **settings), target.certificate)
        return Checked(target=target, report=report)
    try:
        weaker, problem = _choose(target.source, library, may_weaken=target.may_weaken)
        if problem:
            return Checked(target=target, error=f"no episode can be started here: {problem}")
        report = check(
            target.source,
            sandbox=_host(library, weaker=weaker),
            elsewhere=_host(library, weaker=weaker, elsewhere=True),
            limits=LIBRARY_LIMITS,
            trusted_imports=library.modules,
            **settings,
        )
    except IsolationUnavailable:
        raise
    except SandboxError as error:
        return Checked(target=target, error=str(error))
    return Checked(target=target, report=_with_reason(report, target.certificate))


def _with_reason(report: Report, certificate: Report | None) -> Report:
    """Return the report with the true reason why L5.3 had no certificate to judge."""
    if certificate is None or _in_force(certificate) is not None:
        return report
    message = (
        f"its certificate is of version {certificate.gates_version} of the gates, and these are "
        f"version {GATES_VERSION}; import it into its store to certify it anew"
    )
    results = [
        replace(result, message=message)
        if result.gate == "L5.3" and result.message.startswith("no certificate")
        else result
        for result in report.results
    ]
    return replace(report, results=tuple(results))


def _in_force(certificate: Report | None) -> Report | None:
    """Return a certificate of the gates that run here; an older one binds nobody any more."""
    return certificate if certificate and certificate.gates_version == GATES_VERSION else None


def check_all(
    targets: Sequence[Target],
    *,
    jobs: int = 2,
    depth: Depth = "standard",
    seeds: int = 20,
    deadline_s: float = 120.0,
    known: Sequence[Fingerprint] = (),
    into: Sequence[Fingerprint] = (),
    evaluation: Sequence[str] = (),
) -> Generator[tuple[int, Checked]]:
    """Check many targets and yield each with its position, as it is done.

    A file is also compared with the files before it (`known.earlier_files`).

    Args:
        targets: what to check.
        jobs: how many are checked at a time, >= 1.
        depth: see `gates.check`.
        seeds: see `gates.check`.
        deadline_s: for each target.
        known: see `gates.check`.
        into: see `check_target`.
        evaluation: see `gates.check`.

    Raises:
        IsolationUnavailable: no sandbox can be started here.
    """
    glances = [glance(target) for target in targets]

    def one(position: int) -> Checked:
        return check_target(
            targets[position],
            depth=depth,
            seeds=seeds,
            deadline_s=deadline_s,
            known=(*known, *earlier_files(glances, position)),
            into=into,
            evaluation=evaluation,
        )

    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="check")
    try:
        futures = {pool.submit(one, position): position for position in range(len(targets))}
        for future in as_completed(futures):
            position = futures[future]
            error = future.exception()
            if error is None:
                yield position, future.result()
            elif isinstance(error, IsolationUnavailable) or not isinstance(error, Exception):
                raise error
            else:
                # One source that breaks a gate or its sandbox must not cost the others their run.
                logger.error("checking %s failed", targets[position].label, exc_info=error)
                why = f"the check itself failed: {type(error).__name__}: {error}"
                yield position, Checked(target=targets[position], error=why)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)  # what is under way ends by its deadline
        raise
    pool.shutdown(wait=True)


_hosts: dict[tuple[object, ...], Sandbox] = {}
_hosts_lock = threading.Lock()


def _host(library: Library, *, weaker: bool, elsewhere: bool = False) -> Sandbox:
    """Return the process-wide sandbox for a library; `elsewhere` gives the other hash seed."""
    key = (library.modules, library.extra_path, weaker, elsewhere)
    with _hosts_lock:
        if key not in _hosts:
            moved = {"hash_seed": 4242, "timezone": "NPT-5:45", "working_dir": "/elsewhere"}
            _hosts[key] = open_sandbox(
                libraries=library.modules,
                extra_path=library.extra_path,
                weaker=weaker,
                **(moved if elsewhere else {}),
            )
        return _hosts[key]


def _choose(source: EnvSource, library: Library, *, may_weaken: bool) -> tuple[bool, str]:
    """Return whether the weaker worker is needed, and why nothing can be played at all.

    It is needed if a short play fails under every layer, on a machine that has the weaker worker.
    """
    clean, problem = _try(_host(library, weaker=False), source)
    if clean or not may_weaken:
        return False, problem
    try:
        return True, _try(_host(library, weaker=True), source)[1]
    except IsolationUnavailable:
        return False, problem


def _try(sandbox: Sandbox, source: EnvSource) -> tuple[bool, str]:
    """Play a little; gives whether no fault occurred, and why no episode could be started."""
    worker = sandbox.load(source, limits=LIBRARY_LIMITS)
    if isinstance(worker, Fault):
        return False, worker.message
    with worker:
        instance = worker.create(0)
        if isinstance(instance, Fault):
            return False, instance.message
        starts = [worker.reset([(instance, seed, None)])[0] for seed in _TRIAL_SEEDS]
        faults = [start.fault for start in starts if start.fault is not None]
        if len(faults) == len(starts):
            return False, faults[0].message
        worker.reset([(instance, _TRIAL_SEEDS[0], None)])
        return not faults and worker.step([(instance, "1")])[0].fault is None, ""
