"""Whether a report certifies a version, as far as it says so itself."""

from __future__ import annotations

from collections.abc import Iterator

from spade_envs._version import GATES_VERSION
from spade_envs.types import Report


def is_known(gates_version: str) -> bool:
    """Whether this release knows a version of the gates: its own, or an older one."""
    plain = gates_version.isascii() and gates_version.isdecimal() and gates_version[0] != "0"
    return plain and len(gates_version) < 10 and int(gates_version) <= int(GATES_VERSION)


def unknown_gates(gates_version: str) -> str:
    """Return what to say of a version of the gates that is not known."""
    return (
        f"names version {gates_version!r} of the gates, which this release (version "
        f"{GATES_VERSION}) does not know; a newer release may, or check the source anew"
    )


def flaws(report: Report, source_sha256: str) -> Iterator[str]:
    """Yield why a report does not certify the source of this sha256; nothing if it does.

    Which verdicts a report must hold is for the gates to say (`gates.certificate`).
    """
    if not report.results:
        yield "holds no gate's verdict"
    if not report.accepted:
        yield "does not admit the source"
    if report.source_sha256 != source_sha256:
        yield "belongs to another source"
    if not is_known(report.gates_version):
        yield unknown_gates(report.gates_version)
    if any(layer.startswith("weakened") for layer in report.layers):
        yield "comes from a weakened worker, and no store holds such a version"
