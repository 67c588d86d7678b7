"""What remotes said before: ids never change their content, and withdrawals are never undone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from spade_envs.ids import EnvId
from spade_envs.store.read import clean_line
from spade_envs.trust import journal
from spade_envs.trust.incoming import Refused
from spade_envs.trust.origin import one_spelling, public_address

FILE = "seen.jsonl"
_ASK = "ask the remote's owner; what you have already stays as it is"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a remote says of one version."""

    env_id: EnvId
    digest: str
    withdrawn: bool = False
    gates_version: str = ""
    """Of the certificate; empty if it is not known yet."""


class _Seen(msgspec.Struct, frozen=True):
    remote: str
    id: str
    digest: str
    withdrawn: bool = False
    gates_version: str = ""


def judge_offers(
    remote: str, offers: Iterable[Offer], *, there: Iterable[EnvId] = ()
) -> dict[EnvId, Refused]:
    """Return by id which offers take back what the same remote said before, and why.

    Args:
        remote: what its past is noted under, `Remote.known_as`.
        offers: what it says now; digests may come from its index, before anything is fetched.
        there: all versions that the remote lists. An offer of the greatest one of its name is
            refused as well if that is less than it was: an older state of the store is offered.
    """
    known = _by_id(_place(remote))
    offered = list(offers)
    refused = {offer.env_id: found for offer in offered if (found := _judged(offer, known))}
    back = _rolled_back(there, known)
    return refused | {each.env_id: back[each.env_id] for each in offered if each.env_id in back}


def _judged(offer: Offer, known: dict[str, _Seen]) -> Refused | None:
    where = str(offer.env_id)
    before = known.get(where)
    if before is None:
        return None
    if offer.digest != before.digest:
        reason = (
            f"had the digest {before.digest[:19]}... at this remote and has {offer.digest[:19]}... "
            "now: its content was replaced"
        )
        return Refused(where, reason, _ASK)
    if before.withdrawn and not offer.withdrawn:
        return Refused(where, "was withdrawn at this remote and is offered again", _ASK)
    if _older(offer.gates_version, before.gates_version):
        reason = (
            f"had a certificate of gates {before.gates_version} at this remote and has an older "
            f"one, of gates {offer.gates_version}"
        )
        return Refused(where, reason, _ASK)
    return None


def _older(now: str, before: str) -> bool:
    numbers = now.isdecimal() and before.isdecimal()
    return numbers and int(now) < int(before)


def _rolled_back(there: Iterable[EnvId], known: dict[str, _Seen]) -> dict[EnvId, Refused]:
    newest: dict[str, int] = {}
    for each in there:
        newest[each.name] = max(each.version or 0, newest.get(each.name, -1))
    refused = {}
    for text in known:
        env_id = EnvId.parse(text)
        now = newest.get(env_id.name)
        if now is not None and now < (env_id.version or 0):
            last = EnvId(env_id.name, now)
            reason = f"is the newest that this remote offers, but it had {env_id}: an older state"
            refused[last] = Refused(str(last), reason, _ASK)
    return refused


def check_rights() -> None:
    """Check that offers could be noted, before anything is moved that must be.

    Raises:
        StorageError: they could not.
    """
    journal.check_rights(FILE)


def note_offers(remote: str, offers: Iterable[Offer]) -> None:
    """Note what a remote offers, to hold it to that later. Call it for what was taken.

    Raises:
        StoreError: it cannot be noted.
    """
    address = _place(remote)
    known = _by_id(address)
    new = [
        _Seen(address, str(offer.env_id), offer.digest, offer.withdrawn, offer.gates_version)
        for offer in offers
    ]
    merged = [(known.get(note.id), note) for note in new]
    journal.append(FILE, [now for old, now in merged if old is None or _merged(old, now) != old])


def _place(remote: str) -> str:
    """Return what notes call a remote: its public address, with the branch if one is named."""
    address, mark, branch = remote.rpartition("#") if "://" in remote else (remote, "", "")
    return (
        f"{public_address(address)}#{clean_line(branch, 200)}" if mark else public_address(remote)
    )


def seen_digests(remote: str) -> dict[str, str]:
    """Return by id the digests that were taken from a remote before."""
    return {text: seen.digest for text, seen in _by_id(_place(remote)).items()}


def _by_id(address: str) -> dict[str, _Seen]:
    """Return the last that an address said of each id; the first digest and a withdrawal stand."""
    known: dict[str, _Seen] = {}
    for remote, notes in journal.grouped(FILE, _Seen, "remote").items():
        if one_spelling(remote) != address:  # earlier releases noted folders as they were given
            continue
        for note in notes:
            before = known.get(note.id)
            known[note.id] = note if before is None else _merged(before, note)
    return known


def _merged(before: _Seen, now: _Seen) -> _Seen:
    """Return both as one: the first digest and a withdrawal stand, and the newest gates."""
    older = not now.gates_version or _older(now.gates_version, before.gates_version)
    return msgspec.structs.replace(
        before,
        withdrawn=before.withdrawn or now.withdrawn,
        gates_version=before.gates_version if older else now.gates_version,
    )
