"""A run on disk: its folder, its append-only records, its checkpoints and its sinks."""

from spade_train.runs.budget import Spent
from spade_train.runs.checkpoint import Checkpoint, Checkpoints, Stage
from spade_train.runs.directory import RunDir
from spade_train.runs.records import Events, Metrics, effective, read_events, read_metrics
from spade_train.runs.sinks import Sink, open_sinks

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "Events",
    "Metrics",
    "RunDir",
    "Sink",
    "Spent",
    "Stage",
    "effective",
    "open_sinks",
    "read_events",
    "read_metrics",
]
