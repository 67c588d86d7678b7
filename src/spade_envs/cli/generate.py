"""`generate`: documents in, certified environments out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.brief import brief_options, make_desk
from spade_envs.cli.models import MODELS, open_model, server_options
from spade_envs.cli.skills import check_skills, listed
from spade_envs.cli.stores import (
    Finite,
    Licence,
    fillable_store,
    json_option,
    novelty_option,
    store_option,
    writable_store,
)

if TYPE_CHECKING:
    from spade_envs.design.clients import Policy, Price
    from spade_envs.pipeline import Budget, Progress
    from spade_envs.store import EnvStore
    from spade_envs.types import Record, Rejection


@click.command("generate")
@click.option("--model", metavar="URL_OR_NAME", help=f"{MODELS} (docs/generate.md).")
@click.option("--designer", metavar="URL_OR_NAME", help="The same; --model is then its #NAME.")
@click.option(
    "--corpus", default="pydoc", show_default=True, help="Folder, file, hf:NAME, or pydoc."
)
@click.option("--count", type=click.IntRange(1), help="Environments wanted.")
@click.option(
    "--budget",
    multiple=True,
    metavar="tokens=N|usd=N|minutes=N",
    help="Where to stop; may be repeated.",
)
@click.option("--price", metavar="in=N,out=N", help="Dollars per million tokens.")
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
@brief_options
@server_options
@click.option("--html", metavar="FILE", help="Where the page about the run goes.")
@novelty_option
@store_option
@json_option
def generate_command(
    model: str | None,
    designer: str | None,
    corpus: str,
    count: int | None,
    budget: tuple[str, ...],
    price: str | None,
    skills: str | None,
    html: str | None,
    novelty: str | None,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Let a model write environments and register those that the gates accept.

    Run the same command again to go on after a stop: nothing finished is done twice or lost, and no
    answer is asked for twice. With --json every outcome is one line. Exit code 0 if --count were
    accepted (without --count: if any was), 1 if fewer, 130 if interrupted.
    """
    from spade_envs.cli.door import thresholds
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import page_to_write
    from spade_envs.corpus import open_corpus
    from spade_envs.pipeline import Budget, generate

    spec = designer or model
    if not spec:
        raise click.UsageError(f"name a model with --model: {MODELS}")
    server = {name: settings.pop(name) for name in _SERVER}
    limits = Budget.parse(budget)
    if count is None and settings["max_attempts"] is None and not limits.limited:
        raise click.UsageError("give --count, --max-attempts or --budget, so that the run ends")
    page, paid = page_to_write(html), _price(price, limits)
    check_skills(listed(skills), [], label=True)
    documents = open_corpus(corpus)
    fillable_store(store)  # no model is loaded in vain, and no store is made for a misspelt one
    writer = open_model(spec, model=model if designer else None, **server)
    opened = writable_store(store)
    asked = {name: settings.pop(name) for name in ("parents", "memory", "apart", "crowd")}
    desk = make_desk(opened, modes=settings["modes"], **asked)
    night = _Night(writer, opened, paid, page, as_json=as_json)
    outcomes = generate(
        writer,
        documents,
        opened,
        count=count,
        skills=listed(skills),
        budget=limits,
        price=paid,
        progress=night.note,
        novelty=thresholds(novelty),
        desk=desk,
        **settings,
    )
    night.run(outcomes, count)
    if night.tally.accepted < (count or 1):
        sys.exit(FOUND)


_SERVER = (
    *("concurrency", "timeout", "retries", "requests_per_minute", "tokens_per_minute"),
    *("guided", "no_stream"),
)


def _price(price: str | None, limits: Budget) -> Price | None:
    from spade_envs.design.clients import Price

    if limits.usd is not None and price is None:
        raise click.UsageError("a budget in usd needs the price of tokens: --price in=N,out=N")
    return None if price is None else Price.parse(price)


class _Night:
    """One run from its first outcome to its page."""

    def __init__(
        self,
        writer: Policy,
        store: EnvStore,
        price: Price | None,
        page: Path | None,
        *,
        as_json: bool,
    ) -> None:
        self.writer, self.store, self.price, self.page = writer, store, price, page
        self.tally = _Tally(as_json=as_json)
        self.state: Progress | None = None
        self._live: Any = None

    def note(self, state: Progress) -> None:
        """Keep and show how far the run is."""
        from spade_envs.cli.output import say

        if self.state is None and not sys.stderr.isatty():  # in a log, nothing else shows a start
            say(f"{state.run}: asking {self.writer.name}; spade-envs runs tells how far it is")
        self.state = state
        self._live.report(state)

    def run(self, outcomes: Iterator[Record | Rejection], count: int | None) -> None:
        """Print the outcomes as they come, then what became of all; exit if interrupted."""
        from spade_envs.cli.live import LiveRun
        from spade_envs.cli.main import INTERRUPTED
        from spade_envs.cli.many import terminable
        from spade_envs.cli.output import say
        from spade_envs.errors import SpadeError

        stopped, failure = "", None
        with LiveRun(count, self.price) as self._live, terminable():
            try:
                for outcome in outcomes:
                    self.tally.add(outcome)
            except KeyboardInterrupt:
                stopped = "interrupted"
            except SpadeError as error:
                stopped, failure = str(error), error
        self.tally.summary(str(self.store.root))
        self._tell(stopped)
        if failure is not None:
            raise failure
        if stopped:
            say("stopped; run the same command again to go on")
            sys.exit(INTERRUPTED)

    def _tell(self, stopped: str) -> None:
        """Say what the run took and why it ended, and write its page."""
        from spade_envs.cli.output import say, write_page
        from spade_envs.pipeline import summarise
        from spade_envs.reports.generation import STOPS, render_generation
        from spade_envs.store.files import refuse_links

        if self.state is None:
            return
        why = stopped or self.state.stopped
        found = summarise(self.store, self.state.run, self.price)
        cost = "" if found.cost is None else f", ${found.cost:.4f}"
        taken = f"{found.usage.requests} answers, {found.usage.tokens:,} tokens{cost}"
        say(f"{taken}: {STOPS.get(why, why)}")
        done = self.state.accepted + self.state.rejected
        if done and self.state.replayed == done and not stopped:
            say("all of it was done before, and nothing was asked for; --seed N makes another run")
        page = self.page
        if page is None:
            refuse_links(self.store.root, ".cache")
            page = self.store.root / ".cache" / f"{found.run}.html"
            page.parent.mkdir(exist_ok=True)
        name = self.writer.name
        write_page(
            page,
            lambda made_at: render_generation(found, stopped=why, designer=name, made_at=made_at),
        )


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
    from spade_envs.pipeline.run import refused_by

    cause = refused_by(rejection.stage, rejection.reason)
    return cause if cause == rejection.stage else f"gate {cause}"
