"""`calibrate`: how well a player does in environments, with the hint and without."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.figures import Levels
from spade_envs.cli.models import MODELS, open_model, server_options
from spade_envs.cli.stores import (
    Finite,
    find,
    json_option,
    plays_root,
    readable_stores,
    store_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from spade_envs.calibrate import Calibration, Player, Target
    from spade_envs.errors import ClientError
    from spade_envs.store import EnvStore
    from spade_envs.types import Record

_SERVER = (
    *("concurrency", "timeout", "retries", "requests_per_minute", "tokens_per_minute"),
    *("guided", "no_stream"),
)


@click.command("calibrate")
@click.argument("refs", metavar="ID...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every environment of the store.")
@click.option(
    "--model",
    required=True,
    metavar="URL_OR_NAME",
    help=f"{MODELS}; or scripted:empty, random, constant=TEXT, reference[=P[,Q]].",
)
@click.option(
    "--episodes",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Instances per level; each is played without the hint and with it.",
)
@click.option("--levels", type=Levels(), help="Such as 0,2 or 1..3. [default: all]")
@click.option(
    "--hint",
    type=click.Choice(["instance", "strategy"]),
    default="instance",
    show_default=True,
    help="The environment's own hint, or the one that a model wrote from its source.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of instances and model."
)
@click.option("--temperature", type=Finite(0), default=1.0, show_default=True, help="Of the model.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=2048,
    show_default=True,
    help="Greatest length of one turn of the model.",
)
@click.option("--max-turns", type=click.IntRange(1), help="Turns after which an episode is lost.")
@click.option(
    "--live",
    type=click.IntRange(1, 4096),
    default=64,
    show_default=True,
    help="Episodes in play at once; results do not depend on it.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Environments that step at once.",
)
@server_options
@store_option
@json_option
def calibrate_command(
    refs: tuple[str, ...],
    everything: bool,
    model: str,
    hint: str,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Play environments with the hint and without, and note what it came to.

    Both arms play the same instances. Success, return and regret go to the plays ledger of the
    store, level by level; run the same command again to go on after a stop, or with more episodes
    to add some. Exit code 0 if every play was a result, 1 if an environment failed in some or the
    model did not answer in some, 130 if interrupted.
    """
    from spade_envs.calibrate import Calibration, Settings
    from spade_envs.cli.main import FOUND, INTERRUPTED

    if bool(refs) == everything:
        raise click.UsageError("name environments, or take all of a store with --all")
    server = {name: settings.pop(name) for name in _SERVER}
    sampling = {name: settings.pop(name) for name in ("temperature", "max_tokens")}
    plan = Settings(
        episodes=settings["episodes"],
        levels=settings["levels"],
        seed=settings["seed"],
        live=settings["live"],
        most_turns=settings["max_turns"],
        workers=settings["workers"],
    )
    targets = _targets(refs, store, hint, plan.levels)
    player = _player(model, server, seed=plan.seed, **sampling)
    calibration = Calibration(targets, player, plan)
    faults, missed, stopped = _play(calibration)
    _show(calibration, hint, faults, missed, as_json=as_json)
    if stopped:
        sys.exit(INTERRUPTED)
    if faults or missed:
        sys.exit(FOUND)


def _player(spec: str, server: dict[str, Any], **sampling: Any) -> Player:
    from spade_envs.calibrate import ModelPlayer, scripted
    from spade_envs.calibrate.players import FORMS, script_name
    from spade_envs.design.clients import is_spec
    from spade_envs.errors import ConfigError

    player = scripted(spec)
    if player is None and not is_spec(spec):
        raise ConfigError(f"no model {spec!r}; write {MODELS}; or {FORMS}")
    if player is not None:
        return player
    return ModelPlayer(open_model(spec, **server), name=script_name(spec), **sampling)


def _targets(
    refs: Sequence[str], store: str | None, hint: str, levels: tuple[int, ...] | None
) -> list[Target]:
    from spade_envs.calibrate import Target
    from spade_envs.cli.consent import ask_consent
    from spade_envs.errors import ConfigError
    from spade_envs.trust.runs import source_to_run

    chosen: dict[str, tuple[EnvStore, Record]] = {}
    for opened, record in _records(refs, store):
        chosen.setdefault(record.digest, (opened, record))
    if not chosen:
        raise ConfigError("the store holds no environment; make some with spade-envs generate")
    most = max(record.levels for _, record in chosen.values())
    if levels is not None and min(levels) >= most:
        raise ConfigError(
            f"none of the environments has a level {min(levels)}; they end at {most - 1}"
        )
    found, without = [], []
    for opened, record in chosen.values():
        root = plays_root(opened, store)
        told, text = _hint(root, record, hint)
        if hint == "strategy" and text is None:
            without.append(record.id)
            continue
        ask_consent(record)
        found.append(
            Target(
                id=record.id,
                digest=record.digest,
                source=source_to_run(opened, record),
                interface=opened.interface(record),
                ledger=root,
                hint=told,
                text=text,
            )
        )
    if without:
        raise ConfigError(
            f"{', '.join(without[:3])} has no strategy hint; let a model write one: "
            f"spade-envs hint {without[0]} --model {MODELS.split(', ')[0]}"
        )
    return found


