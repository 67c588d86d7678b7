"""`train`: from a configuration and a folder to a run that is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from spade_envs.corpus import Corpus, open_corpus
from spade_envs.errors import ConfigError, CorpusError, NotFound, SpadeError
from spade_envs.store import EnvStore
from spade_train.batch import World
from spade_train.config import Config
from spade_train.errors import CorpusChanged, HealthError
from spade_train.launch.book import NoBook, RunBook, Watch
from spade_train.launch.chosen import chosen, named_store
from spade_train.launch.folder import Opened, open_folder
from spade_train.launch.heldout import HeldStore, open_heldout
from spade_train.launch.machines import STORE, Forms, Machines
from spade_train.launch.signals import Interrupts
from spade_train.launch.summary import Summary, summarise, write_summary
from spade_train.loop import HeldOut, LiveEnv, Loop
from spade_train.loop.events import Book
from spade_train.loop.pools import pool_of
from spade_train.nano.programs import family_of
from spade_train.runs import open_sinks, read_metrics
from spade_train.runs.directory import refuse_taken
from spade_train.suites.registry import open_spec
from spade_train.trainer import load_policy, open_world

T = TypeVar("T")

HELD_OUT = "heldout"
"""Folder of held-out environments that were written for a run."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a configuration names and a run only reads."""

    model: Any
    tokenizer: Any
    corpus: Corpus | None

    @classmethod
    def of(cls, config: Config) -> Self:
        """Open them."""
        corpus = _corpus(config)
        model, tokenizer = load_policy(config)
        return cls(model, tokenizer, corpus)


def train(
    config: Config | None, out: Path, *, resume: bool = False, watch: Watch | None = None
) -> Summary:
    """Train until the run ends, is told to stop, or stops by itself.

    SIGTERM and SIGINT end it after the update under way, with a checkpoint. The folder of a new run
    is made once everything that the configuration names was found.

    Args:
        config: the configuration; None takes that of the folder, which must be resumed then.
        out: the run's folder; new, or to be resumed.
        resume: whether to go on with the run in the folder.
        watch: called with the number and the metrics of every update.

    Raises:
        ConfigError: the configuration or the folder cannot be used.
        HealthError: the run stopped by its limits; its records and checkpoints are kept.
        CorpusChanged: documents changed meanwhile; records and checkpoints are kept.
        EngineError: the sampling engine failed.
        StateError: a checkpoint or record is damaged, or another process trains in the folder.
    """
    world = open_world()
    with Interrupts() as interrupts, ExitStack() as stack:
        out = out.absolute()
        parts: _Parts | None = None
        if config is not None and not resume:
            parts = _found(config, out, world)
        opened = open_folder(config, out, world, resume=resume)
        if opened.run is not None:
            stack.enter_context(opened.run)
        try:
            _run(opened, parts or _Parts.of(opened.config), world, interrupts, watch)
        except (HealthError, CorpusChanged) as error:
            if opened.run is not None:
                what = "corpus" if isinstance(error, CorpusChanged) else "health"
                opened.run.events.note("stopped", _last(opened), why=f"{what}: {error}")
                write_summary(summarise(opened.path))
            raise
        summary = summarise(opened.path)
        if opened.run is not None:
            write_summary(summary)
    return summary


def look_for(config: Config) -> None:
    """Look for the stores, environments and benchmarks that a configuration names; writes nothing.

    Raises:
        ConfigError: one is not there, or nothing in it can be played; the message names the key.
        SuiteError: a benchmark's process cannot be started.
    """
    held = HeldStore(HeldOut())
    if config.evaluation.source != "nano":  # those are written later
        held = open_heldout(config, Path(HELD_OUT))
    _pool(config, held)
    _spare(config, held)
    for suite in config.evaluation.suites:
        try:
            open_spec(suite).close()
        except (ConfigError, NotFound) as error:
            raise ConfigError(f"evaluation.suites: {error}") from None


