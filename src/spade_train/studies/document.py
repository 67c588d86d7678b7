"""The JSON of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from spade_envs.types import Json
from spade_train.studies.comparison import Comparison, verdicts
from spade_train.studies.outcome import Outcome


class StudyDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `spade-train compare --json` prints, and `compare.json` holds."""

    format: int
    """1."""
    confidence: float
    """Of all intervals; they are over seeds."""
    comparison: Comparison
    words: tuple[str, ...]
    runs: tuple[Outcome, ...]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `document`; docs/compare.schema.json holds it."""
    found = msgspec.json.schema(StudyDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def document(found: Comparison, outcomes: Sequence[Outcome]) -> dict[str, Json]:
    """Return a study as plain JSON values."""
    made = StudyDocument(
        format=1, confidence=0.95, comparison=found, words=verdicts(found), runs=tuple(outcomes)
    )
    plain: dict[str, Json] = msgspec.to_builtins(made)
    return plain
