"""The HTML page of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spade_envs._version import __version__
from spade_envs.reports.page import environment
from spade_train.reports import RunRecord
from spade_train.reports.figures import duration
from spade_train.reports.page import drawn
from spade_train.studies.comparison import Comparison, count, plain, points, share, verdicts
from spade_train.studies.curves import study_panels
from spade_train.studies.statistics import Interval


def render(
    found: Comparison, records: Mapping[str, Sequence[RunRecord]], *, title: str, made_at: str
) -> str:
    """Return the page of a study as one HTML document.

    Args:
        found: its table.
        records: the finished runs of every arm.
        title: of the page.
        made_at: when the page was made, as text for people.

    Raises:
        MissingExtra: matplotlib is not installed; the message holds the command.
    """
    engine = environment("spade_train.studies", "spade_train.reports")
    engine.filters.update(
        share=share, figure=plain, count=count, points=_points, duration=_duration
    )
    return engine.get_template("study.html").render(
        title=title,
        made_at=made_at,
        version=__version__,
        found=found,
        words=verdicts(found),
        plots=drawn(study_panels(records)),
    )


def _points(value: Interval | None) -> str:
    return "–" if value is None else points(value)


def _duration(value: Interval | None) -> str:
    return "–" if value is None else duration(value.mean)