def _found(config: Config, out: Path, world: World) -> _Parts:
    """Return what a new run reads; raises before anything is written where it cannot begin."""

    def look() -> None:
        if world.rank == 0:  # which may make the folder while the others would still look
            refuse_taken(out)
            look_for(config)

    _in_turn(world, look)
    parts = _Parts.of(config)
    Forms.of(config, parts.model, parts.tokenizer)
    return parts


def _run(
    opened: Opened, parts: _Parts, world: World, interrupts: Interrupts, watch: Watch | None
) -> None:
    # In a function of its own, for torch is loaded here.
    from spade_train.trainer.train import Trainer

    config, model, tokenizer = opened.config, parts.model, parts.tokenizer
    held = _in_turn(world, lambda: open_heldout(config, opened.path / HELD_OUT))
    pool_store, pool = _pool(config, held)
    spare_store, spare = _spare(config, held)
    stores = [store for store in (pool_store, spare_store, held.store) if store is not None]
    with (
        Machines(opened, model, tokenizer, world, stores) as machines,
        _book(opened, watch) as book,
    ):
        loop = Loop(
            config,
            machines.rollouts,
            machines.rollouts,
            book,
            world,
            corpus=parts.corpus,
            held=held.held,
            pool=pool,
            fallback=spare,
            interrupted=interrupts.reason,
            family=_family,
            exams=machines.exams,
        )
        trainer = Trainer(
            config, model, tokenizer, loop, machines.engine, run=opened.run, world=world
        )
        trainer.train(opened.checkpoint)


def _last(opened: Opened) -> int:
    """Return the number of the last update in the records; -1 if there is none."""
    lines = read_metrics(opened.path / "metrics.jsonl")
    return int(lines[-1]["update"]) if lines else -1


@contextmanager
def _book(opened: Opened, watch: Watch | None) -> Iterator[Book]:
    """Give the records of the main process, those that write nothing in the others."""
    run = opened.run
    if run is None:
        yield NoBook()
        return
    update = opened.checkpoint.update if opened.checkpoint else 0
    sinks = open_sinks(opened.config, opened.path, run.run, update=update)
    try:
        yield RunBook(run, sinks, watch, store=opened.path / STORE)
    finally:
        for sink in sinks:
            sink.close()


def _in_turn(world: World, make: Callable[[], T]) -> T:
    """Return what `make` gives, in the main process first: the others find its files there."""
    if world.rank == 0:
        try:
            made = make()
        except (SpadeError, OSError):
            world.gather(False)
            raise
        world.gather(True)
        return made
    if not world.gather(True)[0]:
        raise ConfigError("the main process could not go on; see its message")
    return make()


def _pool(config: Config, held: HeldStore) -> tuple[EnvStore | None, Sequence[LiveEnv]]:
    """Return the store of a fixed pool that is there already, and its environments."""
    source = config.pool.source
    return (None, ()) if source == "designer" else _stocked(config, "pool.source", source, held)


def _spare(config: Config, held: HeldStore) -> tuple[EnvStore | None, Sequence[LiveEnv]]:
    """Return the store that is played while the designer writes nothing, and its environments."""
    return _stocked(config, "designer.fallback", config.designer.fallback, held)


def _stocked(
    config: Config, key: str, source: str, held: HeldStore
) -> tuple[EnvStore | None, Sequence[LiveEnv]]:
    """Return the store that a key names, and what is played of it."""
    if source == "none":
        return None, ()
    store = named_store(key, source)
    apart = () if config.evaluation.source == "pool" else held.held.digests
    records = chosen(store, config.pool.ids if key == "pool.source" else ())
    return store, pool_of(config, records, apart, key=key)


def _corpus(config: Config) -> Corpus | None:
    corpus = config.corpus
    designs = config.designer.interval > 0 or config.pool.source == "designer"
    if corpus.source == "none" or not designs:
        return None
    try:
        return open_corpus(corpus.source, words=corpus.max_words)
    except CorpusError as error:
        raise CorpusError(f'corpus.source = "{corpus.source}": {error}') from None


def _family(code: str) -> str:
    return family_of(code) or ""
