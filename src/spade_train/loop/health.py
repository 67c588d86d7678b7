"""When a run stops by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spade_train.config import Config
from spade_train.errors import HealthError
from spade_train.loop.events import Book
from spade_train.loop.phase import Draft
from spade_train.types import EpisodeResult


def check_faults(config: Config, book: Book, update: int, results: Sequence[EpisodeResult]) -> None:
    """Note the episodes that environments broke.

    Raises:
        HealthError: their share is above `health.max_fault_share`.
    """
    broken = [result for result in results if result.fault is not None]
    if not broken:
        return
    share = len(broken) / len(results)
    kinds = Counter(str(result.fault) for result in broken)
    worst, count = Counter(result.env for result in broken).most_common(1)[0]
    book.note(
        "health",
        update,
        what="faults",
        share=share,
        episodes=len(broken),
        environments=len({result.env for result in broken}),
        kinds=dict(sorted(kinds.items())),
    )
    limit = config.health.max_fault_share
    if share > limit:
        raise HealthError(
            f"environments broke {len(broken)} of {len(results)} episodes of update {update} "
            f"({share:.0%}, the limit health.max_fault_share is {limit:.0%}), "
            f"{worst[:19]} alone {count}; look at the events `health` and at these environments, "
            "or raise the limit and go on with --resume"
        )


def check_acceptance(config: Config, update: int, drafts: Sequence[Draft]) -> None:
    """Look at the share of programs that passed the gates.

    Raises:
        HealthError: it is below `health.min_accepted_share`.
    """
    limit = config.health.min_accepted_share
    good = sum(draft.env is not None for draft in drafts)
    if not drafts or good >= limit * len(drafts):
        return
    gates = Counter(draft.reason.split(":")[0] or draft.stage for draft in drafts if not draft.env)
    worst, count = gates.most_common(1)[0]
    raise HealthError(
        f"the gates accepted {good} of {len(drafts)} programs of update {update}, less than "
        f"health.min_accepted_share = {limit:.0%}; most often refused by {worst} ({count} times)"
    )