def _records(refs: Sequence[str], store: str | None) -> list[tuple[EnvStore, Record]]:
    if refs:
        return [find(ref, store) for ref in refs]
    return [
        (opened, record)
        for opened in readable_stores(store)[:1]
        for record in opened.records()
        if record.withdrawn is None
    ]


def _hint(root: Path, record: Record, hint: str) -> tuple[str, str | None]:
    """Return what the ledger calls the hint, and its text if it is not the environment's own."""
    if hint == "instance":
        return hint, None
    from spade_envs.store.strategies import newest

    strategy = newest(root, record.digest)
    return (hint, None) if strategy is None else (strategy.hint, strategy.text)


def _play(calibration: Calibration) -> tuple[dict[str, int], list[ClientError], bool]:
    """Play what is missing; return faults by digest, why others had no answer, whether stopped."""
    from spade_envs.cli.many import terminable
    from spade_envs.cli.output import counted, progress, say

    faults: dict[str, int] = {}
    missed: list[ClientError] = []
    stopped = False
    missing, total = calibration.missing(), calibration.total
    if missing < total:
        say(f"{total - missing} of {counted(total, 'instance')} were played before")
    with progress(missing, "playing") as bar, terminable():
        try:
            for pair in calibration.run():
                bar.advance(bar.task_ids[0])
                if pair.fault is not None:
                    digest = pair.target.digest
                    faults[digest] = faults.get(digest, 0) + 1
                    if faults[digest] == 1:
                        say(f"{pair.target.id} failed: {pair.fault.message}")
                elif pair.error is not None:
                    missed.append(pair.error)
                    if len(missed) == 1:
                        say(f"no answer: {pair.error}")
        except KeyboardInterrupt:
            stopped = True
    if stopped:
        say("stopped; run the same command again to go on")
    return faults, missed, stopped


def _show(
    calibration: Calibration,
    hint: str,
    faults: dict[str, int],
    missed: Sequence[ClientError],
    *,
    as_json: bool,
) -> None:
    from spade_envs.cli.figures import FIGURE_COLUMNS, figures_json, figures_row
    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.store.plays import Figures

    figures = calibration.figures()
    documents = []
    for target in calibration.targets:
        levels = {level: f for (digest, level), f in figures.items() if digest == target.digest}
        whole = Figures()
        for each in levels.values():
            whole = whole.plus(each)
        if not as_json:
            named = [*levels.items(), *([("all", whole)] if len(levels) > 1 else [])]
            rows = [(name, *figures_row(each)) for name, each in named]
            print_table(f"{target.id} (95 % intervals)", ("level", *FIGURE_COLUMNS), rows)
        documents.append(
            {
                "id": target.id,
                "digest": target.digest,
                "hint": target.hint if target.has_hint else None,
                "faults": faults.get(target.digest, 0),
                "levels": [{"level": level, **figures_json(f)} for level, f in levels.items()],
                "all": figures_json(whole),
            }
        )
    if as_json:
        echo_json(
            {
                "model": calibration.policy,
                "hint": hint,
                "seed": calibration.settings.seed,
                "unanswered": len(missed),
                "environments": documents,
            }
        )
        return
    say(f"{calibration.policy}, {hint} hints")
    without = [target.id for target in calibration.targets if not target.has_hint]
    if without:
        say(f"no regret where there is no hint(): {', '.join(without[:5])}")
    if faults:
        say(f"no result: {counted(sum(faults.values()), 'play')} that an environment broke")
    _tell_missed(missed)


def _tell_missed(missed: Sequence[ClientError]) -> None:
    from spade_envs.cli.output import counted, say
    from spade_envs.design.clients.scripted import ScriptEnded

    ended = sum(isinstance(error, ScriptEnded) for error in missed)
    if ended:
        mend = "the script is at its end: write a line for each instance of a level"
        say(f"no result: {counted(ended, 'play')} without an answer; {mend}")
    if len(missed) > ended:
        others = counted(len(missed) - ended, "play")
        say(f"no result: {others} without an answer; run it again for them")
