"""The page of a `generate` run: what was made, what was refused and why, what it took."""

from __future__ import annotations

from spade_envs._version import __version__
from spade_envs.intervals import wilson
from spade_envs.pipeline.summary import Step, Summary
from spade_envs.reports.figures import Interval
from spade_envs.reports.page import environment

MAX_ROWS = 1000
"""Most environments in the table."""

STOPS = {
    "count": "as many as were wanted",
    "attempts": "all attempts are made",
    "tokens": "the budget of tokens leaves no room for another attempt",
    "usd": "the budget in dollars leaves no room for another attempt",
    "minutes": "the time of this process is over",
    "interrupted": "interrupted",
}
"""Why a run ended, by `Progress.stopped`, in words."""

BORDERS = {
    "parse": "holds a program",
    "novelty": "is new",
    "L0": "is admissible",
    "L1": "keeps the interface",
    "L2": "is reproducible",
    "L3": "is graded rightly",
    "L4": "has a sound hint",
    "L5": "is original",
}
"""What has to hold at each border, by `Step.name`."""


def render_generation(found: Summary, *, stopped: str, designer: str, made_at: str) -> str:
    """Return the page as one HTML document without scripts, UTF-8 when encoded.

    Args:
        found: what the run has come to.
        stopped: why it ended, one of `STOPS` or a sentence.
        designer: name of the model.
        made_at: when the page was made, as text for people.
    """
    return (
        environment()
        .get_template("generation.html")
        .render(
            found=found,
            stopped=STOPS.get(stopped, stopped),
            designer=designer,
            made_at=made_at,
            version=__version__,
            borders=BORDERS,
            steps=[(step, _rate(step)) for step in found.steps],
            skills=[(step, _rate(step)) for step in found.skills],
            advice=[cause for cause in found.causes if cause.advice],
            refused=sum(cause.count for cause in found.causes),
            repaired=sum(made.turn > 0 for made in found.made),
            rows=found.made[:MAX_ROWS],
            took=duration(found.elapsed_s),
        )
    )


def _rate(step: Step) -> Interval:
    low, high = wilson(step.passed, step.reached)
    return step.passed / max(1, step.reached), low, high


def duration(seconds: float) -> str:
    """Return such as `42 s`, `7 min` or `3 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
