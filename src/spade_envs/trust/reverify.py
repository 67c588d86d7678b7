"""The gates on an environment from elsewhere, run here before its first run."""

from __future__ import annotations

from spade_envs._version import GATES_VERSION
from spade_envs.errors import NotCertified
from spade_envs.gates.check import check
from spade_envs.manifest.canonical import FileStamp, digest_of, stamp
from spade_envs.store.layout import SOURCE
from spade_envs.types import EnvSource, Record, Report

DEADLINE_S = 600.0
"""Longer than elsewhere: a slow machine must not refuse what another one certified."""


def reverify(source: EnvSource, certificate: Report, record: Record) -> None:
    """Run all gates on a source, in the sandbox; return if they admit it as it was published.

    Args:
        source: the code.
        certificate: the report that came with it; held against what is measured if it is of the
            gates in force.
        record: names it, and gives the digest, which covers the interface.

    Raises:
        NotCertified: a gate refuses it, or it is another environment than its manifest says.
        IsolationUnavailable: no sandbox can be started here.
    """
    in_force = certificate if certificate.gates_version == GATES_VERSION else None
    report = check(source, certificate=in_force, deadline_s=DEADLINE_S)
    mend = f"Its certificate is not to be believed; take it out: spade-envs withdraw {record.id}"
    if not report.accepted:
        first = report.gravest
        why = f"{first.gate}: {first.message}" if first else "not every gate could be run"
        raise NotCertified(f"{record.id} does not pass the gates here ({why}). {mend}")
    code = source.code.encode("utf-8")
    files = {SOURCE: FileStamp(stamp(code).sha256, len(code))}
    if report.interface is None or digest_of(files, report.interface) != record.digest:
        raise NotCertified(f"{record.id} declares another interface than its manifest says. {mend}")
