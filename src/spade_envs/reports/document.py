"""The JSON of a run; docs/check-report.schema.json is its schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from spade_envs.audit import Audit
from spade_envs.gates import report_to_json
from spade_envs.reports.entry import Entry, Verdict
from spade_envs.types import Json, Report


class EntryDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `spade-envs check --json`."""

    target: str
    verdict: Verdict
    accepted: bool
    error: str | None
    library: str | None
    trusted_imports: tuple[str, ...]
    weakened: bool
    audit: Audit | None
    report: Report | None


def document(entries: Iterable[Entry]) -> list[Json]:
    """Return a run as plain JSON values: a list with one object for each target, in order."""
    return [_plain(entry) for entry in entries]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `document`."""
    found = msgspec.json.schema(list[EntryDocument])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _plain(entry: Entry) -> dict[str, Json]:
    return {
        "target": entry.label,
        "verdict": entry.verdict,
        "accepted": entry.checked.accepted,
        "error": entry.checked.error or None,
        "library": entry.library or None,
        "trusted_imports": list(entry.trusted_imports),
        "weakened": entry.checked.weakened,
        "audit": None if entry.audit is None else msgspec.to_builtins(entry.audit),
        "report": None if entry.report is None else report_to_json(entry.report),
    }
