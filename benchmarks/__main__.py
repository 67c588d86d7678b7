"""`python -m benchmarks [NAME ...]`: run benchmarks, print tables, exit 1 if a bar is missed."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from dataclasses import asdict, replace
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.timing import TINY, Claim, Result, Scale

BENCHMARKS = (
    "async-vector",
    "round-trip",
    "stepping",
    "worker-start",
    "gating",
    "importing",
    "sampling",
    "corpus",
    "memory",
    "large-store",
    "large-pull",
    "completions",
    "diversity",
)
"""In the order in which they run: those that fork plain children come first."""


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(BENCHMARKS))
@click.option("--rounds", type=click.IntRange(1), help="Samples per contender.")
@click.option("--corpus-mib", type=click.IntRange(33), help="Size of the corpus, in MiB.")
@click.option("--seed", type=click.IntRange(0), help="Of what nano writes (diversity).")
@click.option("--tiny", is_flag=True, help="Run everything once; the figures mean nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    names: tuple[str, ...],
    rounds: int | None,
    corpus_mib: int | None,
    seed: int | None,
    tiny: bool,
    as_json: bool,
) -> None:
    """Run the benchmarks NAMES, or all; exit with 1 if a bar is missed."""
    scale = TINY if tiny else Scale()
    if rounds is not None:
        scale = replace(scale, rounds=rounds)
    if corpus_mib is not None:
        scale = replace(scale, corpus_mib=corpus_mib)
    if seed is not None:
        scale = replace(scale, seed=seed)
    console = Console()
    results = []
    if not as_json:
        console.print(machine())
    for name in names or BENCHMARKS:
        before = times()
        result = run(name, scale)
        results.append(replace(result, notes=(*result.notes, crowding(before, times()))))
        if not as_json:
            show(console, results[-1])
    missed = [claim for result in results for claim in result.claims if not claim.met]
    if as_json:
        document = {"machine": machine(), "results": [as_plain(result) for result in results]}
        click.echo(json.dumps(document, indent=2))
    sys.exit(1 if missed else 0)


def run(name: str, scale: Scale) -> Result:
    """Run one benchmark; its module is loaded only now."""
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    result: Result = module.run(scale)
    return result


def machine() -> str:
    """Return what the figures were measured on, in one line."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores {platform.machine()}, Python {platform.python_version()}"


def times() -> tuple[float, float]:
    """Return how long this process has run and has waited for a processor, in s."""
    with open("/proc/self/schedstat") as file:
        ran, waited = file.read().split()[:2]
    return int(ran) / 1e9, int(waited) / 1e9


def crowding(before: tuple[float, float], after: tuple[float, float]) -> str:
    """Return how busy others kept the machine: neighbours slow a pair of processes most."""
    ran_s, waited_s = after[0] - before[0], after[1] - before[1]
    share = waited_s / max(ran_s + waited_s, 1e-9)
    load = os.getloadavg()[0]
    return f"load average {load:.1f}; waited for a processor {share:.0%} of the time"


def verdict(claim: Claim) -> str:
    """Return the claim in one line, with PASS or MISS."""
    word = "at least" if claim.at_least else "at most"
    state = "PASS" if claim.met else "MISS"
    return f"{state}  {claim.text}: {claim.value:.3g} ({word} {claim.bar:g})"


def as_plain(result: Result) -> dict[str, Any]:
    """Return a result as plain JSON, medians and verdicts included."""
    return {
        **asdict(result),
        "series": [{**asdict(one), "median": one.median} for one in result.series],
        "claims": [{**asdict(claim), "met": claim.met} for claim in result.claims],
    }


def show(console: Console, result: Result) -> None:
    """Print one result as a table, its claims and its notes."""
    table = Table(title=result.name, title_justify="left")
    table.add_column("contender")
    for heading in ("unit", "min", "median", "max"):
        table.add_column(heading, justify="right")
    for one in result.series:
        figures = (min(one.samples), one.median, max(one.samples))
        table.add_row(one.name, one.unit, *(f"{figure:.3g}" for figure in figures))
    console.print(table)
    for words in result.tables:
        found = Table(title=words.title, title_justify="left")
        for column in words.columns:
            found.add_column(column, overflow="fold")
        for row in words.rows:
            found.add_row(*map(escape, row))
        console.print(found)
    for claim in result.claims:
        console.print(verdict(claim), style="green" if claim.met else "bold red", soft_wrap=True)
    for note in result.notes:
        console.print(f"  {note}", highlight=False, soft_wrap=True)
    console.print()


if __name__ == "__main__":
    main()
