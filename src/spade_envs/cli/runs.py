"""`runs`: what became of the `generate` runs on a store, finished, killed or still under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import existing_store, json_option, store_option

if TYPE_CHECKING:
    from spade_envs.pipeline import Summary


@click.command("runs")
@click.argument("run", required=False)
@click.option("--price", metavar="in=N,out=N", help="Dollars per million tokens.")
@click.option("--html", metavar="FILE", help="Write the page about the run.")
@store_option
@json_option
def runs_command(
    run: str | None, price: str | None, html: str | None, store: str | None, as_json: bool
) -> None:
    """Tell what the runs on a store made, refused and took; of one RUN, in detail.

    RUN is its name or the beginning of it. --html needs a RUN unless there is only one.
    """
    from spade_envs.cli.output import (
        counted,
        echo_json,
        page_to_write,
        print_table,
        say,
        write_page,
    )
    from spade_envs.design.clients import Price
    from spade_envs.errors import NotFound
    from spade_envs.pipeline import runs_of, summarise
    from spade_envs.reports.generation import duration, render_generation

    page, paid = page_to_write(html), None if price is None else Price.parse(price)
    opened = existing_store(store)
    names = runs_of(opened)
    chosen = [name for name in names if run is None or name.startswith(run)]
    if run is not None and len(chosen) != 1:
        found = ", ".join(chosen or names) or "none"
        raise NotFound(f"{run!r} names no single run of {opened.root}; there are: {found}")
    if page is not None and len(chosen) != 1:
        raise click.UsageError("--html shows one run: name it")
    rows = [summarise(opened, name, paid) for name in chosen]
    if as_json:
        echo_json([row.as_json() for row in rows])
    elif run is not None:
        _print(rows[0])
    else:
        columns = ("run", "attempts", "accepted", "answers", "tokens", "took")
        print_table("", columns, [
            (row.run, row.attempts, len(row.made), row.usage.requests, f"{row.usage.tokens:,}",
             duration(row.elapsed_s)) for row in rows
        ])  # fmt: skip
        say(counted(len(rows), "run"))
    if page is not None:
        write_page(
            page,
            lambda made_at: render_generation(
                rows[0], stopped="see the command that ran it", designer="", made_at=made_at
            ),
        )


def _print(found: Summary) -> None:
    from spade_envs.cli.output import counted, print_table, say
    from spade_envs.reports.generation import duration

    steps = [
        (step.name, step.reached, step.passed, f"{100 * step.passed / step.reached:.0f} %")
        for step in (*found.steps, *found.skills)
        if step.reached
    ]
    print_table("How far designs came", ("border or skill", "reached", "passed", ""), steps)
    causes = [(cause.by, cause.count, cause.title, cause.advice) for cause in found.causes]
    if causes:
        print_table("Refused", ("by", "count", "asks for", "what to change"), causes)
    usage = found.usage
    cost = "" if found.cost is None else f", ${found.cost:.4f}"
    say(
        f"{len(found.made)} accepted of {found.attempts} attempts, {usage.requests} answers, "
        f"{usage.tokens:,} tokens{cost}, {duration(found.elapsed_s)} in "
        f"{counted(found.processes, 'start')}"
    )
