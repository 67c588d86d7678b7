"""What a run came to, in one value and one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spade_envs.store.files import replace_file
from spade_envs.types import Json
from spade_train.runs import effective, read_events, read_metrics

SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run came to."""

    folder: str
    updates: int
    """Updates that are done."""
    stopped: str
    """Why it ended, such as `updates`, `budget: agent_episodes`, `signal SIGTERM`, `health: ...`;
    empty if nobody knows."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of all updates by what was done; `wall_s` is the whole."""
    outside_model: float = 0.0
    """Share of the wall time that was not spent in the model, in [0, 1]."""
    last: Mapping[str, float] = field(default_factory=dict)
    """The last value of every metric."""


def summarise(folder: Path) -> Summary:
    """Return what the records of a run say so far.

    Raises:
        StateError: a whole line of a record is damaged.
    """
    events = effective(read_events(folder / "events.jsonl"))
    last: dict[str, float] = {}
    for line in read_metrics(folder / "metrics.jsonl"):
        last |= {key: value for key, value in line.items() if key != "update"}
    seconds = _sums(event for event in events if event["kind"] == "times")
    wall_s = seconds.get("wall_s", 0.0)
    model_s = seconds.get("model_s", 0.0)
    reasons = [str(event["why"]) for event in events if event["kind"] == "stopped"]
    return Summary(
        folder=str(folder),
        updates=sum(event["kind"] == "times" for event in events),
        stopped=reasons[-1] if reasons else "",
        seconds=seconds,
        outside_model=round(max(0.0, 1.0 - model_s / wall_s), 4) if wall_s else 0.0,
        last=last,
    )


def write_summary(summary: Summary) -> Path:
    """Write `summary.json` into the run's folder and return its path."""
    folder = Path(summary.folder)
    values: Json = asdict(summary)
    del values["folder"]  # a run may be moved
    replace_file(folder, folder / SUMMARY, json.dumps(values, indent=1, sort_keys=True).encode())
    return folder / SUMMARY


def _sums(events: Iterable[Mapping[str, Json]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for event in events:
        for key, value in event.items():
            if key.endswith("_s") and key != "unix_s":
                sums[key] = round(sums.get(key, 0.0) + value, 4)
    return dict(sorted(sums.items()))
