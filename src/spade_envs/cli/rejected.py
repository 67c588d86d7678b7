"""`rejected`: what a store refused, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.stores import json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.store.rejected import Refused


@click.command("rejected")
@store_option
@click.option("--gate", metavar="ID", help="Only what this gate refused, such as L3.3.")
@json_option
def rejected_command(store: str | None, gate: str | None, as_json: bool) -> None:
    """List the designs that `generate` refused, with stage, gate and reason.

    They are kept for study under rejected/ in the store; `spade-envs check FILE` judges one anew.
    """
    from collections import Counter

    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.gates import GATES
    from spade_envs.store.rejected import read_rejected

    found = [item for opened in readable_stores(store) for item in read_rejected(opened.root)]
    known = dict.fromkeys([*(entry.id for entry in GATES), *(i.gate for i in found if i.gate)])
    if gate is not None and gate not in known:
        raise click.BadParameter(f"no gate {gate!r}; there are {', '.join(known)}")
    found = [item for item in found if gate is None or item.gate == gate]
    if as_json:
        echo_json([_row(item) for item in found])
        return
    if found:
        rows = [(item.key, item.gate or item.stage, item.reason) for item in found]
        print_table("", ("key", "refused by", "reason"), rows)
        first = next((item.source for item in found if item.source is not None), None)
        if first is not None:
            say(f"look at one with: spade-envs check {first}")
    by = Counter(item.gate or item.stage for item in found)
    counts = ", ".join(f"{number} by {name}" for name, number in by.most_common())
    say(counted(len(found), "refused design") + (f": {counts}" if counts else ""))


def _row(item: Refused) -> dict[str, Any]:
    names = ("key", "stage", "gate", "reason", "attempt", "entry")
    row = {name: getattr(item, name) for name in names}
    return {**row, "source": None if item.source is None else str(item.source)}
