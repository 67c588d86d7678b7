"""Find an environment in whichever of the discovered stores holds it."""

from __future__ import annotations

from spade_envs.errors import NotFound
from spade_envs.store.discovery import discover
from spade_envs.store.envstore import open_store
from spade_envs.types import Record


def locate(ref: str, *, withdrawn: bool = False) -> Record:
    """Return the record that `ref` names in the default store, else in the starter store.

    Args:
        ref: id, name, digest or the first 12 or more digits of a digest.
        withdrawn: give withdrawn versions as well, instead of raising.

    Raises:
        NotFound: no store holds it.
        Withdrawn: the first store that holds it has withdrawn it.
        IdError: `ref` cannot name an environment.
        Corrupt: the version cannot be read.
    """
    missing: list[str] = []
    for root in discover():
        try:
            return open_store(root).get(ref, withdrawn=withdrawn)
        except NotFound as error:
            missing.append(str(error))
    if not missing:
        raise NotFound(f"{ref} cannot be found: there is no envstore; name one with store=")
    raise NotFound("; ".join(missing))
