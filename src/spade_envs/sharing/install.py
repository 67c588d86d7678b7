"""From a lock file to a store that holds just those digests under those ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from spade_envs.errors import (
    ConfigError,
    Corrupt,
    FormatTooNew,
    MissingExtra,
    NotFound,
    RemoteError,
)
from spade_envs.ids import EnvId
from spade_envs.sharing.bring import Bringer
from spade_envs.sharing.local import is_made
from spade_envs.sharing.lock import Lock, Locked
from spade_envs.sharing.offered import Offered, look
from spade_envs.sharing.outcome import Outcome, Progress, Transfer, in_order
from spade_envs.sharing.planning import Plan
from spade_envs.sharing.remotes import open_remote
from spade_envs.sharing.remotes.address import shown
from spade_envs.sharing.transfer import JOBS, Reader
from spade_envs.store import EnvStore
from spade_envs.store.index import IndexLine
from spade_envs.trust.seen import Offer, judge_offers
from spade_envs.types import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """How to install."""

    remotes: tuple[str, ...] = ()
    """Addresses to look in as well, after those of the lock."""
    trust_certificate: bool = False
    """Do not run the gates again for what allowed signers signed."""
    dry_run: bool = False
    """Fetch and check, and write nothing."""
    jobs: int = JOBS


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of a version at one of the places."""

    plan: Plan
    outcome: Outcome
    is_final: bool
    """Whether no other place is asked; one may have unharmed what is refused here."""

    @property
    def target(self) -> str:
        return str(self.plan.target)

    def told(self) -> Outcome:
        """Return a refusal under the id of the lock, with what the remote calls it."""
        other = "" if self.plan.source == self.plan.target else f"(there {self.plan.source}) "
        note = f"{other}{self.outcome.note}"
        return replace(self.outcome, id=self.target, digest=self.plan.digest, note=note)


def install(
    lock: Lock,
    store: EnvStore,
    options: InstallOptions = InstallOptions(),
    progress: Progress | None = None,
) -> Transfer:
    """Bring what a lock names and a store lacks, under the ids that the lock gives. Runs nothing.

    A version is looked for by its id and then by its digest, so one that was renamed is found. A
    `planned_store` is made once something is placed.

    Raises:
        StoreError: the store cannot be written to.
        ConfigError: an address cannot be used.
    """
    if store.root.exists():
        store.require_writable()
    outcomes, missing = _compared(lock, _held(store))
    moved, notes, sources, asked = 0, list[str](), list[str](), list[str]()
    refused: dict[str, list[tuple[str, Outcome]]] = {}
    try:
        for url in _places(lock, missing, options):
            mine = [each for each in missing if _asks(lock, each, url, options)]
            found: list[_Found] = []
            try:
                moved += _from(url, mine, store, options, progress or _silent, found)
            except (RemoteError, NotFound, Corrupt, FormatTooNew) as error:
                notes.append(str(error))
            final = [one for one in found if one.is_final]
            outcomes += [one.outcome for one in final]
            for one in found:
                if not one.is_final:
                    refused.setdefault(one.target, []).append((shown(url), one.told()))
            asked += [shown(url)] if mine else []
            sources += [shown(url)] if any(one.outcome.kind == "new" for one in final) else []
            done = {one.target for one in final}
            missing = [each for each in missing if each.id not in done]
    finally:
        if is_made(store.root) and not options.dry_run:
            store.refresh()
    held = _held(store) if missing else {}
    for each in missing:
        record = held.get(each.id)
        if record is not None and record.digest == each.digest:  # placed as its remote broke off
            outcomes.append(Outcome("new", each.id, each.id, each.digest))
            continue
        if each.id in refused:
            outcomes.append(_all_told(refused[each.id]))
            continue
        note = "is at none of the remotes that were looked in; name another with --remote URL"
        outcomes.append(Outcome("refused", each.id, "", each.digest, note))
    return Transfer(
        remote=", ".join(sources or asked)
        or ("no remote" if missing else "no remote, for all of it is here"),
        outcomes=in_order(outcomes),
        bytes_moved=moved,
        notes=tuple(notes),
    )


def _all_told(refusals: Sequence[tuple[str, Outcome]]) -> Outcome:
    """Return why no place gave a version, as one outcome."""
    last = refusals[-1][1]
    if len(refusals) == 1:
        return last
    return replace(last, note="; ".join(f"at {place}: {each.note}" for place, each in refusals))


