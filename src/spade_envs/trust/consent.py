"""How consent to run what comes from elsewhere is asked for, and what is said beside it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from spade_envs.trust.origin import Origin, origin_in, others_of

_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))
_MOST = 3
"""Further remotes that are named."""


def whose(namespace: str) -> str:
    """Return how to speak of a namespace."""
    return f"the namespace {namespace!r}" if namespace else "names without an owner"


def consent_command(origin: Origin) -> str:
    """Return the command that consents to run what an origin stands for."""
    name = f" {origin.namespace}" if origin.namespace else ""
    remote = origin.remote
    if remote.startswith("file://"):  # notes call a folder by its path, and a repository so
        remote = f"git+{remote}"
    return f"spade-envs trust add{name} --from {shlex.quote(remote)}"


def also_offered(remotes: Sequence[str]) -> str:
    """Return how to name the remotes that have offered the same bytes; empty if there are none."""
    more = f" and {len(remotes) - _MOST} more" if len(remotes) > _MOST else ""
    return f"also offered by {', '.join(remotes[:_MOST])}{more}" if remotes else ""


def plea(name: str, origins: Sequence[Origin], store: Path) -> str:
    """Return why an environment does not run yet, and which command lets it.

    No command names a remote that the store does not have its copy from: whoever mirrors a team's
    environments would be trusted in all that he offers.

    Args:
        name: id of the environment.
        origins: where it was pulled from, the oldest first; at least one.
        store: where it lies.
    """
    here = origin_in(store, name, origins)
    origin = here or origins[0]
    told = also_offered(others_of(origins, origin.remote))
    also = f" ({told})" if told else ""
    audit = f"See who made it: spade-envs audit {name} --store {shlex.quote(str(store))}"
    if here is None:
        owner = f" {origin.namespace}" if origin.namespace else ""
        return (
            f"{name} was pulled from {origin.remote} into another store{also}, nothing tells "
            f"where this store has it from, and you have not let it run. {audit}; then allow the "
            f"remote that you have it from: spade-envs trust add{owner} --from REMOTE"
        )
    return (
        f"{name} comes from {origin.remote}{also}, and you have not said that "
        f"{whose(origin.namespace)} may run from there. {audit}; then allow it: "
        f"{consent_command(origin)}"
    )


def lookalike(namespace: str, trusted: Iterable[str]) -> str | None:
    """Return a trusted name that another one can be mistaken for, such as `alice` for `a1ice`."""
    shape = _shape(namespace)
    return next((name for name in trusted if name != namespace and _shape(name) == shape), None)


def _shape(name: str) -> str:
    text = name.lower().replace("-", "")
    for seen, meant in _ALIKE:
        text = text.replace(seen, meant)
    return text
