"""From a configuration and a folder to a run: everything wired together."""

from spade_train.launch.book import Watch
from spade_train.launch.heldout import open_heldout, write_heldout
from spade_train.launch.run import look_for, train
from spade_train.launch.summary import Summary, summarise, write_summary

__all__ = [
    "Summary",
    "Watch",
    "look_for",
    "open_heldout",
    "summarise",
    "train",
    "write_heldout",
    "write_summary",
]
