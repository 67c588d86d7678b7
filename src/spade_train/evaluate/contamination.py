"""Whether environments that are trained on hold what a benchmark asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spade_envs.gates.contamination import check_contamination
from spade_envs.gates.originality import too_short
from spade_envs.store import EnvStore
from spade_envs.trust.runs import source_to_run
from spade_envs.types import GateResult, Record
from spade_train.suites.base import Fault, Suite


@dataclass(frozen=True, slots=True)
class Openings:
    """What a benchmark asks."""

    texts: tuple[str, ...]
    """What a user says first, each text once."""
    unopened: int
    """Tasks that could not be opened, so that nothing is known of them."""
    short: int = 0
    """Texts of too few words to be compared, so that nothing is known of them either."""


def openings(suite: Suite, *, limit: int | None = None) -> Openings:
    """Return what a user says first in each task of a suite.

    Args:
        suite: the benchmark.
        limit: its first so many tasks; None for all.
    """
    texts: dict[str, None] = {}
    unopened = 0
    for task in suite.tasks()[:limit]:
        session = suite.open(task, seed=0)
        if isinstance(session, Fault):
            unopened += 1
            continue
        said = [each.content for each in session.messages if each.role == "user"]
        texts["\n".join(said)] = None
        session.close()
    texts.pop("", None)
    return Openings(tuple(texts), unopened, sum(map(too_short, texts)))


def contaminations(store: EnvStore, texts: tuple[str, ...]) -> Iterator[tuple[Record, GateResult]]:
    """Give every environment of a store with what gate L5.2 says of it and of these texts.

    Raises:
        NotTrusted: an environment came from elsewhere and nobody consented.
    """
    for record in store.records():
        if record.withdrawn is None:
            yield record, check_contamination(source_to_run(store, record), texts)
