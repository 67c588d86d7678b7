"""From a store to a remote: what it lacks, each version whole before it can be seen as whole."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from spade_envs.errors import ConfigError, Corrupt, IdError
from spade_envs.ids import EnvId
from spade_envs.sharing.local import Holdings, files_of, without_tombstone
from spade_envs.sharing.names import SAME_NAMES, Renaming, renamed
from spade_envs.sharing.offered import Offered, look
from spade_envs.sharing.outcome import Kind, Outcome, Progress, Transfer, in_order
from spade_envs.sharing.plays import push_plays
from spade_envs.sharing.remotes import Moved, Remote, open_remote
from spade_envs.sharing.remotes.protocol import LOST
from spade_envs.sharing.transfer import JOBS, Reader, again, at_once
from spade_envs.sharing.wanted import EVERYTHING, Wanted
from spade_envs.sharing.withdrawals import GONE, withdraw_command
from spade_envs.store import EnvStore
from spade_envs.store.catalog import render
from spade_envs.store.files import read_file
from spade_envs.store.index import IndexLine, encode, line_of
from spade_envs.store.layout import (
    CATALOG,
    EXTRAS,
    INDEX,
    MANIFEST,
    MARKER,
    MAX_TOMBSTONE_BYTES,
    SIGNATURE,
    TOMBSTONE,
    marker,
    version_path,
)
from spade_envs.store.lookup import check_index
from spade_envs.store.plays import PlayReader
from spade_envs.trust.incoming import Refused, check_files
from spade_envs.trust.seen import Offer, check_rights, note_offers, seen_digests
from spade_envs.types import Record

_TRIES = 6
_HARMLESS = ("README.md", ".gitattributes", ".gitignore", "LICENSE", "LICENSE.md", "LICENSE.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """How to push."""

    wanted: Wanted = EVERYTHING
    renaming: Renaming = SAME_NAMES
    renumber: bool = False
    """Give a version whose id means another content there the next free number, instead of leaving
    it out."""
    plays: bool = False
    """Give the ledgers of plays as well."""
    dry_run: bool = False
    withdrawn: frozenset[str] = frozenset()
    """Ids here that count as withdrawn: of a dry run, what the pull before it would withdraw."""
    jobs: int = JOBS
    """How many versions are written at once, >= 1."""


def push(
    url: str,
    store: EnvStore,
    options: PushOptions = PushOptions(),
    progress: Progress | None = None,
) -> Transfer:
    """Give a remote what is wanted of a store and not there yet; an empty place becomes a store.

    Args:
        url: address of the remote; see `open_remote`.
        store: where from.
        options: what to give, and what to call it there.
        progress: is told how many versions are done.

    Raises:
        RemoteError: the remote cannot be reached, or refuses; what was placed so far stays.
        NotFound: a ref names nothing in the store.
        Corrupt: the store's own index gives a version another digest than its manifest.
        ConfigError: the address or an option cannot be used, or the place holds something else.
    """
    with open_remote(url) as remote:
        return push_to(remote, store, options, progress)


def push_to(
    remote: Remote,
    store: EnvStore,
    options: PushOptions = PushOptions(),
    progress: Progress | None = None,
) -> Transfer:
    """Do as `push` does, to an open remote; planned again if somebody else wrote meanwhile."""
    for _ in range(_TRIES - 1):
        try:
            return _push_once(remote, store, options, progress)
        except Moved:
            continue
    return _push_once(remote, store, options, progress)


def _push_once(
    remote: Remote, store: EnvStore, options: PushOptions, progress: Progress | None
) -> Transfer:
    offered = look(remote, Reader(remote, options.jobs), must_exist=False)
    if not offered.is_store:
        _refuse_strangers(offered)
    work = _Push(offered, store, options)
    outcomes = work.run(progress or (lambda done, total: None))
    return Transfer(
        remote=remote.label,
        outcomes=in_order(outcomes),
        bytes_moved=work.bytes,
        notes=tuple(work.notes),
    )


def _refuse_strangers(offered: Offered) -> None:
    strange = sorted(path for path in offered.entries if path not in _HARMLESS)
    if strange:
        raise ConfigError(
            f"{offered.remote.label} is no envstore and not empty (it holds {strange[0][:80]!r}); "
            "name an empty place"
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    source: EnvId
    target: EnvId
    record: Record


class _Push:
    def __init__(self, offered: Offered, store: EnvStore, options: PushOptions) -> None:
        self._offered, self._store, self._options = offered, store, options
        self._lines = offered.lines()
        self._there: dict[str, list[EnvId]] = {}
        for env_id, line in sorted(self._lines.items()):
            self._there.setdefault(line.digest, []).append(env_id)
        self.bytes, self.notes = 0, list[str]()
        self._is_store, self._making = offered.is_store, threading.Lock()

    def run(self, progress: Progress) -> list[Outcome]:
        plans, burials, outcomes = self._planned()
        outcomes = [self._with_signature(each) for each in outcomes]
        remote, dry_run = self._offered.remote, self._options.dry_run
        if plans or burials:
            self._check_rights()
        progress(0, len(plans))
        for done, (_, outcome) in enumerate(at_once(plans, self._give, self._options.jobs)):
            outcomes.append(outcome)
            progress(done + 1, len(plans))
        outcomes += [
            _outcome("withdrawn", plan, _BURIED) if dry_run else self._bury(plan)
            for plan in burials
        ]
        if not self._is_store:  # nothing is sound or new, so nothing is made there
            return outcomes
        if self._options.plays:
            self.notes += push_plays(self._offered, self._store.root, remote, dry_run=dry_run)
        if dry_run:
            return outcomes
        changed = [each for each in outcomes if each.kind in ("new", "withdrawn") and each.placed]
        if changed:
            lines = [line for _, line in sorted(self._lines.items())]
            remote.replace(INDEX, encode(lines))
            remote.replace(CATALOG, render(lines))
        signed = [each for each in outcomes if each.note == _SIGNED]
        if changed or signed or self.notes:
            remote.finish(_message([*changed, *signed]))
        note_offers(remote.known_as, self._now_there(outcomes))
        return outcomes

    def _check_rights(self) -> None:
        """See that something could be given and noted; of a dry run, too: it foretells."""
        self._offered.remote.check_rights()
        check_rights()

    def _now_there(self, outcomes: Sequence[Outcome]) -> list[Offer]:
        """Return what the remote has of ours now, to hold it to that later."""
        mine = [EnvId.parse(each.placed) for each in outcomes if each.kind in ("new", "same")]
        return [Offer(each, self._lines[each].digest) for each in mine]

    # What to give

    def _planned(self) -> tuple[list[_Plan], list[_Plan], list[Outcome]]:
        holdings = Holdings.of(self._store)
        plans: list[_Plan] = []
        burials: list[_Plan] = []
        outcomes: list[Outcome] = []
        taken: set[EnvId] = set()
        chosen = self._chosen(list(holdings.records.values()))
        self._verify_index(chosen)
        for record in chosen:
            source = EnvId.parse(record.id)
            if record.id in self._options.withdrawn:
                record = replace(record, withdrawn="as it is there")
            try:
                target = self._options.renaming.of(source)
            except IdError as error:
                outcomes.append(Outcome("refused", record.id, note=str(error)))
                continue
            decided = self._decide(_Plan(source, target, record), holdings, taken)
            if isinstance(decided, Outcome):
                outcomes.append(decided)
            else:
                (plans if decided.record.withdrawn is None else burials).append(decided)
        return plans, burials, outcomes

    def _verify_index(self, records: Sequence[Record]) -> None:
        """Hold what the remote's index says of these contents to the manifests there.

        Of what was taken from it or given to it before, no file is read.
        """
        seen = seen_digests(self._offered.remote.known_as)
        said = {each for record in records for each in self._there.get(record.digest, ())}
        with contextlib.suppress(IdError):  # it is told of each later
            targets = {self._options.renaming.of(EnvId.parse(record.id)) for record in records}
            said |= targets & self._lines.keys()
        unknown = sorted(each for each in said if seen.get(str(each)) != self._lines[each].digest)
        self._offered.fetch_manifests(unknown)
        for env_id in unknown:
            line, before = self._offered.line(env_id), self._lines[env_id]
            if isinstance(line, IndexLine) and line.digest == before.digest:
                continue
            self._there[before.digest].remove(env_id)
            if isinstance(line, IndexLine):
                self._lines[env_id] = line
                self._there.setdefault(line.digest, []).append(env_id)

    def _chosen(self, records: Sequence[Record]) -> list[Record]:
        wanted, name = self._options.wanted, self._options.renaming.name
        cells = PlayReader(self._store.root).cells() if wanted.success is not None else {}
        if wanted.success is not None and not cells:
            self.notes.append(f"nothing was played in {self._store.root} yet; see calibrate")
        found = wanted.choose(records, cells)
        if name and len({EnvId.parse(record.id).name for record in found}) > 1:
            raise ConfigError("--as names one environment; choose one, or use --namespace")
        return found

    def _decide(self, plan: _Plan, holdings: Holdings, taken: set[EnvId]) -> _Plan | Outcome:
        record, text = plan.record, str(plan.source)
        same = self._same(plan)
        if same is not None:
            check_index(self._store.root, plan.source, record.digest)
        if record.withdrawn is not None:
            if same is not None and self._lines[same].withdrawn is None:
                return replace(plan, target=same)
            if same is not None:
                return Outcome("withdrawn", text, "", record.digest, "is withdrawn there, too")
            named = self._options.wanted.names(text, record.digest)
            note = "was withdrawn, so it stays here" + ("; name another version" if named else "")
            others = self._there.get(record.digest, ())
            used = [str(each) for each in others if self._lines[each].withdrawn is None]
            if used:
                note += f"; {used[0]} there has the same content and is in use: tell its owner"
            kind: Kind = "refused" if named else "withdrawn"
            return Outcome(kind, text, "", record.digest, note)
        if same is not None:
            place = str(same)
            if self._lines[same].withdrawn is not None:
                command = withdraw_command(self._store.root, text, "withdrawn at the remote")
                note = f"{GONE}; if you agree: {command}"
                return Outcome("kept", text, place, record.digest, note, command)
            if same != plan.target:
                return Outcome("same", text, place, record.digest, f"is there as {place}")
            if holdings.looks_the_same(plan.source, same, self._offered.sizes(same)):
                return Outcome("same", text, place, record.digest)
            note = "has other texts or another certificate there, which stays"
            return Outcome("kept", text, place, record.digest, note)
        if plan.target in taken or plan.target in self._offered.listing.versions:
            if not self._options.renumber:
                return self._clash(plan)
            plan = replace(plan, target=self._offered.next_free(plan.target.name, taken))
        taken.add(plan.target)
        return plan

    def _same(self, plan: _Plan) -> EnvId | None:
        """Return where the remote has this content, if that is where it may stay."""
        there = self._there.get(plan.record.digest, [])
        # What was withdrawn here is no reason to withdraw it under somebody else's name.
        anywhere = not self._options.renaming and plan.record.withdrawn is None
        for fits in (
            [each for each in there if each == plan.target],
            [each for each in there if each.name == plan.target.name],
            there if anywhere else [],
        ):
            if fits:
                return fits[0]
        return None

    def _clash(self, plan: _Plan) -> Outcome:
        line = self._lines.get(plan.target)
        other = f"{line.digest[:19]}..." if line is not None else "another version"
        note = (
            f"is {plan.record.digest[:19]}... here, but {plan.target} there is {other}; give it "
            "beside that with --namespace NAME, --as NAME or --renumber"
        )
        return Outcome("conflict", str(plan.source), "", plan.record.digest, note)

    # Giving

    def _give(self, plan: _Plan) -> Outcome:
        text, digest = str(plan.source), plan.record.digest
        try:
            files = files_of(self._store.root, plan.source)
        except (Corrupt, OSError) as error:
            return Outcome("refused", text, "", digest, f"cannot be read here: {error}")
        checked = check_files(plan.source, files)
        if isinstance(checked, Refused) or checked.digest != digest:
            why = str(checked.reason) if isinstance(checked, Refused) else "it was changed"
            return Outcome("refused", text, "", digest, f"is not sound here, so it stays: {why}")
        given = renamed(checked.manifest, without_tombstone(files), plan.target)
        remote, folder = self._offered.remote, version_path(plan.target)
        self._make()
        if not self._options.dry_run:
            if not again(lambda: remote.add(folder, given)):
                note = f"finds {plan.target} taken there just now; push again"
                return Outcome("conflict", text, "", digest, note)
            self.bytes += sum(map(len, given.values()))
        line = msgspec.structs.replace(line_of(plan.record), id=str(plan.target))
        self._lines[plan.target] = line
        lost = "without its signature, which is of its other name" if _lost(files, given) else ""
        return _outcome("new", plan, lost)

    def _make(self) -> None:
        """Make the remote a store, once there is something sound to give it."""
        with self._making:
            if not self._is_store and not self._options.dry_run:
                for path, data in {**EXTRAS, MARKER: marker()}.items():
                    self._offered.remote.write_new(path, data)
            self._is_store = True

    def _with_signature(self, outcome: Outcome) -> Outcome:
        """Give what is there already the signature that was made since, and say so."""
        env_id = EnvId.parse(outcome.id)
        path = f"{version_path(env_id)}/{SIGNATURE}"
        plain = outcome.kind == "same" and outcome.placed == outcome.id and not outcome.note
        if not plain or SIGNATURE in self._offered.sizes(env_id):
            return outcome
        if not (self._store.root / path).is_file():
            return outcome
        try:
            files = files_of(self._store.root, env_id)
            manifest = f"{version_path(env_id)}/{MANIFEST}"
            there = self._offered.reader.read(manifest, len(files[MANIFEST]))
        except (*LOST, Corrupt, OSError):
            return outcome
        if there != files[MANIFEST]:  # it would belong to other texts
            return outcome
        self._check_rights()
        if not self._options.dry_run:
            self._offered.remote.write_new(path, files[SIGNATURE])
            self.bytes += len(files[SIGNATURE])
        return replace(outcome, note=_SIGNED)

    def _bury(self, plan: _Plan) -> Outcome:
        path = f"{version_path(plan.source)}/{TOMBSTONE}"
        try:
            data = read_file(self._store.root, path, max_bytes=MAX_TOMBSTONE_BYTES)
        except (Corrupt, OSError) as error:
            return _outcome("refused", plan, f"has a tombstone that cannot be given: {error}")
        self._offered.remote.write_new(f"{version_path(plan.target)}/{TOMBSTONE}", data)
        self.bytes += len(data)
        self._lines[plan.target] = msgspec.structs.replace(
            self._lines[plan.target], withdrawn=plan.record.withdrawn
        )
        return _outcome("withdrawn", plan, _BURIED)


_SIGNED = "its signature is new there"
_BURIED = "was withdrawn here, so it is withdrawn there, too"


def _lost(files: Mapping[str, bytes], given: Mapping[str, bytes]) -> bool:
    return bool(files.keys() - given.keys() - {TOMBSTONE})


def _outcome(kind: str, plan: _Plan, note: str = "") -> Outcome:
    placed = "" if kind == "refused" else str(plan.target)
    return Outcome(kind, str(plan.source), placed, plan.record.digest, note)  # type: ignore[arg-type]


def _message(changed: Sequence[Outcome]) -> str:
    new = [each.placed for each in changed if each.kind == "new"]
    gone = [each.placed for each in changed if each.kind == "withdrawn"]
    parts = [f"Add {_counted(new)}"] if new else []
    parts += [f"Withdraw {_counted(gone)}"] if gone else []
    signed = [each.placed for each in changed if each.note == _SIGNED]
    parts += [f"Sign {_counted(signed)}"] if signed else []
    ids = [*new, *gone, *signed]
    more = f"\n... and {len(ids) - 50} more" if len(ids) > 50 else ""
    return f"{', '.join(parts) or 'Add plays'}\n\n" + "\n".join(ids[:50]) + more


def _counted(ids: Sequence[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{len(ids)} environments"
