"""`stats`: what a store holds, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spade_envs.cli.memory import embedder_option, refreshed
from spade_envs.cli.stores import json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.reports.store_stats import StoreStats
    from spade_envs.store.plays import Cell, Figures


@click.command("stats")
@click.option("--html", metavar="FILE", help="Write the figures as a self-contained page.")
@embedder_option
@store_option
@json_option
def stats_command(html: str | None, embedder: str | None, store: str | None, as_json: bool) -> None:
    """Show a store in figures: what it holds, how varied it is, what was refused, what plays say.

    New environments are embedded first. Nothing is run.
    """
    from spade_envs.cli.output import counted, echo_json, page_to_write, say, write_page
    from spade_envs.novelty.kept import hashes_of
    from spade_envs.reports.store_stats import render_stats, stats_of
    from spade_envs.store.plays import Figures, PlayReader
    from spade_envs.store.rejected import read_rejected

    path = page_to_write(html)
    stores = readable_stores(store)
    (memory,) = refreshed(stores[:1], embedder)
    cells: dict[Cell, Figures] = {}
    for opened in stores:  # plays of the starter store are in a store of the user's own
        for cell, figures in PlayReader(opened.root).cells().items():
            cells[cell] = cells.get(cell, Figures()).plus(figures)
    hashes = hashes_of(memory.store, list(memory.records))
    found = stats_of(
        memory,
        cells=cells,
        refused=read_rejected(memory.store.root),
        shapes={digest: each.shape for digest, each in hashes.items()},
    )
    if as_json:
        echo_json(found.as_json())
    elif path is None:
        _print(found)
    if path is not None:
        write_page(path, lambda made_at: render_stats(found, made_at=made_at))
    say(f"{counted(found.environments, 'environment')} in {found.store}")


def _print(found: StoreStats) -> None:
    from spade_envs.cli.output import print_table

    names = ("skills", "kinds", "levels", "licences", "refused")
    rows: list[tuple[str, str, object]] = [
        (name, what, number) for name in names for what, number in getattr(found, name)
    ]
    if found.acceptance is not None:
        rows.append(("accepted", "of the designs kept", f"{found.acceptance:.0%}"))
    varied, played = found.diversity, found.played
    rows.append(("families", "shapes of programs", len(found.families)))
    rows.append(("diversity", f"Vendi score of {varied.sample}", f"{varied.vendi:.1f}"))
    for share, name in ((0.0, "least"), (0.5, "median"), (1.0, "greatest")):
        if (value := varied.quantile(share)) is not None:
            rows.append(("nearest other", f"{name} distance", f"{value:.3f}"))
    rows.append(("plays", "environments played", played.environments))
    for curve in played.curves:
        for level, (mean, low, high) in curve.plain.items():
            what = f"{curve.policy or 'unnamed'} at level {level}"
            rows.append(("success", what, f"{mean:.2f} {low:.2f}..{high:.2f}"))
        for level, (mean, low, high) in curve.regret.items():
            what = f"{curve.policy or 'unnamed'} at level {level}"
            rows.append(("regret", what, f"{mean:+.2f} {low:+.2f}..{high:+.2f}"))
    print_table("", ("figure", "of", "value"), rows)
