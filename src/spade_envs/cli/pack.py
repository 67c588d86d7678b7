"""`pack`, `card` and `export`: what a store holds, as something that others can use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.select import Range
from spade_envs.cli.skills import check_skills, listed
from spade_envs.cli.stores import existing_store, json_option, store_option

if TYPE_CHECKING:
    from spade_envs.store import EnvStore
    from spade_envs.types import Record

F = TypeVar("F", bound=Callable[..., Any])


def chosen_options(command: F) -> F:
    """Add `[REF]...` and the options that say which versions are meant."""
    decorators = (
        click.argument("refs", metavar="[ID]...", nargs=-1),
        click.option("--ids", type=click.File(), help="Ids, one a line: what select --out wrote."),
        click.option("--skills", metavar="A,B", help="Only those with one of these skills."),
        click.option("--kind", type=click.Choice(["text", "tool"]), help="Only this kind."),
        click.option("--success", type=Range(), help="Only this success in plays: 0.2..0.8."),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def chosen(
    store: str | None,
    refs: tuple[str, ...],
    ids: Any,
    skills: str | None,
    kind: Any,
    success: Any,
) -> tuple[EnvStore, list[Record]]:
    """Return the store, and the versions that are meant.

    Raises:
        NotFound: nothing is.
        ConfigError: a skill is unknown.
    """
    from spade_envs.calibrate import Criteria
    from spade_envs.packing import choose

    lines = [line.partition("#")[0].strip() for line in ids] if ids is not None else []
    named = (*refs, *(line for line in lines if line))
    if ids is not None and not named:
        raise click.UsageError(f"--ids {ids.name}: there is no id in it")
    names = listed(skills)
    least = 1 if success is not None else 0
    criteria = Criteria(success=success, skills=names, kind=kind, min_plays=least)
    opened = existing_store(store)
    check_skills(names, [opened])
    return opened, choose(opened, named, criteria)


@click.command("pack")
@chosen_options
@click.option("--name", required=True, help="Of the package and its namespace, such as our-envs.")
@click.option("--version", default="0.1.0", show_default=True, help="Of the package.")
@click.option("--out", metavar="DIR", required=True, help="Folder of the project: new or empty.")
@click.option("--wheel/--no-wheel", default=True, help="Build the wheel too.  [default: wheel]")
@click.option("--unknown-licences", is_flag=True, help="Pack environments of unknown licence too.")
@store_option
@json_option
def pack_command(
    name: str,
    version: str,
    out: str,
    wheel: bool,
    unknown_licences: bool,
    store: str | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Make an installable Gymnasium package of a store's environments.

    ID is an id, name or digest; without any, every version that is not withdrawn is packed.
    """
    from spade_envs.cli.output import counted, echo_json, say
    from spade_envs.packing import PackName, pack

    named = PackName(name, version)
    opened, records = chosen(store, **wanted)
    made = pack(opened, records, named, Path(out), wheel=wheel, unknown_licences=unknown_licences)
    if as_json:
        echo_json(made)
        return
    click.echo(made.wheel or made.project)
    say(f"{counted(len(made.ids), 'environment')}, licence {made.licence or 'unknown'}")
    say(f'gym.make("{named.module}:{made.ids[0]}") once it is installed')


@click.command("card")
@chosen_options
@click.option("--format", "form", type=click.Choice(["hub", "git"]), default="hub",
              show_default=True, help="hub: with front matter for the hub.")  # fmt: skip
@click.option("--title", help="Heading.  [default: the folder's name]")
@click.option("--out", metavar="FILE.md", help="Write it there instead of printing it.")
@click.option("--force", is_flag=True, help="Replace a file that is no card of ours.")
@store_option
@json_option
def card_command(
    form: Any,
    title: str | None,
    out: str | None,
    force: bool,
    store: str | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Write the dataset card of a store: contents, licences, gates, floors, how to load it."""
    from spade_envs.cli.output import echo_json, say
    from spade_envs.packing import read_all, render_card, sheet_of
    from spade_envs.store.outside import write_whole

    opened, records = chosen(store, **wanted)
    target = None if out is None else _card_file(Path(out), force)
    sheet = sheet_of(read_all(opened, records))
    if as_json:
        echo_json(sheet)
        return
    card = render_card(sheet, title=title or opened.root.name, form=form)
    if target is None:
        click.echo(card, nl=False)
        return
    write_whole(target, card.encode("utf-8"))
    say(f"card: {target}")


def _card_file(path: Path, force: bool) -> Path:
    """Return where a card goes; a file that we did not write is left alone."""
    from spade_envs.packing import CARD_MARK

    if path.suffix.lower() != ".md" or not path.absolute().parent.is_dir():
        raise click.UsageError(f"--out {path}: name a .md file in a folder that exists")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise click.UsageError(f"--out {path}: that is no ordinary file, so it is left alone")
    written = path.is_file() and CARD_MARK not in path.read_text("utf-8", "replace")
    if written and not force:
        raise click.UsageError(f"--out {path}: somebody wrote that; --force replaces it")
    return path


@click.command("export")
@chosen_options
@click.option("--layout", type=click.Choice(["spade-pool"]), default="spade-pool",
              show_default=True, help="spade-pool: games/*.py and lists of them.")  # fmt: skip
@click.option("--out", metavar="DIR", required=True, help="Folder of the pool: new or empty.")
@click.option("--adapter", is_flag=True, help="Let loaders of published pools play our contract.")
@store_option
@json_option
def export_command(
    layout: str, out: str, adapter: bool, store: str | None, as_json: bool, **wanted: Any
) -> None:
    """Write a store's environments in a layout that other tools read.

    The sources go out byte for byte, so `spade-envs import DIR` gives the same digests.
    """
    from spade_envs.cli.output import counted, echo_json, say
    from spade_envs.packing import export_pool

    opened, records = chosen(store, **wanted)
    games = export_pool(opened, records, Path(out), adapter=adapter)
    if as_json:
        echo_json([game.row for game in games])
        return
    click.echo(out)
    say(f"{counted(len(games), 'environment')} in the layout {layout}")
