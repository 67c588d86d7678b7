"""The JSON of a run; docs/run-report.schema.json is its schema."""

from __future__ import annotations

from typing import Any

import msgspec

from spade_envs.types import Json
from spade_train.reports.figures import Figures, figures, sentences
from spade_train.reports.panels import TIME_PARTS
from spade_train.reports.record import RunRecord
from spade_train.reports.samples import Sample, samples
from spade_train.reports.series import number


class RunDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `spade-train report --json` prints."""

    format: int
    """1."""
    run: str
    """Id of the run."""
    name: str
    """Of its configuration."""
    seed: int
    resumes: int
    notes: tuple[str, ...]
    """What could not be read."""
    figures: Figures
    words: tuple[str, ...]
    """The figures as sentences."""
    series: dict[str, list[tuple[int, float]]]
    """Every metric as pairs of update and value, and `times/PART` in seconds."""
    samples: tuple[Sample, ...]


def document(record: RunRecord) -> dict[str, Json]:
    """Return a run as plain JSON values."""
    found = figures(record)
    made = RunDocument(
        format=1,
        run=record.run,
        name=record.config.name,
        seed=record.config.run.seed,
        resumes=record.resumes,
        notes=record.notes,
        figures=found,
        words=sentences(found),
        series=_series(record),
        samples=samples(record),
    )
    plain: dict[str, Json] = msgspec.to_builtins(made)
    return plain


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `document`."""
    found = msgspec.json.schema(RunDocument)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _series(record: RunRecord) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for line in record.metrics:
        for key, value in line.items():
            if key != "update" and number(value):
                found.setdefault(key, []).append((line["update"], float(value)))
    for event in record.of_kind("times"):
        for part in ("wall", *TIME_PARTS):
            value = event.get(f"{part}_s")
            if number(value):
                found.setdefault(f"times/{part}", []).append((event["update"], float(value)))
    return dict(sorted(found.items()))
