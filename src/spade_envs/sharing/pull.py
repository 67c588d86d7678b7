"""From a remote into a store: what is new there, checked and placed; nothing is executed.

A version is fetched whole, checked, and placed by one rename, so a transfer that breaks is simply
begun again: what was placed is not fetched twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spade_envs.sharing.bring import Bringer
from spade_envs.sharing.local import Holdings, is_made
from spade_envs.sharing.names import SAME_NAMES, Renaming
from spade_envs.sharing.offered import Offered, look
from spade_envs.sharing.outcome import Outcome, Progress, Transfer, in_order
from spade_envs.sharing.planning import Planner
from spade_envs.sharing.plays import pull_plays
from spade_envs.sharing.remotes import Remote, open_remote
from spade_envs.sharing.transfer import JOBS, Reader
from spade_envs.sharing.wanted import EVERYTHING, Wanted
from spade_envs.sharing.withdrawals import follow
from spade_envs.store import EnvStore
from spade_envs.store.room import check_folders

_MOST_KEPT = 20
"""Notes in quarantine about paths that were not even fetched; the others are told alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """How to pull."""

    wanted: Wanted = EVERYTHING
    renaming: Renaming = SAME_NAMES
    renumber: bool = False
    """Give a version whose id means another content here the next free number, instead of leaving
    it out."""
    plays: bool = False
    """Take the ledgers of plays as well."""
    trust_certificate: bool = False
    """Do not run the gates again for what allowed signers signed."""
    dry_run: bool = False
    jobs: int = JOBS
    """How many files are fetched at once, >= 1."""


def pull(
    url: str,
    store: EnvStore,
    options: PullOptions = PullOptions(),
    progress: Progress | None = None,
) -> Transfer:
    """Bring what is wanted and not here yet from a remote into a store. Runs nothing.

    Args:
        url: address of the remote; see `open_remote`.
        store: where to; made once something is placed, if it is a `planned_store`.
        options: what to take, and what to call it.
        progress: is told how many versions are done.

    Raises:
        NotFound: there is no store at the remote, or a ref names nothing there.
        RemoteError: the remote cannot be reached; what was placed so far stays.
        ConfigError: the address or an option cannot be used.
        StoreError: the store cannot be written to.
    """
    with open_remote(url) as remote:
        return pull_from(remote, store, options, progress)


def pull_from(
    remote: Remote,
    store: EnvStore,
    options: PullOptions = PullOptions(),
    progress: Progress | None = None,
) -> Transfer:
    """Do as `pull` does, from an open remote."""
    if store.root.exists():
        store.require_writable()  # of a dry run, too: it foretells
        check_folders(store.root)
    offered = look(remote, Reader(remote, options.jobs), must_exist=True)
    return _Pull(offered, store, options).run(progress or (lambda done, total: None))


class _Pull:
    def __init__(self, offered: Offered, store: EnvStore, options: PullOptions) -> None:
        self._offered, self._store, self._options = offered, store, options
        self._bringer = Bringer(
            offered,
            store,
            trust_certificate=options.trust_certificate,
            dry_run=options.dry_run,
        )

    def run(self, progress: Progress) -> Transfer:
        options, offered, root = self._options, self._offered, self._store.root
        planned = Planner(
            offered=offered,
            holdings=Holdings.of(self._store),
            wanted=options.wanted,
            renaming=options.renaming,
            renumber=options.renumber,
        ).plan()
        outcomes = [*self._listed(), *planned.outcomes]
        outcomes += [self._bringer.refuse(each, {}) for each in planned.broken]
        outcomes += [
            follow(root, offered, plan, dry_run=options.dry_run) for plan in planned.withdrawn
        ]
        try:
            brought = self._bringer.bring(planned.plans, progress, planned.held)
            outcomes += (outcome for _, outcome in brought)
        finally:
            if not options.dry_run and (planned.plans or planned.withdrawn) and is_made(root):
                self._store.refresh()
        notes = [f"{each.where} {each.reason}" for each in offered.listing.left_alone[:3]]
        notes += planned.notes
        if options.plays:
            notes += pull_plays(offered, root, dry_run=options.dry_run)
        return Transfer(
            remote=offered.remote.label,
            outcomes=in_order(outcomes),
            bytes_moved=offered.reader.bytes,
            notes=tuple(notes),
        )

    def _listed(self) -> Iterator[Outcome]:
        """Yield what the listing itself refuses, or shows to be half there."""
        for number, refused in enumerate(self._offered.listing.refused):
            if number < _MOST_KEPT:
                yield self._bringer.refuse(refused, {})
            else:
                note = f"{refused.reason}; {refused.mend}"
                yield Outcome("refused", refused.where, note=note)
        for unfinished in self._offered.listing.unfinished:
            note = f"{unfinished.reason}; {unfinished.mend}"
            yield Outcome("skipped", unfinished.where, note=note)
