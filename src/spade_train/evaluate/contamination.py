"""Whether environments that are trained on hold what a benchmark asks."""

from __future__ import annotations

from collections.abc import Iterator

from spade_envs.gates.contamination import check_contamination
from spade_envs.store import EnvStore
from spade_envs.trust.runs import source_to_run
from spade_envs.types import GateResult, Record
from spade_train.suites.base import Fault, Suite


def opening_texts(suite: Suite, *, limit: int | None = None) -> tuple[str, ...]:
    """Return what a user says first in each task of a suite, each text once.

    Tasks that cannot be opened are left out.

    Args:
        suite: the benchmark.
        limit: its first so many tasks; None for all.
    """
    texts: dict[str, None] = {}
    for task in suite.tasks()[:limit]:
        session = suite.open(task, seed=0)
        if not isinstance(session, Fault):
            said = [each.content for each in session.messages if each.role == "user"]
            texts["\n".join(said)] = None
            session.close()
    texts.pop("", None)
    return tuple(texts)


def contaminations(store: EnvStore, texts: tuple[str, ...]) -> Iterator[tuple[Record, GateResult]]:
    """Give every environment of a store with what gate L5.2 says of it and of these texts.

    Raises:
        NotTrusted: an environment came from elsewhere and nobody consented.
    """
    for record in store.records():
        if record.withdrawn is None:
            yield record, check_contamination(source_to_run(store, record), texts)
