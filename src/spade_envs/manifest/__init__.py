"""What envstore files hold, and how they are read: canonical JSON, digests and models.

`canonical` needs nothing but the standard library and msgspec, so that `gym.make` can verify a
digest without loading pydantic; `models` holds the full schemas and is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spade_envs.manifest.canonical import (
    FORMAT,
    FileStamp,
    canonical_json,
    decode_report,
    digest_of,
    encode_report,
    parse_json,
    stamp,
)

if TYPE_CHECKING:
    from spade_envs.manifest.models import (
        DesignerInfo,
        InterfaceModel,
        Manifest,
        PassageInfo,
        Provenance,
        ReportSummary,
        StoreMarker,
        Tombstone,
        read_model,
    )

_MODELS = (
    "DesignerInfo",
    "InterfaceModel",
    "Manifest",
    "PassageInfo",
    "Provenance",
    "ReportSummary",
    "StoreMarker",
    "Tombstone",
    "read_model",
)

__all__ = [
    "FORMAT",
    "DesignerInfo",
    "FileStamp",
    "InterfaceModel",
    "Manifest",
    "PassageInfo",
    "Provenance",
    "ReportSummary",
    "StoreMarker",
    "Tombstone",
    "canonical_json",
    "decode_report",
    "digest_of",
    "encode_report",
    "parse_json",
    "read_model",
    "stamp",
]


def __getattr__(name: str) -> Any:
    if name in _MODELS:
        from spade_envs.manifest import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
