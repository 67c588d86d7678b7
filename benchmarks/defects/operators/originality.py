"""Environments that exist already, and tasks of an evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.defects.bench import Bench, Spot
from benchmarks.defects.body import Body
from benchmarks.defects.operators.base import Operator, around
from benchmarks.defects.rewrites import renamed, reworded

EVALUATION = (
    "A baker sells nineteen loaves before noon and four times as many after noon, throws away "
    "seven that were burnt, and gives a sixth of the rest to a school. How many loaves does the "
    "school get if the baker had baked one hundred and two loaves that day?"
)
"""A text of an imaginary evaluation."""


def _renamed(body: Body) -> Iterator[Body]:
    new = renamed(body.code())
    if new is not None:
        yield Body(new)


def _reworded(body: Body) -> Iterator[Body]:
    new = reworded(body.code())
    if new is not None:
        yield Body(renamed(new) or new)


def _plays_alike(bench: Bench) -> str | None:
    """Witness: the reference of the original wins in the mutant, on every spot."""

    def trial(spot: Spot) -> bool | None:
        lost = bench.loses(spot)
        return None if lost is None else not lost

    found = bench.share(trial, 1.0)
    differs = ast.dump(ast.parse(bench.mutant.code)) != ast.dump(ast.parse(bench.original.code))
    return found and f"the original's reference wins in {found}" if differs else None


def _quotes(bench: Bench) -> str | None:
    def trial(spot: Spot) -> bool:
        return EVALUATION[:60] in bench.mutant.play(spot, []).start.observation

    found = bench.share(trial)
    return found and f"a text of the evaluation is shown in {found}"


OPERATORS = (
    Operator(
        "copy-renamed",
        "is another environment with other names",
        _renamed,
        _plays_alike,
        "code",
        context="known",
    ),
    Operator(
        "copy-reworded",
        "is another environment in other words",
        _reworded,
        _plays_alike,
        "code",
        context="known",
    ),
    Operator(
        "evaluation-copied",
        "shows a text of a declared evaluation",
        around(reset_after=f"observation = {EVALUATION + ' '!r} + observation"),
        _quotes,
        context="evaluation",
    ),
)
