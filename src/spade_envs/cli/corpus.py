"""`corpus`: what documents come to, and what is drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.stores import Finite, Licence, json_option

if TYPE_CHECKING:
    from spade_envs.corpus import Corpus

F = TypeVar("F", bound=Callable[..., Any])

_BAR = 40


@click.group("corpus", context_settings={"help_option_names": ["-h", "--help"]})
def corpus_command() -> None:
    """Look at the documents that designers read.

    SPEC is a folder, a file, pydoc, hf:NAME, or a TOML file of sources (docs/corpus.md).
    """


_OPTIONS = (
    click.argument("specs", metavar="SPEC...", nargs=-1, required=True),
    click.option("--words", type=click.IntRange(1), help="Words per passage. [default: 400]"),
    click.option(
        "--weight",
        "weights",
        type=Finite(0, min_open=True),
        multiple=True,
        help="Share of the draws of each SPEC, in their order; may be repeated.",
    ),
    click.option("--replacement", is_flag=True, help="Draw anew each time, not each passage once."),
    click.option("--licence", type=Licence(), help="SPDX identifier of documents that name none."),
    click.option("--text-key", metavar="KEY", help="Key or column of a row's text."),
    click.option(
        "--language",
        "languages",
        metavar="CODE",
        multiple=True,
        help="Keep passages in this language, such as en; may be repeated.",
    ),
    click.option("--min-words", type=click.IntRange(0), default=0, help="Shortest passage kept."),
    click.option("--max-words", type=click.IntRange(1), help="Longest passage kept."),
    click.option("--no-boilerplate", is_flag=True, help="Leave out menus, notices, links."),
    click.option(
        "--near-duplicates",
        type=Finite(0.4, 1),
        metavar="SHARE",
        help="Leave out passages that are in this share an earlier one; 0.8 is usual.",
    ),
    json_option,
)


def _spec_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@corpus_command.command("stats")
@_spec_options
def stats_command(as_json: bool, **settings: Any) -> None:
    """Count documents, passages, what is left out and why, and show how long passages are."""
    from spade_envs.cli.output import echo_json, print_table, say
    from spade_envs.corpus.stats import figures

    found = figures(_opened(settings))
    if as_json:
        echo_json(found)
        return
    rows = [
        (
            one["name"],
            one["documents"],
            one["passages"],
            one["characters"],
            f"{one['share']:.1%}",
            one["licence"],
        )
        for one in found["sources"]
    ]
    columns = ("source", "documents", "passages", "characters", "draws", "licence")
    print_table("", columns, rows)
    for what, key in (("passages left out", "left_out"), ("unusable files, rows", "unusable")):
        if found[key]:
            print_table("", (what, "count"), found[key].items())
    print_table("", ("characters", "to", "passages", ""), _bars(found["lengths"]))
    for example in found["examples"][:3]:
        say(f"unusable: {example}")
    if found["index"]:
        say(f"index: {found['index']}")
    say(f"{found['name']}: {found['passages']} passages, fingerprint {found['fingerprint']}")


@corpus_command.command("sample")
@_spec_options
@click.option("--count", type=click.IntRange(1), default=3, show_default=True, help="Passages.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order.")
@click.option(
    "--position", type=click.IntRange(0), default=0, show_default=True, help="Draws to skip."
)
def sample_command(as_json: bool, count: int, seed: int, position: int, **settings: Any) -> None:
    """Print the passages that a run with this seed draws, with where they come from.

    With --json, one object for each, which has the cursor after it.
    """
    from spade_envs.cli.output import clean, echo_json_line, say
    from spade_envs.corpus import Cursor

    corpus = _opened(settings)
    cursor = Cursor(seed=seed, position=position)
    for _ in range(count):
        passage, cursor = corpus.draw(cursor)
        facts = ("corpus", "source", "offset", "sha256", "licence", "title")
        if as_json:
            fields = {name: getattr(passage, name) for name in (*facts, "text")}
            metadata = dict(passage.metadata)
            echo_json_line({**fields, "metadata": metadata, "cursor": cursor.as_json()})
            continue
        click.echo(clean(f"== {passage.title}"))
        where = f"{passage.corpus}: {passage.source} at {passage.offset} ({passage.licence})"
        click.echo(clean(f"{where} sha256 {passage.sha256[:16]}"))
        click.echo("\n" + "\n".join(clean(line) for line in passage.text.split("\n")) + "\n")
    say(f"go on with --position {cursor.position}")


def _opened(settings: dict[str, Any]) -> Corpus:
    """Open what the options of a command name, with a progress bar while it is indexed."""
    from spade_envs.cli.output import progress
    from spade_envs.corpus import open_corpus

    licence, spec = settings["licence"], _spec(settings)
    with progress(None, "MiB read") as bar:

        def show(done: int, total: int) -> None:
            bar.update(bar.task_ids[0], completed=done >> 20, total=max(1, total >> 20))

        return open_corpus(spec, licence=licence, progress=show)


def _spec(settings: dict[str, Any]) -> Any:
    """Return the settings that the options come to, or the one file that holds them.

    Raises:
        click.UsageError: options and such a file are mixed, or weights and sources do not match.
        CorpusError: the settings cannot be used.
    """
    from pathlib import Path

    from spade_envs.corpus import CorpusSettings, Filters, Source
    from spade_envs.corpus.settings import is_settings

    specs, weights = settings["specs"], settings["weights"]
    if any(is_settings(Path(spec).expanduser()) for spec in specs):
        others = {name: value for name, value in settings.items() if name != "licence"}
        if len(specs) > 1 or any(others[name] for name in others if name != "specs"):
            raise click.UsageError("a TOML file of sources settles everything; edit it instead")
        return specs[0]
    if weights and len(weights) != len(specs):
        raise click.UsageError(f"there are {len(specs)} sources, so give --weight as many times")
    return CorpusSettings(
        sources=tuple(
            Source(path=spec, weight=weight, text_key=settings["text_key"])
            for spec, weight in zip(specs, weights or [None] * len(specs), strict=True)
        ),
        words=settings["words"],
        replacement=settings["replacement"],
        filters=Filters(
            languages=settings["languages"],
            min_words=settings["min_words"],
            max_words=settings["max_words"],
            boilerplate=settings["no_boilerplate"],
            near_duplicates=settings["near_duplicates"],
        ),
    )


def _bars(lengths: dict[str, Any]) -> list[tuple[object, ...]]:
    most = max(count for _, _, count in lengths["histogram"])
    return [
        (first, last, count, "█" * -(-_BAR * count // most))
        for first, last, count in lengths["histogram"]
    ]
