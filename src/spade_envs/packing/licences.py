"""Licences of many environments as one SPDX expression, and as the Hugging Face Hub names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from spade_envs.errors import ConfigError

_HUB = frozenset(
    {
        *("mit", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "isc", "unlicense", "cc0-1.0"),
        *("cc-by-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0"),
        *("cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0", "cc-by-nd-4.0", "mpl-2.0", "zlib", "wtfpl"),
        *("gpl-2.0", "gpl-3.0", "lgpl-2.1", "lgpl-3.0", "agpl-3.0", "epl-2.0", "bsl-1.0"),
    }
)


MAX_CHARS = 300
"""Longest expression that is read: manifests hold no longer one, and parsers have their limits."""


def spdx(licence: str) -> str | None:
    """Return a licence as SPDX writes it; None if it is unknown or no SPDX expression."""
    if len(licence) > MAX_CHARS:
        return None
    try:
        return str(canonicalize_license_expression(licence))
    except InvalidLicenseExpression:
        return None


def whole(licences: Mapping[str, str]) -> str:
    """Return the one expression that covers all of the environments.

    Args:
        licences: by id, what the manifests say; at least one.

    Raises:
        ConfigError: one of them is unknown, or no SPDX expression.
    """
    parts: set[str] = set()
    unclear = [env_id for env_id, licence in licences.items() if spdx(licence) is None]
    if unclear:
        more = f" and {len(unclear) - 1} more" if len(unclear) > 1 else ""
        raise ConfigError(
            f"{unclear[0]}{more}: the licence {licences[unclear[0]]!r} lets nobody pass it on; "
            "name it (spade-envs import ID --licence SPDX --store STORE), or leave it out, or say "
            "--unknown-licences"
        )
    for licence in licences.values():
        expression = spdx(licence) or ""
        parts.add(f"({expression})" if " " in expression else expression)
    return str(canonicalize_license_expression(" AND ".join(sorted(parts))))


def for_hub(licences: Iterable[str]) -> list[str]:
    """Return what a dataset card's front matter says: the hub's own names, sorted."""
    found = set()
    for licence in licences:
        name = (spdx(licence) or "unknown").lower().removesuffix("-only").removesuffix("-or-later")
        found.add(name if name in _HUB or name == "unknown" else "other")
    return sorted(found)
