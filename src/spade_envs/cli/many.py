"""Checking many targets with one progress bar, for `check` and `import`."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.stores import Finite, existing_store

if TYPE_CHECKING:
    from spade_envs.design.clients import Policy
    from spade_envs.gates.context import Fingerprint
    from spade_envs.gates.subject import Depth
    from spade_envs.interop import Target
    from spade_envs.reports.entry import Entry
    from spade_envs.store import EnvStore

F = TypeVar("F", bound=Callable[..., Any])

FEW = 5
"""Up to so many targets every report is printed; beyond, one table."""

AUDIT_TIMEOUT_S = 120.0
"""Longest wait for one answer of an auditor's server; it is asked twice at most."""

INTERRUPTED = "interrupted before it was checked"


@dataclass(frozen=True, slots=True)
class Run:
    """What came of the targets, in the order in which they were named."""

    entries: tuple[Entry, ...]
    interrupted: bool = False
    """Whether the user stopped it; what was not done then says so."""


def run_options(command: F) -> F:
    """Add `--seeds`, `--deadline`, `--jobs`, `--against` and `--known`."""
    options = (
        click.option(
            "--seeds",
            type=click.IntRange(3, 1000),
            default=20,
            show_default=True,
            help="Tasks of each level that are looked at; fewer than 20 certify nothing.",
        ),
        click.option(
            "--deadline",
            "deadline_s",
            type=Finite(1),
            default=120.0,
            show_default=True,
            help="Seconds for one target; gates left over are skipped.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1, 64),
            default=2,
            show_default=True,
            help="Targets that are checked at a time.",
        ),
        click.option(
            "--against",
            metavar="FILE",
            multiple=True,
            help="Evaluation texts (JSONL or text) that must not occur in a target; "
            "may be repeated.",
        ),
        click.option(
            "--known",
            metavar="STORE",
            multiple=True,
            help="Envstore whose environments a target must not repeat; may be repeated.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end a run like an interrupt, once: what was done is shown."""
    before = signal.getsignal(signal.SIGTERM)
    if before != signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield  # ignored, or somebody else's affair
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, before)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def check_many(
    names: Sequence[str],
    store: str | None,
    *,
    depth: Depth,
    into: EnvStore | None = None,
    show: Callable[[Entry], None] | None = None,
    **options: Any,
) -> Run:
    """Resolve every name, check what it stands for, and return it all in the order of the names.

    A name that stands for nothing becomes an entry that says so, and the others go on. An interrupt
    ends the run and keeps what was done.

    Args:
        names: what the user typed.
        store: the only store to look ids up in, or None for every discovered one.
        depth: see `gates.check`.
        into: the store that they are meant for; they must not repeat what it holds.
        show: called with each entry, in the order of the names, as soon as those before it are
            known; only if there are few.
        options: what `run_options` gives.

    Raises:
        ConfigError: evaluation texts cannot be read.
        NotFound: there is no such store of known environments.
    """
    from spade_envs.cli.output import progress
    from spade_envs.interop import check_all
    from spade_envs.reports.entry import Entry

    try:
        settings = with_context(into=into, **options)
    except KeyboardInterrupt:
        undone = (_undone(*pair) for name in names for pair in _resolved(name, store))
        return Run(tuple(undone), interrupted=True)
    named = [pair for name in names for pair in _resolved(name, store)]
    found = {p: _undone(target, True) for p, (target, unknown) in enumerate(named) if unknown}
    places = [position for position in range(len(named)) if position not in found]
    targets = [named[position][0] for position in places]
    ordered = _InOrder(show if len(named) <= FEW else None)
    for place, entry in found.items():
        ordered.put(place, entry)
    interrupted = False
    tally: Counter[str] = Counter()
    with progress(len(targets), "checking") as bar:
        try:
            with closing(check_all(targets, depth=depth, **settings)) as stream:
                for number, checked in stream:
                    entry = found[places[number]] = Entry(checked=checked)
                    tally[entry.verdict] += 1
                    bar.update(bar.task_ids[0], advance=1, description=f"checked: {counts(tally)}")
                    bar.stop()
                    ordered.put(places[number], entry)
                    bar.start()
        except KeyboardInterrupt:
            interrupted = True
    ordered.finish()
    entries = (found.get(p) or _undone(target) for p, (target, _) in enumerate(named))
    return Run(tuple(entries), interrupted)


class _InOrder:
    """Shows entries in the order of their places, whatever the order in which they are known."""

    def __init__(self, show: Callable[[Entry], None] | None) -> None:
        self._show = show
        self._waiting: dict[int, Entry] = {}
        self._next = 0

    def put(self, place: int, entry: Entry) -> None:
        """Show this entry and those that waited for it, if all before it are known."""
        self._waiting[place] = entry
        while self._next in self._waiting:
            self._tell(self._waiting.pop(self._next))
            self._next += 1

    def finish(self) -> None:
        """Show what still waits: an interrupt left gaps."""
        for place in sorted(self._waiting):
            self._tell(self._waiting[place])
        self._waiting.clear()

    def _tell(self, entry: Entry) -> None:
        if self._show is not None and not entry.unknown:  # that was told at once, as an error
            self._show(entry)


def with_context(
    *,
    into: EnvStore | None = None,
    against: Sequence[str] = (),
    known: Sequence[str] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Return the keywords of `check_all`: files are read and stores' fingerprints taken.

    Args:
        into: the store that the targets are meant for.
        against: files of evaluation texts.
        known: folders of further stores whose environments must not be repeated.
        settings: the others, as they are.

    Raises:
        ConfigError: evaluation texts cannot be read.
        NotFound: there is no such store of known environments.
    """
    from spade_envs.interop.known import evaluation_texts

    texts = [text for path in against for text in evaluation_texts(path)]
    stores = [existing_store(folder) for folder in known]
    own = None if into is None else into.root.resolve()
    others = [
        found
        for store in stores
        if store.root.resolve() != own
        for found in _fingerprints(store, settings["jobs"])
    ]
    held = () if into is None else _fingerprints(into, settings["jobs"])
    return {**settings, "evaluation": texts, "known": others, "into": held}


def _fingerprints(store: EnvStore, jobs: int) -> tuple[Fingerprint, ...]:
    from spade_envs.cli.output import progress
    from spade_envs.interop.fingerprints import stored

    with progress(len(store.records()), f"knowing {store.root.name}") as bar:
        return stored(store, jobs=jobs, done=lambda: bar.advance(bar.task_ids[0]))


def _resolved(name: str, store: str | None) -> list[tuple[Target, bool]]:
    """Return the targets of a name, each with whether the name stands for nothing."""
    from spade_envs.cli.main import USAGE, exit_code, message_of
    from spade_envs.cli.output import say
    from spade_envs.cli.stores import readable_stores
    from spade_envs.errors import SpadeError
    from spade_envs.interop import Target, resolve

    try:
        targets = resolve(name, lambda: readable_stores(store))
        for target in targets:
            if target.unknown:
                say(f"error: {target.label}: {target.error}")
        return [(target, target.unknown) for target in targets]
    except SpadeError as error:
        say(f"error: {message_of(error)}")
        return [(Target(label=name, error=message_of(error)), exit_code(error) == USAGE)]


def _undone(target: Target, unknown: bool = False) -> Entry:
    from spade_envs.interop import Checked
    from spade_envs.reports.entry import Entry

    checked = Checked(target=target, error=target.error or INTERRUPTED)
    return Entry(checked=checked, unknown=unknown)


def open_auditor(auditor: str, url: str | None) -> Policy:
    """Return the client that is asked about the sources; opened before any work is done.

    Args:
        auditor: model at `url`, or without one a designer such as `openai:MODEL` or `hf:PATH`.
        url: an OpenAI-compatible server.

    Raises:
        ConfigError: there is no such client, or its key is missing.
        MissingExtra: a library that it needs is not installed.
    """
    from spade_envs.design.clients import open_policy

    served = url is not None or auditor.startswith("openai:")
    patience: Any = {"timeout_s": AUDIT_TIMEOUT_S, "max_retries": 1} if served else {}
    return open_policy(url or auditor, model=auditor if url else None, **patience)


def ask_auditor(run: Run, client: Policy) -> Run:
    """Return the run with an audit beside every report; no verdict changes."""
    import dataclasses

    from spade_envs.audit import audit_all
    from spade_envs.cli.output import counted, say

    asked = [p for p, entry in enumerate(run.entries) if entry.report is not None]
    sources = [run.entries[p].checked.target.source for p in asked]
    say(f"asking {client.name} about {counted(len(asked), 'source')}")
    try:
        audits = audit_all([source for source in sources if source is not None], client)
    except KeyboardInterrupt:
        return dataclasses.replace(run, interrupted=True)
    entries = list(run.entries)
    for position, audit in zip(asked, audits, strict=True):
        entries[position] = dataclasses.replace(entries[position], audit=audit)
    return dataclasses.replace(run, entries=tuple(entries))


def counts(words: Counter[str]) -> str:
    """Return such as `3 accepted, 1 refused`."""
    order = ("accepted", "passes", "refused", "not checked")
    return ", ".join(f"{words[word]} {word}" for word in order if words[word])


def print_summary(entries: Sequence[Entry]) -> None:
    """Print one row for each entry if there are many, and the count."""
    from spade_envs.cli.output import counted, print_table

    if len(entries) > FEW:
        rows = [(entry.label, entry.verdict, entry.counts.short, _short(entry.found))
                for entry in entries]  # fmt: skip
        print_table("", ("target", "verdict", "gates passed", "what was found"), rows)
    tally = Counter(entry.verdict for entry in entries)
    click.echo(f"{counted(len(entries), 'target')}: {counts(Counter(tally))}")


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + " ..."
