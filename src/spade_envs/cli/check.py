"""`check`: run the gates on anything and say what is wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.many import run_options
from spade_envs.cli.stores import json_option, store_option

if TYPE_CHECKING:
    from spade_envs.gates.subject import Depth
    from spade_envs.interop import Checked


@click.command("check")
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option("--quick", "depth", flag_value="quick", help="Fewer seeds: about a second.")
@click.option("--deep", "depth", flag_value="deep", help="Every gate, even after failures.")
@run_options
@click.option("--all", "every", is_flag=True, help="Show the gates that passed, too.")
@store_option
@json_option
def check_command(
    targets: tuple[str, ...],
    depth: Depth | None,
    every: bool,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run the gates on environments, whoever wrote them.

    TARGET is a Python file, a folder of them (with checksums if it is a pool), an id in a store,
    reasoning-gym:NAME (or :all), textarena:ID, gem:ID, gym:ID or gym:MODULE:ID, or
    rlve:CHECKOUT#NAME.

    Exit code 0 if every one is accepted (with --quick: passes), 1 if one is refused or could not
    be checked.
    """
    from spade_envs.cli import many
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import echo_json

    def show(checked: Checked) -> None:
        if not as_json:
            many.print_one(checked, every=every)

    results = many.check_many(targets, store, depth=depth or "standard", show=show, **settings)
    if as_json:
        echo_json([many.as_json(item) for item in results])
    elif len(results) > 1:
        many.print_summary(results)
    if not all(many.word(item) in ("accepted", "passes") for item in results):
        sys.exit(FOUND)