def _compared(lock: Lock, held: Mapping[str, Record]) -> tuple[list[Outcome], list[Locked]]:
    """Return what is to be told of what a store holds of a lock, and what it lacks."""
    outcomes: list[Outcome] = []
    missing: list[Locked] = []
    for each in lock.environments:
        record = held.get(each.id)
        if record is None:
            missing.append(each)
        elif record.digest != each.digest:
            note = f"is {record.digest[:19]}... in this store; install into a new one"
            outcomes.append(Outcome("conflict", each.id, each.id, each.digest, note))
        elif record.withdrawn is not None:
            note = f"was withdrawn here: {record.withdrawn}"
            outcomes.append(Outcome("refused", each.id, each.id, each.digest, note))
        else:
            outcomes.append(Outcome("same", each.id, each.id, each.digest))
    return outcomes, missing


def _held(store: EnvStore) -> dict[str, Record]:
    return {record.id: record for record in store.records()}


def _silent(done: int, total: int) -> None:
    pass


def _places(lock: Lock, missing: Sequence[Locked], options: InstallOptions) -> list[str]:
    named = [lock.remotes[each.remote] for each in missing if each.remote]
    return list(dict.fromkeys([*named, *options.remotes]))


def _asks(lock: Lock, each: Locked, url: str, options: InstallOptions) -> bool:
    return url in options.remotes or bool(each.remote and lock.remotes[each.remote] == url)


def _from(
    url: str,
    wanted: Sequence[Locked],
    store: EnvStore,
    options: InstallOptions,
    progress: Progress,
    outcomes: list[_Found],
) -> int:
    """Add what became of each to `outcomes`, as it comes; gives how many bytes moved."""
    if not wanted:
        return 0
    with ExitStack() as stack:
        try:
            remote = stack.enter_context(open_remote(url))
        except (ConfigError, MissingExtra) as error:  # it costs this remote alone
            raise RemoteError(str(error)) from None
        reader = Reader(remote, options.jobs)
        offered = look(remote, reader, must_exist=True)
        plans = _found(offered, wanted)
        offers = [Offer(plan.source, plan.digest, offered.is_withdrawn(plan.source))
                  for plan in plans]  # fmt: skip
        refused = judge_offers(remote.known_as, offers)
        fit = []
        for plan, offer in zip(plans, offers, strict=True):
            if plan.source in refused:
                note = f"{refused[plan.source].reason}; {refused[plan.source].mend}"
            elif offer.withdrawn:
                note = f"was withdrawn at {remote.label}, so it is not taken; lock another"
            else:
                fit.append(plan)
                continue
            outcome = Outcome("refused", str(plan.target), "", plan.digest, note)
            outcomes.append(_Found(plan, outcome, is_final=offer.withdrawn))
        bringer = Bringer(
            offered,
            store,
            trust_certificate=options.trust_certificate,
            dry_run=options.dry_run,
            locked=True,
        )
        for plan, outcome in bringer.bring(fit, progress):
            outcomes.append(_Found(plan, outcome, is_final=outcome.kind != "refused"))
    return reader.bytes


def _found(offered: Offered, wanted: Sequence[Locked]) -> list[Plan]:
    """Return where the remote has each content: by its id, else by its digest."""
    ids = {each: EnvId.parse(each.id) for each in wanted}
    there = offered.listing.versions
    offered.fetch_manifests([env_id for env_id in ids.values() if env_id in there])
    plans, others = [], []
    for each, target in ids.items():
        line = offered.line(target) if target in there else ""
        if isinstance(line, IndexLine) and line.digest == each.digest:
            plans.append(Plan(target, target, each.digest))
        else:
            others.append((each, target))
    if not others:
        return plans
    by_digest: dict[str, EnvId] = {}
    for env_id, line in sorted(offered.lines().items()):
        if line.withdrawn is None or line.digest not in by_digest:
            by_digest[line.digest] = env_id
    candidates = [(by_digest[each.digest], target, each) for each, target in others
                  if each.digest in by_digest]  # fmt: skip
    offered.fetch_manifests([source for source, _, _ in candidates])
    for source, target, each in candidates:
        line = offered.line(source)
        if isinstance(line, IndexLine) and line.digest == each.digest:
            plans.append(Plan(source, target, each.digest))
    return plans
