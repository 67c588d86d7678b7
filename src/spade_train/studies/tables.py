"""A comparison as Markdown: tables, and sentences that the tables bear out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spade_train.reports.figures import duration
from spade_train.studies.comparison import (
    Comparison,
    Row,
    count,
    lead,
    plain,
    points,
    share,
    verdicts,
)

LEGEND = (
    "n: seeds. Brackets: 95 % intervals (Student's t) over seeds; a lead is of the first arm over "
    "this one, seed by seed, in points. Success and regret: of what the arm itself plays, means "
    "over the first and the last quarter of the updates; accepted: share of new programs, at last. "
    "Cost: of each run, evaluation not counted."
)


def markdown(found: Comparison, *, title: str, question: str) -> str:
    """Return a comparison as a section of Markdown.

    Args:
        found: what a study came to.
        title: its heading.
        question: what it was meant to tell.
    """
    parts = [f"## {title}", question, _success(found.rows)]
    if found.best_unseen:
        parts.append(_unseen(found))
    parts += [
        _training(found.rows),
        _cost(found.rows),
        _listed((*_words(found), *found.failures)),
    ]
    return "\n\n".join(parts) + "\n"


def _words(found: Comparison) -> Iterator[str]:
    """Say what the tables bear out; arms that begin elsewhere are compared by what they gain."""
    starts = {row.start.mean for row in found.rows if row.start is not None}
    if len(starts) < 2:
        yield from verdicts(found)
        return
    for row in found.rows:
        if row.gain is not None:
            up, down = row.gain.above_zero, row.gain.below_zero
            word = "rises" if up else "falls" if down else "shows no clear move"
            yield f"{row.arm}: held-out success {word}, by {points(row.gain)}."
        if row.gain_lead is not None:
            first = found.rows[0].arm
            yield f"Gain of {first} minus that of {row.arm}: {points(row.gain_lead)}."


def _success(rows: Sequence[Row]) -> str:
    head = ("arm", "n", "held-out before", "after", "gain", "lead")
    lines = (
        (
            row.arm,
            str(len(row.seeds)),
            share(row.start),
            share(row.held_out),
            lead(row.gain) or "–",
            lead(row.lead) or "–",
        )
        for row in rows
    )
    return _table(head, lines)


def _unseen(found: Comparison) -> str:
    head = ("arm", "families that the smallest pool lacks", "lead there")
    return _table(
        head, ((row.arm, share(row.unseen), lead(row.unseen_lead) or "–") for row in found.rows)
    )


def _training(rows: Sequence[Row]) -> str:
    head = ("arm", "success at first", "at last", "regret at first", "at last", "accepted")
    lines = (
        (
            row.arm,
            share(row.success_first),
            share(row.success_last),
            plain(row.regret_first, 3),
            plain(row.regret_last, 3),
            share(row.acceptance),
        )
        for row in rows
    )
    return _table(head, lines)


def _cost(rows: Sequence[Row]) -> str:
    head = ("arm", "updates", "episodes", "tokens", "time")
    lines = (
        (
            row.arm,
            count(row.updates),
            count(row.agent_episodes),
            count(row.generated_tokens),
            duration(row.wall_s.mean) if row.wall_s is not None else "–",
        )
        for row in rows
    )
    return _table(head, lines)


def _table(head: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _listed(sentences: Sequence[str]) -> str:
    return "\n".join(f"* {text}" for text in sentences)
