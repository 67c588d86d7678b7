"""Which stores there are: the user's default one, and the starter store that is shipped."""

from __future__ import annotations

import os
from pathlib import Path

from spade_envs.store.layout import MARKER

ENV_VARIABLE = "SPADE_ENVSTORE"
PACKED = "_envstore"
"""Folder of the store inside a package that `packing.pack` made."""

_PACKAGE = Path(__file__).resolve().parent.parent


def default_path() -> Path:
    """Return where the user's default store is, or would be.

    That is `$SPADE_ENVSTORE`; else `./envstore` if it is an envstore; else a folder in the user's
    data directory.
    """
    if named := os.environ.get(ENV_VARIABLE):
        return Path(os.path.expanduser(named)).absolute()
    here = Path("envstore").absolute()
    if (here / MARKER).is_file():
        return here
    from platformdirs import user_data_path

    return user_data_path("spade-envs", appauthor=False) / "envstore"


def starter_path() -> Path | None:
    """Return where the starter store is: inside the wheel, or beside `src` in a checkout."""
    for place in (_PACKAGE / "_starter", _PACKAGE.parent.parent / "envstore"):
        if (place / MARKER).is_file():
            return place
    return None


def is_shipped(root: Path) -> bool:
    """Whether `root` lies in a package, ours or one that `pack` made: nobody may write to it."""
    packed = root.name == PACKED and (root.parent / "__init__.py").is_file()
    return packed or Path(os.path.realpath(root)) == _PACKAGE / "_starter"


def discover() -> tuple[Path, ...]:
    """Return the stores that exist: the user's default store first, then the starter store.

    With `SPADE_ENVSTORE` set but empty there are none.
    """
    if os.environ.get(ENV_VARIABLE) == "":
        return ()
    places = [default_path(), starter_path()]
    found: dict[Path, Path] = {}
    for place in places:
        if place is not None and (place / MARKER).is_file():
            found.setdefault(Path(os.path.realpath(place)), place)
    return tuple(found.values())
