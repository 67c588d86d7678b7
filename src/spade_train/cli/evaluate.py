"""`spade-train eval`: a policy on benchmarks, with floors and ceiling beside it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.models import MODELS, open_model, server_options

if TYPE_CHECKING:
    from spade_envs.design.clients import Policy
    from spade_envs.types import Json
    from spade_train.evaluate.players import Player
    from spade_train.evaluate.run import Evaluation, Plan
    from spade_train.evaluate.summary import Summary
    from spade_train.suites.base import Decoding, Suite

EVALS = "evals"
_TOLD = 3
_SERVER = (
    *("concurrency", "timeout", "retries", "requests_per_minute", "tokens_per_minute"),
    *("guided", "no_stream"),
)
_PLAN = ("limit", "seed", "live", "retry_faults")
_DECODING = ("samples", "temperature", "max_tokens", "max_turns", "context_tokens")


@click.command("eval")
@click.option("--suite", "suites", multiple=True, required=True, help="See spade-train suites.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="SPEC",
    help=f"Checkpoint folder, {MODELS}, oracle, empty, random, constant=TEXT or "
    "python:MODULE:FUNCTION.",
)
@click.option("--name", help="Name of the policy's row, such as its step. [default: the model's]")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of the suite.")
@click.option("--limit", type=click.IntRange(1), help="The first so many tasks.")
@click.option("--samples", type=click.IntRange(1), help="Attempts at each task.")
@click.option("--temperature", type=click.FloatRange(0), help="Of the sampling.")
@click.option("--max-tokens", type=click.IntRange(1), help="Greatest length of one reply.")
@click.option("--max-turns", type=click.IntRange(1), help="Replies in one attempt.")
@click.option("--context-tokens", type=click.IntRange(1), help="Greatest length of one attempt.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Of the weights of a checkpoint. [default: as they are]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--live", type=click.IntRange(1), default=32, show_default=True, help="At once.")
@click.option("--workers", type=click.IntRange(1), default=1, help="Processes of a suite.")
@click.option("--out", type=click.Path(path_type=Path), default=EVALS, show_default=True)
@click.option("--no-floors", is_flag=True, help="Leave out oracle, empty, constant and random.")
@click.option("--transcripts", is_flag=True, help="Keep the conversations.")
@click.option("--retry-faults", is_flag=True, help="Make attempts that failed on faults again.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@server_options
def eval_command(
    suites: tuple[str, ...],
    policies: tuple[str, ...],
    name: str | None,
    settings: tuple[str, ...],
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Play benchmarks and print how well it went, with floors and ceiling.

    Decoding is the published one of the suite unless it is set here. Finished attempts are kept
    below --out: the same command goes on after a stop and repeats nothing, and a greater --limit or
    --samples adds what is missing.

    Exit code 0 if every attempt has a score, 1 if some ended with a fault or without an answer, 2
    for wrong usage, 3 if the machinery failed.
    """
    from spade_envs.errors import ClientError, StorageError
    from spade_train.cli import INTERRUPTED, MACHINERY
    from spade_train.errors import StateError, SuiteError
    from spade_train.suites.registry import open_suite, read_settings

    if name and len(policies) != 1:
        raise click.UsageError("--name is for one --policy")
    given = read_settings(settings)
    server = {key: options.pop(key) for key in _SERVER}
    found: list[Summary] = []
    try:
        _check(suites, given, out)
        for each in suites:
            suite = open_suite(each, given, workers=options["workers"])
            try:
                players = _players(
                    policies,
                    server,
                    name,
                    suite.decoding,
                    dtype=options["dtype"],
                    floors=not options["no_floors"],
                )
                found += _evaluate(suite, players, out.absolute(), options)
            finally:
                suite.close()
    except (ClientError, SuiteError, StateError, StorageError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    except KeyboardInterrupt:
        click.echo("interrupted; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        click.echo(json.dumps([each.as_json() for each in found], indent=2))
    else:
        _show(found)
    faults = sum(each.overall.faults - each.overall.unanswered for each in found)
    sys.exit(1 if faults else 0)


def _check(suites: Sequence[str], given: Mapping[str, Json], out: Path) -> None:
    """Refuse, before the first suite is played, what any of them lacks and a place of no use."""
    from spade_envs.store.room import check_rights, check_way
    from spade_train.suites.registry import prepared

    for each in suites:
        prepared(each, given)
    if os.path.lexists(out) and not out.is_dir():
        raise click.UsageError(f"--out {out} is no folder; name another place")
    check_way(out)
    check_rights(out)


def _players(
    specs: Sequence[str],
    server: dict[str, Any],
    name: str | None,
    decoding: Decoding,
    *,
    dtype: str | None,
    floors: bool,
) -> list[Player]:
    from spade_train.evaluate.players import FLOORS, model_spec, open_player, scripted

    wanted = dict.fromkeys([*specs, *(FLOORS if floors or not specs else ())])
    players: list[Player] = []
    for spec in wanted:
        named = (name or "") if spec in specs else ""
        if scripted(spec) is not None:
            players.append(open_player(spec, name=named))
            continue
        policy, cuts = _model(model_spec(spec), server, decoding, dtype)
        players.append(open_player(spec, policy=policy, name=named, cuts=cuts, dtype=dtype))
    return players


def _model(
    spec: str, server: dict[str, Any], decoding: Decoding, dtype: str | None
) -> tuple[Policy, bool]:
    """Return a model, and whether it draws from the tokens that the decoding allows alone."""
    from spade_envs.design.clients import open_policy

    named = (("top_p", decoding.top_p), ("top_k", decoding.top_k))
    cuts: dict[str, Any] = {key: value for key, value in named if value is not None}
    if spec.startswith(("hf:", "vllm:")) and not any(server.values()):
        kind = {} if dtype is None else {"dtype": dtype}
        return open_policy(spec, **cuts, **kind), True
    if dtype is not None:
        raise click.UsageError(f"--dtype is about checkpoints, and {spec} is none: leave it out")
    if spec.startswith(("http://", "https://")):
        return open_model(spec, **server, **cuts), True
    return open_model(spec, **server), not cuts


def _evaluate(
    suite: Suite, players: Sequence[Player], out: Path, options: dict[str, Any]
) -> list[Summary]:
    from spade_train.evaluate.run import Evaluation, Plan
    from spade_train.evaluate.summary import summarize

    asked = {key: options[key] for key in _DECODING if options[key] is not None}
    decoding = replace(suite.decoding, **asked)
    plan = Plan(decoding=decoding, **{key: options[key] for key in _PLAN})
    _tell(suite, plan, players)
    found = []
    for player in players:
        evaluation = Evaluation(suite, player, plan, out, transcripts=options["transcripts"])
        if options["transcripts"]:
            _tell_untold(evaluation)
        _play(evaluation, quiet=options["quiet"])
        found.append(summarize(evaluation.header, evaluation.records()))
    return found


def _tell(suite: Suite, plan: Plan, players: Sequence[Player]) -> None:
    """Say what of the published decoding is not followed."""
    if not any(player.decodes for player in players):
        return
    if not all(player.cuts for player in players if player.decodes):
        click.echo(f"{suite.name}: not as published: no top_p or top_k for this policy", err=True)
    changed = [
        f"{key} {getattr(plan.decoding, key)} in place of {getattr(suite.decoding, key)}"
        for key in _DECODING
        if getattr(plan.decoding, key) != getattr(suite.decoding, key)
    ]
    if changed:
        click.echo(f"{suite.name}: not as published: {', '.join(changed)}", err=True)


def _tell_untold(evaluation: Evaluation) -> None:
    """Say how many of the attempts that are there already keep no conversation."""
    from spade_envs.reports.visible import clean
    from spade_train.evaluate.records import read_transcripts

    told = read_transcripts(evaluation.folder) if evaluation.folder else {}
    untold = [each for each in evaluation.records() if not each.fault and each.key not in told]
    if untold:
        name = clean(f"{evaluation.header.suite} {evaluation.header.player}")
        click.echo(
            f"{name}: {len(untold)} attempts made before keep no conversation; "
            "another --out makes them anew",
            err=True,
        )


def _play(evaluation: Evaluation, *, quiet: bool) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from spade_envs.reports.visible import clean

    header, total = evaluation.header, len(evaluation.attempts())
    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not shown) as progress:
        text = clean(f"{header.suite} {header.player}")
        bar = progress.add_task(text, total=total, completed=len(evaluation.records()))
        won = 0
        for records in evaluation.run():
            won += sum(bool(each.success) for each in records)
            progress.update(bar, advance=len(records), description=f"{text}: {won} solved")


def _show(found: Sequence[Summary]) -> None:
    from spade_train.evaluate.table import by_suite, markdown
    from spade_train.suites.base import UNANSWERED

    for table in by_suite(found):
        click.echo(markdown(table))
        click.echo()
    for each in found:
        for text, count in list(each.faults.items())[:_TOLD]:
            if text != f"{UNANSWERED.where}: {UNANSWERED.reason}":
                click.echo(f"{each.header.player}: {count} faults, {text}", err=True)
