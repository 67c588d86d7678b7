"""Fetching, checking and placing versions that a plan names. Runs nothing of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from spade_envs.errors import Corrupt, FormatTooNew, NotFound
from spade_envs.ids import EnvId
from spade_envs.sharing.local import make
from spade_envs.sharing.names import renamed
from spade_envs.sharing.offered import Offered
from spade_envs.sharing.outcome import Outcome, Progress
from spade_envs.sharing.planning import MEND, Plan
from spade_envs.sharing.remotes.protocol import LOST, Unreadable
from spade_envs.store import EnvStore, room
from spade_envs.store.files import publish_folder
from spade_envs.store.layout import MANIFEST, version_path
from spade_envs.store.read import read_version
from spade_envs.trust import settings as trusted
from spade_envs.trust.door import Admitted, admit
from spade_envs.trust.incoming import Checked, Limits, Refused, check_files
from spade_envs.trust.origin import note_origin
from spade_envs.trust.quarantine import quarantine
from spade_envs.trust.seen import Offer, check_rights, note_offers


class Bringer:
    """Brings versions from a remote into a store.

    Args:
        offered: what the remote has; the manifests of what is planned were read.
        store: where to.
        trust_certificate: whether what allowed signers signed need not pass the gates again.
        dry_run: fetch and check, and write nothing.
    """

    def __init__(
        self,
        offered: Offered,
        store: EnvStore,
        *,
        trust_certificate: bool = False,
        dry_run: bool = False,
        locked: bool = False,
    ) -> None:
        self._offered, self._store, self._locked = offered, store, locked
        self._trust_certificate, self._dry_run = trust_certificate, dry_run
        self._settings = trusted.load()

    def bring(
        self, plans: Sequence[Plan], progress: Progress, held: Sequence[Offer] = ()
    ) -> Iterator[tuple[Plan, Outcome]]:
        """Yield what became of each plan, as it comes.

        Args:
            plans: what to fetch, and what to call it.
            progress: is told how many are done.
            held: what the remote says of versions that are here; noted with the rest.

        Raises:
            RemoteError: the remote cannot be read; what was placed stays, and is noted.
        """
        taken = list(held)
        if plans:  # of a dry run, too: it foretells
            check_rights()
            room.check_rights(self._store.root)
        progress(0, len(plans))
        try:
            for done, (plan, outcome) in enumerate(self._offered.reader.each(plans, self._one)):
                if outcome.kind in ("new", "same"):
                    gates = self._offered.gates_version(plan.source)
                    taken.append(Offer(plan.source, plan.digest, gates_version=gates))
                progress(done + 1, len(plans))
                yield plan, outcome
        finally:
            if not self._dry_run:
                note_offers(self._offered.remote.known_as, taken)

    def _one(self, plan: Plan) -> Outcome:
        files = {MANIFEST: self._offered.manifests[plan.source]}
        try:
            files.update(self._fetched(plan.source))
        except LOST as error:
            return self.refuse(_lost(plan, error), files)
        checked = check_files(plan.source, files)
        if isinstance(checked, Refused):
            return self.refuse(checked, files)
        admitted = admit(checked, self._settings)
        if isinstance(admitted, Refused):
            return self.refuse(admitted, files)
        return self._place(plan, checked, admitted)

    def _fetched(self, source: EnvId) -> Iterator[tuple[str, bytes]]:
        limits = Limits()
        for name, size in self._offered.sizes(source).items():
            if name != MANIFEST:
                path = f"{version_path(source)}/{name}"
                yield name, self._offered.reader.read(path, min(size, limits.of(name)))

    def _place(self, plan: Plan, checked: Checked, admitted: Admitted) -> Outcome:
        root = self._store.root
        note = f"signed by {admitted.signed_by}" if admitted.signed_by else ""
        new = Outcome("new", str(plan.source), str(plan.target), checked.digest, note)
        if self._dry_run:
            return new
        note_origin(
            root,
            plan.target,
            checked.digest,
            self._offered.remote.label,
            address=self._offered.remote.written,
            signed_by=admitted.signed_by,
            signed_key=admitted.signed_key,
            signed_as=plan.source if plan.source != plan.target else None,
            trust_certificate=self._trust_certificate,
            locked=self._locked,
        )
        make(root)
        files = renamed(checked.manifest, checked.files, plan.target)
        if not publish_folder(root, root / version_path(plan.target), files):
            source, target = str(plan.source), str(plan.target)
            if self._has(plan.target, checked.digest):
                return Outcome("same", source, target, checked.digest)
            note = f"finds {target} taken since this began; do it again"
            return Outcome("conflict", source, "", checked.digest, note)
        return new

    def _has(self, target: EnvId, digest: str) -> bool:
        """Whether another pull has just placed the same."""
        try:
            return read_version(self._store.root, target).digest == digest
        except (Corrupt, FormatTooNew, NotFound):
            return False

    def refuse(self, refused: Refused, files: Mapping[str, bytes]) -> Outcome:
        """Keep what was refused in quarantine, and return that as an outcome."""
        if not self._dry_run:
            make(self._store.root)
        kept = None if self._dry_run else quarantine(self._store.root, refused, files)
        where = f" (kept in {os.path.relpath(kept, self._store.root)})" if kept else ""
        note = f"{refused.reason}{where}; {refused.mend}"
        return Outcome("refused", refused.where, note=note, command=refused.command)


def _lost(plan: Plan, error: Exception) -> Refused:
    """Return why a version is not taken, one of whose files could not be read."""
    where = str(plan.source)
    if isinstance(error, FileNotFoundError):
        return Refused(where, "lost a file since it was listed", "pull again")
    if isinstance(error, Unreadable):
        return Refused(where, f"is left out: {error}", "ask the remote's owner")
    return Refused(where, f"is refused: {error}, which its listing does not say", MEND)
