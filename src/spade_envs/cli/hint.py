"""`hint`: let a model write strategy hints, and show those that are there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.models import MODELS, open_model, server_options
from spade_envs.cli.stores import Finite, find, json_option, plays_root, store_option

if TYPE_CHECKING:
    from pathlib import Path

    from spade_envs.calibrate.strategy import Written
    from spade_envs.store.strategies import Strategy
    from spade_envs.types import Record

_SERVER = (
    *("concurrency", "timeout", "retries", "requests_per_minute", "tokens_per_minute"),
    *("guided", "no_stream"),
)


@click.command("hint")
@click.argument("refs", metavar="ID...", nargs=-1, required=True)
@click.option("--model", metavar="URL_OR_NAME", help=f"Write new ones with it: {MODELS}.")
@click.option(
    "--tries",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="Hints at most; a refused one goes back with the reasons.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the model.")
@click.option("--temperature", type=Finite(0), default=0.7, show_default=True, help="Of the model.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=4096,
    show_default=True,
    help="Greatest length of an answer, thinking included.",
)
@server_options
@store_option
@json_option
def hint_command(
    refs: tuple[str, ...], model: str | None, store: str | None, as_json: bool, **settings: Any
) -> None:
    """Show the strategy hints of environments, or let a model write them from the source.

    A strategy hint is one text for every instance. It passes the gates on hints (it must name no
    answers, pay nothing to who copies from it, and say something) and lies beside the environment,
    whose digest stays as it is; calibrate --hint strategy plays with it. Exit code 1 if an
    environment has none, or none that was written passed.
    """
    from spade_envs.cli.consent import ask_consent
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import echo_json
    from spade_envs.store.strategies import newest
    from spade_envs.trust.runs import source_to_run

    server = {name: settings.pop(name) for name in _SERVER}
    chosen = [find(ref, store) for ref in refs]
    documents = []
    policy = None if model is None else open_model(model, **server)
    for opened, record in chosen:
        root = plays_root(opened, store)
        if policy is None:
            documents.append(_shown(record, newest(root, record.digest), as_json=as_json))
        else:
            ask_consent(record)
            written = _write(policy, source_to_run(opened, record), record, root, settings)
            documents.append(_told(record, written, as_json=as_json))
    if as_json:
        echo_json(documents)
    if any(document["text"] is None for document in documents):
        sys.exit(FOUND)


def _write(
    policy: Any, source: Any, record: Record, root: Path, settings: dict[str, Any]
) -> Written:
    from spade_envs.calibrate.strategy import write_strategy
    from spade_envs.cli.output import progress
    from spade_envs.store.strategies import add

    with progress(None, f"{record.id}: writing and checking"):
        written = write_strategy(policy, record.digest, source, **settings)
    if written.strategy is not None:
        add(root, written.strategy)
    return written


def _shown(record: Record, strategy: Strategy | None, *, as_json: bool) -> dict[str, Any]:
    from spade_envs.cli.output import clean, print_table, say

    if strategy is None:
        say(f"{record.id} has no strategy hint; write one with --model")
    elif not as_json:
        facts = [
            ("hint", strategy.hint),
            ("written by", f"{strategy.model}, {strategy.written_at}"),
            ("gates", ", ".join(f"{gate} {said}" for gate, said in strategy.verdicts.items())),
        ]
        print_table(record.id, ("", ""), facts)
        click.echo(clean(strategy.text))
    return _document(record, strategy)


def _told(record: Record, written: Written, *, as_json: bool) -> dict[str, Any]:
    from spade_envs.cli.output import say

    for number, each in enumerate(written.tries, start=1):
        if each.reason:
            say(f"{record.id}, try {number}: {each.reason}")
    if written.strategy is not None:
        _shown(record, written.strategy, as_json=as_json)
    tries = [
        {
            "text": each.text,
            "reason": each.reason or None,
            "gates": {result.gate: result.outcome for result in each.results},
        }
        for each in written.tries
    ]
    return {**_document(record, written.strategy), "tries": tries}


def _document(record: Record, strategy: Strategy | None) -> dict[str, Any]:
    document: dict[str, Any] = {"id": record.id, "digest": record.digest}
    names = ("hint", "text", "model", "written_at")
    if strategy is None:
        return {**document, **dict.fromkeys((*names, "gates"))}
    facts = {name: getattr(strategy, name) for name in names}
    return {**document, **facts, "gates": dict(strategy.verdicts)}
