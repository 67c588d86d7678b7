"""`generate`: documents in, certified environments out."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.stores import Finite, Licence, json_option, store_option, writable_store

if TYPE_CHECKING:
    from spade_envs.types import Record, Rejection


@click.command("generate")
@click.option(
    "--designer",
    required=True,
    help="nano, http://HOST:PORT/v1, openai:MODEL, hf:PATH, scripted:FILE (docs/generate.md).",
)
@click.option("--model", help="Model to ask a server for. [default: its first one]")
@click.option(
    "--corpus", default="pydoc", show_default=True, help="Folder, file, hf:NAME, or pydoc."
)
@click.option("--count", type=click.IntRange(1), required=True, help="Environments wanted.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the whole run."
)
@click.option("--max-attempts", type=click.IntRange(1), help="[default: twice --count]")
@click.option("--skills", help="Comma-separated; every skill by default.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["text", "tool"]),
    multiple=True,
    help="What to ask for; may be repeated; both by default.",
)
@click.option(
    "--repair-turns",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Times that the designer is shown what was refused, to mend it.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Attempts that are made at a time.",
)
@click.option(
    "--temperature",
    type=Finite(0),
    default=0.8,
    show_default=True,
    help="Of the designer's sampling.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=4096,
    show_default=True,
    help="Greatest length of one answer of the designer.",
)
@click.option(
    "--licence",
    type=Licence(),
    default="MIT",
    show_default=True,
    help="SPDX identifier of the results.",
)
@store_option
@json_option
def generate_command(
    designer: str,
    model: str | None,
    corpus: str,
    count: int,
    seed: int,
    max_attempts: int | None,
    skills: str | None,
    kinds: tuple[Any, ...],
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Let a designer write environments and register those that the gates accept.

    Run the same command again to go on after a stop: nothing finished is done twice or lost. With
    --json every outcome is one line. Exit code 1 if fewer than --count were accepted.
    """
    from spade_envs.cli.main import FOUND, INTERRUPTED
    from spade_envs.cli.output import progress, say
    from spade_envs.corpus import open_corpus
    from spade_envs.design.clients import open_policy
    from spade_envs.pipeline import Progress, generate

    writer, documents = open_policy(designer, model=model), open_corpus(corpus)
    opened = writable_store(store)
    tally = _Tally(as_json=as_json)
    with progress(count, "certified") as bar:

        def show(state: Progress) -> None:
            text = f"certified ({state.rejected} refused)"
            bar.update(bar.task_ids[0], completed=state.accepted, description=text)

        outcomes = generate(
            writer,
            documents,
            opened,
            count=count,
            seed=seed,
            max_attempts=max_attempts,
            skills=[name.strip() for name in skills.split(",")] if skills else [],
            kinds=kinds,
            progress=show,
            **settings,
        )
        try:
            for outcome in outcomes:
                tally.add(outcome)
        except KeyboardInterrupt:
            bar.stop()
            tally.summary(str(opened.root))
            say("stopped; run the same command again to go on")
            sys.exit(INTERRUPTED)
    tally.summary(str(opened.root))
    if tally.accepted < count:
        sys.exit(FOUND)


class _Tally:
    """Counts outcomes and prints them as they come."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.accepted = 0
        self.reasons: Counter[str] = Counter()

    def add(self, outcome: Record | Rejection) -> None:
        """Count one outcome and print it."""
        from spade_envs.cli.output import clean, echo_json_line
        from spade_envs.types import Record

        if isinstance(outcome, Record):
            self.accepted += 1
            line = {"outcome": "accepted", "id": outcome.id, "digest": outcome.digest}
            text = f"accepted  {outcome.id}  {outcome.summary}"
        else:
            reason = clean(outcome.reason)
            self.reasons[_kind(outcome)] += 1
            line = {"outcome": "refused", "stage": outcome.stage, "reason": reason}
            line["attempt"] = str(outcome.attempt)
            text = f"refused   {outcome.stage}: {reason}"
        if self.as_json:
            echo_json_line(line)
        else:
            click.echo(clean(text))

    def summary(self, root: str) -> None:
        """Print the counts: a table to stdout, or one line to stderr with --json."""
        from spade_envs.cli.output import print_table, say

        refused = sum(self.reasons.values())
        say(f"{self.accepted} accepted, {refused} refused, in {root}")
        if self.reasons and not self.as_json:
            print_table("Refused", ("why", "count"), self.reasons.most_common())


def _kind(rejection: Rejection) -> str:
    """Return what rejections are counted by: the gate's id, or the stage."""
    gate = rejection.reason.partition(":")[0]
    return f"gate {gate}" if rejection.stage == "gates" and len(gate) <= 5 else rejection.stage
