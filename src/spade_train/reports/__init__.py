"""Pages about finished, killed and running runs, and the JSON behind them (docs/studies.md)."""

from spade_train.reports.document import document
from spade_train.reports.page import render, write_page
from spade_train.reports.record import RunRecord, read

__all__ = ["RunRecord", "document", "read", "render", "write_page"]
