"""How consent to run what comes from elsewhere is asked for, and what is said beside it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from spade_envs.trust.origin import Origin

_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))


def whose(namespace: str) -> str:
    """Return how to speak of a namespace."""
    return f"the namespace {namespace!r}" if namespace else "names without an owner"


def consent_command(origin: Origin) -> str:
    """Return the command that consents to run what an origin stands for."""
    name = f" {origin.namespace}" if origin.namespace else ""
    return f"spade-envs trust add{name} --from {shlex.quote(origin.remote)}"


def plea(name: str, origin: Origin, store: Path) -> str:
    """Return why an environment does not run yet, and which command lets it.

    Args:
        name: id of the environment.
        origin: where it was pulled from.
        store: where it lies.
    """
    return (
        f"{name} comes from {origin.remote}, and you have not said that "
        f"{whose(origin.namespace)} may run from there. See who made it: spade-envs audit {name} "
        f"--store {shlex.quote(str(store))}; then allow it: {consent_command(origin)}"
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
