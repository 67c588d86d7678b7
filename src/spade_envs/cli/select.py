"""`select`: environments that make a training pool, by what plays of them came to."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.figures import Levels
from spade_envs.cli.skills import check_skills, listed
from spade_envs.cli.stores import json_option, readable_stores, store_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_envs.calibrate import Choice, Criteria
    from spade_envs.store import EnvStore
    from spade_envs.types import Record


class Range(click.types.StringParamType):
    """A range such as `0.2..0.8` or `>0.1`."""

    name = "RANGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the bounds, or fail as click does."""
        from spade_envs.calibrate import Bounds
        from spade_envs.errors import ConfigError

        try:
            return value if isinstance(value, Bounds) else Bounds.read(str(value))
        except ConfigError as error:
            self.fail(str(error), param, ctx)


@click.command("select")
@click.option("--success", type=Range(), help="Success without the hint, such as 0.2..0.8.")
@click.option("--regret", type=Range(), help="Success with the hint less without, such as '>0.1'.")
@click.option("--skills", metavar="A,B", help="Only environments with one of these skills.")
@click.option("--kind", type=click.Choice(["text", "tool"]), help="Only environments of this kind.")
@click.option("--levels", type=Levels(), help="Count only plays of these levels: 0,2 or 1..3.")
@click.option("--model", "policy", metavar="NAME", help="Count only plays of this player.")
@click.option(
    "--hint",
    type=click.Choice(["instance", "strategy", "policy"]),
    default="instance",
    show_default=True,
    help="The hint that regret is taken over: the environment's own, or one that a model wrote.",
)
@click.option(
    "--min-plays",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Least plays without the hint.",
)
@click.option(
    "--lower-bound",
    "sure",
    is_flag=True,
    help="Let the whole 95 % interval lie in the range, not the estimate alone.",
)
@click.option("--table", is_flag=True, help="Print the figures beside the ids.")
@click.option(
    "--out",
    metavar="FILE",
    help="Write the pool: .txt for ids, .toml for the [pool] of a training configuration.",
)
@store_option
@json_option
def select_command(
    skills: str | None,
    table: bool,
    out: str | None,
    store: str | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Choose environments by success and regret, for a training pool.

    Figures are those of the plays ledger: of `calibrate`, of training runs, of anybody who wrote
    there. Prints ids, one a line. Exit code 1 if none meets the criteria.
    """
    from spade_envs.calibrate import Criteria
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import counted, echo_json, say

    names = listed(skills)
    path = _pool_file(out)
    stores = readable_stores(store)
    check_skills(names, stores)
    criteria = Criteria(skills=names, **wanted)
    found, total, played = _select(stores, criteria)
    if as_json:
        echo_json([_document(choice) for choice in found])
    elif table:
        _print(found)
    elif path is None:
        for choice in found:
            click.echo(choice.record.id)
    if path is not None and found:
        _write(path, found, criteria)
        say(f"pool: {path}")
    say(f"{len(found)} of {counted(total, 'environment')}")
    if not found and total and not played:
        where = f" --store {shlex.quote(store)}" if store is not None else ""
        say(f"nothing was played yet; measure first: spade-envs calibrate --all{where} --model ...")
    if not found:
        sys.exit(FOUND)


def _select(stores: Sequence[EnvStore], criteria: Criteria) -> tuple[list[Choice], int, bool]:
    """Return what meets the criteria, how many environments there are, and if any was played."""
    from spade_envs.calibrate import select
    from spade_envs.store.plays import Cell, Figures, PlayReader

    cells: dict[Cell, Figures] = {}
    for opened in stores:
        for cell, figures in PlayReader(opened.root).cells().items():
            cells[cell] = cells.get(cell, Figures()).plus(figures)
    records: dict[str, Record] = {}
    for opened in stores:
        for record in opened.records():
            if record.withdrawn is None:
                records.setdefault(record.digest, record)
    played = any(cell.digest in records and figures.plays for cell, figures in cells.items())
    return select(records.values(), cells, criteria), len(records), played


def _pool_file(out: str | None) -> Path | None:
    if out is None:
        return None
    path = Path(out)
    if path.suffix not in (".txt", ".toml"):
        raise click.UsageError(f"--out {out}: let the name end in .txt or .toml")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise click.UsageError(f"--out {out}: name a file in a folder that exists")
    return path


def _write(path: Path, found: Sequence[Choice], criteria: Criteria) -> None:
    """Write the ids, and for a configuration the one store that holds them."""
    from spade_envs.cli.output import counted
    from spade_envs.errors import ConfigError
    from spade_envs.store.outside import write_whole

    number = counted(len(found), "environment")
    head = f"# {number} chosen by spade-envs select: {_said(criteria)}\n"
    ids = [choice.record.id for choice in found]
    if path.suffix == ".txt":
        write_whole(path, (head + "".join(f"{each}\n" for each in ids)).encode("utf-8"))
        return
    roots = sorted({str(choice.record.store.absolute()) for choice in found})
    if len(roots) > 1:
        raise ConfigError(f"the pool lies in {len(roots)} stores; choose one with --store")
    lines = "".join(f"  {json.dumps(each)},\n" for each in ids)
    text = (
        f"{head}# Name a preset (spade-train presets), then: spade-train run THIS_FILE --out RUN\n"
        '# base = "paper-games-4b"\noverlays = ["fixed-pool"]\n\n'
        f"[pool]\nsource = {json.dumps(roots[0], ensure_ascii=False)}\nids = [\n{lines}]\n"
    )
    write_whole(path, text.encode("utf-8"))


def _said(criteria: Criteria) -> str:
    from spade_envs.cli.output import counted

    parts = [
        f"success {criteria.success}" if criteria.success else "",
        f"regret {criteria.regret} over {criteria.hint} hints" if criteria.regret else "",
        f"skills {', '.join(criteria.skills)}" if criteria.skills else "",
        f"kind {criteria.kind}" if criteria.kind else "",
        f"levels {', '.join(map(str, criteria.levels))}" if criteria.levels else "",
        f"player {json.dumps(criteria.policy)}" if criteria.policy else "",
        f"at least {counted(criteria.min_plays, 'play')}",
        "whole intervals" if criteria.sure else "",
    ]
    return "; ".join(part for part in parts if part)


def _print(found: Sequence[Choice]) -> None:
    from spade_envs.cli.figures import rate
    from spade_envs.cli.output import print_table

    rows = []
    for choice in found:
        figures, hinted = choice.figures, choice.hinted
        won = rate(figures.success, figures.success_interval if figures.plays else None)
        regret = rate(hinted.regret, hinted.regret_interval, signed=True)
        skills = ", ".join(choice.record.skills)
        rows.append((choice.record.id, figures.plays, won, regret, " ".join(hinted.hints), skills))
    columns = ("id", "plays", "won", "regret", "hint", "skills")
    print_table("", columns, rows, spare=columns[:0:-1])


def _document(choice: Choice) -> dict[str, Any]:
    from spade_envs.cli.figures import figures_json

    record, hinted = choice.record, figures_json(choice.hinted)
    regret = {name: hinted[name] for name in ("regret", "regret_interval", "hints")}
    return {
        "id": record.id,
        "digest": record.digest,
        "store": str(record.store),
        "kind": record.kind,
        "skills": list(record.skills),
        **figures_json(choice.figures),
        **regret,
    }
