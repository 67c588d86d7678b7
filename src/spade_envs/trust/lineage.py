"""Who made an environment, from which document, under which licences, and where it came from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_envs.errors import Corrupt, StoreError
from spade_envs.store import EnvStore
from spade_envs.store.read import clean_line
from spade_envs.trust.origin import origin_in, origins_of, others_of
from spade_envs.trust.settings import Settings
from spade_envs.trust.signatures import Forged, Signed
from spade_envs.trust.vouching import signature_of
from spade_envs.types import Record

if TYPE_CHECKING:
    from spade_envs.manifest.models import Manifest, PassageInfo, Provenance

_UNKNOWN = ("", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What the manifest says of an environment's making, and what this machine knows besides.

    A manifest says what its writer wrote into it; only a signature vouches for it.
    """

    id: str
    digest: str
    method: str
    """`designed`, `hand-written` or `imported`."""
    maker: str
    """Language model or person; `unknown` if the manifest names none."""
    created: str
    tool: str
    run: str
    document: str
    """Corpus and source of the passage that it was made from; empty if there is none."""
    document_licence: str
    parents: tuple[str, ...]
    """Digests."""
    licence: str
    gates_version: str
    withdrawn: str | None
    remote: str
    """Where this store has it from, else where it was first pulled from; empty for one's own."""
    also_offered: tuple[str, ...]
    """Further remotes that the same bytes were pulled from."""
    signed_by: str
    """Allowed signer whose signature holds here, or held when it was pulled; by a key that is
    theirs still."""
    remarks: tuple[str, ...]
    """What deserves a look, a sentence each."""


def lineage_of(
    store: EnvStore, record: Record, settings: Settings, *, held: Collection[str] = ()
) -> Lineage:
    """Return the lineage of a version.

    Args:
        store: that holds it.
        record: which.
        settings: who is allowed to sign.
        held: digests that can be looked up; a parent that is none of them is remarked on.

    Raises:
        Corrupt: the manifest is not valid.
        NotFound: the version is gone.
    """
    manifest = store.manifest(record)
    made = manifest.provenance
    origins = origins_of(record.digest)
    origin = origin_in(store.root, record.id, origins) or next(iter(origins), None)
    remote = origin.remote if origin else ""
    signed_by, forged = _signer(store, record, settings)
    signed_by = signed_by or next(
        (each.signed_by for each in origins if settings.vouches_for(each)), ""
    )
    remarks = [
        *forged,
        *_licence_remarks(manifest.licence, made.passage),
        *_other_remarks(manifest, held),
    ]
    if origins and not signed_by:
        remarks.append("was pulled, and no allowed signer vouches for what it says of itself")
    return Lineage(
        id=record.id,
        digest=record.digest,
        method=made.method,
        maker=_maker(made),
        created=made.created,
        tool=clean_line(made.tool),
        run=clean_line(made.run or ""),
        document=_document(made.passage),
        document_licence=clean_line(made.passage.licence) if made.passage else "",
        parents=made.parents,
        licence=clean_line(manifest.licence),
        gates_version=manifest.report.gates_version,
        withdrawn=record.withdrawn,
        remote=remote,
        also_offered=tuple(others_of(origins, remote)),
        signed_by=signed_by,
        remarks=tuple(remarks),
    )


def _signer(store: EnvStore, record: Record, settings: Settings) -> tuple[str, list[str]]:
    try:
        verdict = signature_of(store, record, settings)
    except (Corrupt, OSError, StoreError) as error:
        return "", [f"has a signature that cannot be read: {error}"]
    if isinstance(verdict, Signed):
        return verdict.by, []
    return "", [verdict.reason] if isinstance(verdict, Forged) else []


def _maker(made: Provenance) -> str:
    if made.designer is not None:
        revision = f" {made.designer.revision}" if made.designer.revision else ""
        return clean_line(f"{made.designer.model}{revision}")
    return clean_line(made.author or "") or "unknown"


def _document(passage: PassageInfo | None) -> str:
    if passage is None:
        return ""
    title = f" ({passage.title})" if passage.title else ""
    return clean_line(f"{passage.corpus}: {passage.source}{title}")


def _licence_remarks(licence: str, passage: PassageInfo | None) -> list[str]:
    """Compare an environment's licence with its document's, as far as their names tell."""
    remarks = []
    if licence.lower() in _UNKNOWN:
        remarks.append("says nothing of its licence")
    if passage is None:
        return remarks
    document = passage.licence
    if document.lower() in _UNKNOWN:
        return [*remarks, "was made from a document whose licence is not known"]
    if licence == document:
        return remarks
    parts = set(document.upper().split("-"))
    if parts & {"SA", "GPL", "AGPL", "GFDL"}:
        remarks.append(f"is {licence}, but its document is {document}: share alike")
    if "NC" in parts:
        remarks.append(f"is {licence}, but its document is {document}: not for commercial use")
    if "ND" in parts:
        remarks.append(f"was made from a document that allows no derived works: {document}")
    return remarks


def _other_remarks(manifest: Manifest, held: Collection[str]) -> list[str]:
    remarks = []
    made = manifest.provenance
    if made.method == "designed" and made.designer is None:
        remarks.append("was designed by a model that it does not name")
    if held and (absent := sum(parent not in held for parent in made.parents)):
        remarks.append(f"was made of {absent} environment(s) that are not here")
    if manifest.seal is None:
        remarks.append("has no seal, so changes of these texts cannot be noticed")
    return remarks
