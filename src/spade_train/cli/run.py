"""`spade-train run`: train, with a live view on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from spade_train.config import Config

FOUND, USAGE, MACHINERY = 1, 2, 3


@click.command("run")
@click.argument("what", metavar="PRESET|FILE", required=False)
@click.option("--overlay", "overlays", multiple=True, help="Apply an ablation or baseline by name.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key: a.b=c.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the run; runs/NAME if none."
)
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the run in a folder.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def run_command(
    what: str | None,
    overlays: tuple[str, ...],
    settings: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    quiet: bool,
) -> None:
    """Train both roles as a configuration says; print the run's folder.

    SIGTERM and Ctrl-C end the run after the update under way, with a checkpoint to go on from.

    Exit code 0 if it is done or was ended so, 1 if its health limits or changed documents stopped
    it, 2 for wrong usage, 3 if the machinery failed, 130 if a second Ctrl-C broke it off.
    """
    from spade_envs.errors import ConfigError, CorpusError, MissingExtra, NotFound, SpadeError
    from spade_envs.store.room import check_rights, check_way
    from spade_train.cli.needs import need_training
    from spade_train.cli.progress import Progress
    from spade_train.config import resolve
    from spade_train.errors import CorpusChanged, HealthError
    from spade_train.launch import train
    from spade_train.trainer import open_world

    need_training()
    if resume is not None and out is not None:
        raise click.UsageError("give --out for a new run or --resume for one that is there")
    if resume is None and what is None:
        raise click.UsageError("name a preset or a file, or a run with --resume")
    if what is None and (overlays or settings):
        raise click.UsageError("--set and --overlay need the PRESET or FILE beside --resume")
    config = resolve(what, overlays=overlays, settings=settings) if what is not None else None
    folder = resume or out or _named(config.name if config else "run")
    if not quiet and not open_world().rank:
        click.echo(_doing(config if resume is None else None), err=True)
    live = sys.stderr.isatty()
    told = {"shown": not quiet and live, "lines": not quiet and not live}
    try:
        if resume is None:  # before a model is loaded in vain
            check_way(folder)
            check_rights(folder)
        with Progress(folder, config, **told) as progress:
            summary = train(config, folder, resume=resume is not None, watch=progress.show)
    except (HealthError, CorpusChanged) as error:
        click.echo(f"stopped: {error}", err=True)
        sys.exit(FOUND)
    except (ConfigError, CorpusError, MissingExtra, NotFound):
        raise  # the user can mend it
    except SpadeError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    if open_world().rank:
        return  # the main process says it
    click.echo(
        f"{summary.updates} updates, stopped by {summary.stopped or 'nothing'}; "
        f"{summary.outside_model:.0%} of {summary.seconds.get('wall_s', 0.0):.0f} s "
        "outside the model",
        err=True,
    )
    click.echo(str(folder))


def _doing(config: Config | None) -> str:
    """Return what is done until the first update; None stands for a run that is gone on with."""
    if config is None:
        return "going on: loading the model and the newest checkpoint ..."
    steps, held = ["loading the model"], config.evaluation
    if held.episodes and held.source == "nano":
        steps.append("writing held-out environments")
    if held.interval and (held.episodes or held.suites):
        steps.append("first evaluation")
    return f"{', '.join(steps)} ..."


def _named(name: str) -> Path:
    """Return the folder of a run of this name below `runs`; a file of settings chooses no other."""
    from spade_envs.errors import ConfigError

    if "/" in name or name in (".", ".."):
        raise ConfigError(f"name = {name!r} is no name of a folder; give the folder by --out")
    return Path("runs") / name
