"""Register what passed, with where it came from."""

from __future__ import annotations

from spade_envs.errors import NotCertified
from spade_envs.interop.frameworks import library_of
from spade_envs.interop.run import Checked
from spade_envs.store import EnvStore
from spade_envs.types import Record


def refusal(checked: Checked) -> str:
    """Return why a checked target cannot be brought into a store; empty if it can."""
    report, target = checked.report, checked.target
    if report is None:
        return checked.error
    if (first := report.gravest) is not None:
        return f"{first.gate}: {first.message}"
    if not report.accepted:
        return "the gates did not all run"
    if checked.weakened:
        return "it runs only in a weakened worker, which no store may ask for"
    if target.library is not None and (
        target.source is None or library_of(target.source) != target.library
    ):
        return f"it needs {target.library.modules[0]}, which no store may ask for"
    return ""


def bring(checked: Checked, store: EnvStore, *, licence: str | None = None) -> Record:
    """Register an accepted target and return its record.

    Args:
        checked: a target with its report.
        store: where to.
        licence: SPDX identifier; what is known of the target by default.

    Raises:
        NotCertified: it cannot be brought in; the message says why.
        StoreError: the store cannot be written to.
    """
    reason = refusal(checked)
    source, report = checked.target.source, checked.report
    if reason or source is None or report is None:
        raise NotCertified(f"{checked.target.label}: {reason}")
    library = checked.target.library
    author = f"{library.name} {library.version}".strip() if library is not None else None
    origin = "".join(char if char.isprintable() else "?" for char in checked.target.label)[:300]
    return store.add(
        source,
        report,
        {"method": "imported", "author": author, "run": origin},
        name=checked.target.name,
        title=checked.target.title,
        licence=licence or checked.target.licence,
    )
