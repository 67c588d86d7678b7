"""Both ways: first what the remote has and the store lacks, then what the store has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spade_envs.sharing.outcome import Outcome, Progress, Transfer, in_order
from spade_envs.sharing.pull import PullOptions, pull_from
from spade_envs.sharing.push import PushOptions, push_to
from spade_envs.sharing.remotes import open_remote
from spade_envs.sharing.withdrawals import GONE
from spade_envs.store import EnvStore

PULL, PUSH = PullOptions(), PushOptions()


@dataclass(frozen=True, slots=True)
class Synced:
    """What became of both ways."""

    pulled: Transfer
    pushed: Transfer


def sync(
    url: str,
    store: EnvStore,
    pull_options: PullOptions = PULL,
    push_options: PushOptions = PUSH,
    progress: Progress | None = None,
) -> Synced:
    """Pull from a remote and then push to it.

    A dry run plans the push for what the pull would leave.

    Raises:
        NotFound: there is no store at the remote; push first.
        RemoteError: the remote cannot be reached; what was placed so far stays.
        ConfigError: the address or an option cannot be used.
        StoreError: the store cannot be written to.
    """
    with open_remote(url) as remote:
        pulled = pull_from(remote, store, pull_options, progress)
        if not (pull_options.dry_run and push_options.dry_run):
            pushed = push_to(remote, store, push_options, progress)
            return Synced(pulled, replace(pushed, outcomes=_told_once(pushed, pulled)))
        gone = frozenset(each.placed for each in pulled.of("withdrawn") if each.placed)
        foretold = push_to(remote, store, replace(push_options, withdrawn=gone), progress)
        taken = [Outcome("same", each.placed, each.id, each.digest) for each in pulled.of("new")]
        outcomes = in_order([*_told_once(foretold, pulled), *taken])
        return Synced(pulled, replace(foretold, outcomes=outcomes))


def _told_once(pushed: Transfer, pulled: Transfer) -> tuple[Outcome, ...]:
    """Return what became of a push, without the mends that the pull has told already."""
    told = {(each.id, each.placed) for each in pulled.of("kept") if each.note.startswith(GONE)}
    return tuple(
        replace(each, note=f"{GONE}, as told above", command="")
        if each.kind == "kept" and (each.placed, each.id) in told and each.note.startswith(GONE)
        else each
        for each in pushed.outcomes
    )
