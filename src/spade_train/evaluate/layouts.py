"""The paper's two tables: which figure stands in which column.

Source: arXiv 2608.19197, its tables of held-out reasoning and of tool use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spade_train.evaluate.records import Header
from spade_train.suites.ace_plain import NORMAL, SPECIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: a suite, a group of it, or a weighted mean of other columns."""

    title: str
    suite: str = ""
    """Regular expression that the whole name of the suite matches, without regard to case."""
    group: str | None = None
    """The same of the group; None takes the suite as a whole."""
    parts: tuple[tuple[Column, float], ...] = ()
    """Columns and their weights, in place of a suite."""
    averaged: bool = True
    """Whether it counts in the average of the table."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions that settings match."""

    def fits(self, header: Header) -> bool:
        """Whether an evaluation has the figure, as far as its header tells."""
        if not re.fullmatch(self.suite, header.suite, re.IGNORECASE):
            return False
        if self.group is not None and not any(self.names(name) for name in header.group_tasks):
            return False
        given = header.settings
        return all(re.fullmatch(form, str(given.get(k))) for k, form in self.settings.items())

    def names(self, group: str) -> bool:
        """Whether a group is the one that it wants."""
        return self.group is not None and bool(re.fullmatch(self.group, group, re.IGNORECASE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A table of columns."""

    title: str
    columns: tuple[Column, ...]


_RG = r"reasoning-gym(-hard)?"
_ACE = r"acebench(-agent|-en)?"

_BFCL = "bfcl-single-turn"


def _bfcl(title: str, *parts: tuple[Column, float]) -> Column:
    """Return a column whose weights are those of its parts divided by their sum."""
    whole = sum(weight for _, weight in parts)
    weighted = tuple((part, weight / whole) for part, weight in parts)
    return Column(title=title, parts=weighted, averaged=False)


def _leaf(group: str) -> Column:
    return Column(title=group, suite=_BFCL, group=group)


BFCL_LIVE = {
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
}
"""Weights of the live categories: their numbers of tasks. Source: `eval_runner_helper` upstream."""

_SIMPLE = _bfcl("simple", *((_leaf(f"simple_{x}"), 1) for x in ("python", "java", "javascript")))
_NON_LIVE = _bfcl(
    "BFCL-v4 non-live",
    *((c, 1) for c in (_SIMPLE, *map(_leaf, ("multiple", "parallel", "parallel_multiple")))),
)
_LIVE = _bfcl("BFCL-v4 live", *((_leaf(name), count) for name, count in BFCL_LIVE.items()))
_IRRELEVANCE = _bfcl(
    "BFCL-v4 irrelevance", (_leaf("irrelevance"), 1), (_leaf("live_irrelevance"), 1)
)


def _ace(title: str, groups: Sequence[str]) -> Column:
    """Return a column with the plain mean over groups."""
    parts = tuple((Column(title=g, suite=_ACE, group=g), 1 / len(groups)) for g in groups)
    return Column(title=title, parts=parts, averaged=False)


_NORMAL = _ace("ACE-Normal", NORMAL)
_SPECIAL = _ace("ACE-Special", SPECIAL)
_AGENT = _ace("ACE-Agent", ("multi_step", "multi_turn"))

ACEBENCH_WEIGHTS = (0.578, 0.2676, 0.1545)
"""Of Normal, Special and Agent in the published overall figure."""

LAYOUTS: Mapping[str, Layout] = {
    "reasoning": Layout(
        title="Held-out reasoning",
        columns=(
            Column(title="AIME-25", suite=r"aime|aime-?(20)?25", group=r".*25.*"),
            Column(title="AIME-26", suite=r"aime|aime-?(20)?26", group=r".*26.*"),
            Column(title="GPQA-Diamond", suite=r"gpqa(-diamond)?"),
            Column(title="LiveCodeBench", suite=r"livecodebench(-v6)?"),
            Column(title="RG:Math", suite=_RG, group="math"),
            Column(title="RG:Algorithmic", suite=_RG, group="algorithmic"),
            Column(title="RG:Cognition", suite=_RG, group="cognition"),
            Column(title="RG:Logic", suite=_RG, group="logic"),
        ),
    ),
    "tool-use": Layout(
        title="Tool use",
        columns=(
            _NON_LIVE,
            _LIVE,
            _IRRELEVANCE,
            Column(title="BFCL-v4 multi-turn", suite=r"bfcl(-v4)?(-multi-turn)?"),
            Column(title="Tau2-Retail", suite=r"tau2(-retail)?", group="retail"),
            Column(title="Tau2-Airline", suite=r"tau2(-airline)?", group="airline"),
            Column(title="Tau2-Telecom", suite=r"tau2(-telecom)?", group="telecom"),
            _NORMAL,
            _SPECIAL,
            _AGENT,
            Column(
                title="ACEBench",
                parts=tuple(zip((_NORMAL, _SPECIAL, _AGENT), ACEBENCH_WEIGHTS, strict=True)),
            ),
        ),
    ),
}
