"""`search`, `similar` and `map`: what a store's environments are about, and which are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.skills import check_skills
from spade_envs.cli.stores import find, is_file, json_option, readable_stores, store_option

if TYPE_CHECKING:
    from spade_envs.memory import Memory, Neighbour
    from spade_envs.store import EnvStore

F = TypeVar("F", bound=Callable[..., Any])

_EMBEDDER = (
    "hashed, minilm, sentence:FOLDER, http://HOST:PORT/v1#MODEL or openai:MODEL. "
    "[default: the one that the store's memory was made with, else hashed]"
)


def embedder_option(command: F) -> F:
    """Add `--embedder NAME`."""
    return click.option("--embedder", metavar="NAME", help=_EMBEDDER)(command)


def _count_option(command: F) -> F:
    text = "How many to show."
    kind = click.IntRange(1, 10_000)
    return click.option("-k", "--count", "k", type=kind, default=8, show_default=True, help=text)(
        command
    )


@click.command("search")
@click.argument("text")
@_count_option
@click.option("--skill", help="Only environments that exercise this skill.")
@embedder_option
@store_option
@json_option
def search_command(
    text: str, k: int, skill: str | None, embedder: str | None, store: str | None, as_json: bool
) -> None:
    """Find the environments that are nearest to TEXT.

    New environments are embedded first. Fewer than -k are shown if there are fewer.
    """
    if not text.strip():
        raise click.UsageError("TEXT is empty; write what to look for")
    stores = readable_stores(store)
    check_skills([] if skill is None else [skill], stores)
    memories = refreshed(stores, embedder)
    found = [each for memory in memories for each in memory.search(text, k, skill=skill)]
    _show(memories, found, k, as_json=as_json)


@click.command("similar")
@click.argument("ref", metavar="ID|FILE")
@_count_option
@click.option("--skill", help="Only environments that exercise this skill.")
@embedder_option
@store_option
@json_option
def similar_command(
    ref: str, k: int, skill: str | None, embedder: str | None, store: str | None, as_json: bool
) -> None:
    """Find the environments that are nearest to one of the store, or to a file."""
    from spade_envs.cli.stores import source_of

    stores, own = readable_stores(store), None
    check_skills([] if skill is None else [skill], stores)
    if is_file(ref):
        source = source_of(ref, None)
    else:
        opened, record = find(ref, store)
        source, own = opened.source(record), record.digest
    memories = refreshed(stores, embedder)
    row = next((v for m in memories if own and (v := m.vector(own)) is not None), None)
    if row is None:
        row = memories[0].embed_source(source)
    found = [each for memory in memories for each in memory.near(row, k + 1, skill=skill)]
    _show(memories, [each for each in found if each.record.digest != own], k, as_json=as_json)


@click.command("map")
@click.option("--html", metavar="FILE", help="Write the picture as a self-contained page.")
@embedder_option
@store_option
@json_option
def map_command(html: str | None, embedder: str | None, store: str | None, as_json: bool) -> None:
    """Show a store as a picture in which environments that are alike lie near each other.

    Without --html, print the points and the nearest neighbour of each.
    """
    from spade_envs.cli.output import (
        counted,
        echo_json,
        page_to_write,
        print_table,
        say,
        write_page,
    )
    from spade_envs.reports.store_map import map_of, render_map
    from spade_envs.store.plays import PlayReader

    path = page_to_write(html)
    (memory,) = refreshed(readable_stores(store)[:1], embedder)
    found = map_of(memory, PlayReader(memory.store.root).figures())
    if as_json:
        names = ("store", "embedder", "share", "left_out")
        head = {name: getattr(found, name) for name in names}
        echo_json({**head, "points": [point.as_json() for point in found.points]})
    elif path is None:
        rows = [
            (p.record.id, f"{p.x:.2f}", f"{p.y:.2f}", p.nearest or "", _number(p.similarity))
            for p in found.points
        ]
        print_table("", ("id", "x", "y", "nearest", "similarity"), rows)
    if path is not None:
        write_page(path, lambda made_at: render_map(found, made_at=made_at))
    say(f"{counted(len(found.points), 'environment')}, {found.share:.0%} of the differences shown")


def remembering(total: int | None = None) -> Any:
    """Return a progress bar for embedding, and what tells it how far it is."""
    from spade_envs.cli.output import progress

    bar = progress(total, "embedding")

    def show(done: int, total: int) -> None:
        bar.update(bar.task_ids[0], completed=done, total=total)

    return bar, show


def refreshed(stores: Iterable[EnvStore], embedder: str | None) -> list[Memory]:
    """Return the refreshed memories of some stores, all of one embedder.

    A further store whose memory is of another embedder is left out, and that is said. The starter
    store is a part of this package or its checkout, so nothing is written into it.
    """
    from spade_envs.cli.output import say
    from spade_envs.errors import ConfigError
    from spade_envs.memory import open_memory
    from spade_envs.store import starter_path

    starter = starter_path()
    memories: list[Memory] = []
    for opened in stores:
        try:
            memory = open_memory(
                opened,
                memories[0].embedder if memories else embedder,
                keep=starter is None or opened.root.resolve() != starter.resolve(),
            )
        except ConfigError as error:
            if not memories:
                raise
            say(f"left out: {error}")
            continue
        bar, show = remembering()
        with bar:
            memory.refresh(show)
        memories.append(memory)
    return memories


_FAR = 0.1
"""Similarity below which nothing can be said to be near, by any embedder."""


def _show(memories: list[Memory], found: list[Neighbour], k: int, *, as_json: bool) -> None:
    from spade_envs.cli.browse import about, row_of
    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.store.plays import Figures, PlayReader

    best: dict[str, Neighbour] = {}
    for each in sorted(found, key=lambda each: (-each.similarity, each.record.id)):
        best.setdefault(each.record.digest, each)
    shown = list(best.values())[:k]
    figures = {m.store.root: PlayReader(m.store.root).figures() for m in memories}
    plays = [figures[e.record.store].get(e.record.digest, Figures()) for e in shown]
    if as_json:
        echo_json(
            [
                {
                    **row_of(each.record),
                    "similarity": round(each.similarity, 6),
                    "plays": played.plays,
                    "success": played.success,
                    "regret": played.regret,
                }
                for each, played in zip(shown, plays, strict=True)
            ]
        )
        return
    rows = [
        (each.record.id, f"{each.similarity:.3f}", _won(played), about(each.record))
        for each, played in zip(shown, plays, strict=True)
    ]
    columns = ("id", "similarity", "won", "skills and summary")
    print_table("", columns, rows, spare=columns[:0:-1])
    total = sum(len(memory) for memory in memories)
    if shown and shown[0].similarity < _FAR:
        say("nothing is near: these are the least far (similarity 1 is the same, 0 is unrelated)")
    say(f"{len(shown)} of {counted(total, 'environment')}, {memories[0].fingerprint}")


def _won(figures: Any) -> str:
    return "" if figures.success is None else f"{figures.successes} of {figures.plays}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
