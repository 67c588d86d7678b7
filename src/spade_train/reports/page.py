"""The HTML page of a run: one file without scripts, links to elsewhere, or anything to load."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import jinja2
from markupsafe import Markup

from spade_envs._version import __version__
from spade_envs.reports.page import environment
from spade_envs.store.files import replace_file
from spade_train.config import to_toml
from spade_train.reports.figures import figures, sentences
from spade_train.reports.panels import Panel, panels
from spade_train.reports.plots import draw, percent
from spade_train.reports.record import RunRecord
from spade_train.reports.samples import samples


def render(record: RunRecord, *, made_at: str) -> str:
    """Return the page of a run as one HTML document.

    Args:
        record: the run.
        made_at: when the page was made, as text for people.

    Raises:
        MissingExtra: matplotlib is not installed; the message holds the command.
    """
    found = figures(record)
    return (
        templates()
        .get_template("run.html")
        .render(
            made_at=made_at,
            version=__version__,
            record=record,
            found=found,
            words=sentences(found),
            state=_state(record),
            plots=drawn(panels(record)),
            samples=samples(record),
            config=to_toml(record.config, comments=False),
        )
    )


def templates() -> jinja2.Environment:
    """Return the template engine with the filters of these pages."""
    engine = environment("spade_train.reports")
    engine.filters["percent1"] = percent
    return engine


def drawn(given: Iterable[Panel]) -> list[tuple[Panel, Markup]]:
    """Return each panel with its plot; an empty one where there is nothing to draw."""
    return [(panel, draw(panel)) for panel in given]


def write_page(path: Path, page: str) -> None:
    """Write a page so that it is there whole or not at all; folders above it are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.parent, path, page.encode("utf-8", "replace"))


def _state(record: RunRecord) -> str:
    updates, planned = record.updates, record.planned_updates
    done = f"{updates} of {planned} updates"
    again = f", taken up again {record.resumes} times" if record.resumes > 1 else ""
    again = ", taken up again once" if record.resumes == 1 else again
    if record.time_over:
        return f"{updates} of at most {planned} updates; ended: its time was over{again}"
    if record.stopped:
        return f"{done}; ended: {record.stopped}{again}"
    if not updates:
        return f"no update is finished yet{again}"
    return f"{done}; it is being trained, or was killed{again}"
