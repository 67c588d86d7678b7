"""Which store a command works on, and finding an environment in it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.errors import NotFound

if TYPE_CHECKING:
    from spade_envs.store import EnvStore
    from spade_envs.types import EnvSource, Record

F = TypeVar("F", bound=Callable[..., Any])


def store_option(command: F) -> F:
    """Add `--store DIR`."""
    text = "Envstore to use. [default: $SPADE_ENVSTORE, ./envstore, or your data directory]"
    return click.option("--store", metavar="DIR", help=text, callback=_named)(command)


def _named(ctx: click.Context, param: click.Parameter, store: str | None) -> str | None:
    if store == "":  # of a variable that is not set, and not the folder one is in
        raise click.BadParameter("it is empty; name a folder, or leave it out", ctx, param)
    return store


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")(command)


def novelty_option(command: F) -> F:
    """Add `--novelty THRESHOLDS`."""
    text = (
        "Distances up to which another environment of the store is repeated, such as "
        "embedding=0.05,behaviour=off; or off. They go into the manifest. [default: "
        "embedding=0.2,behaviour=0.1]"
    )
    return click.option("--novelty", metavar="DISTANCES", help=text)(command)


class Finite(click.FloatRange):
    """A number in a range; `nan` and `inf`, which `float` reads, are refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail as click does."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Author(click.types.StringParamType):
    """A person or organisation, on one line."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail as click does."""
        from spade_envs.store.read import clean_line

        if not value or value != clean_line(value):
            self.fail(f"{value!r} is no name on one line of at most 300 characters", param, ctx)
        return str(value)


class Licence(click.types.StringParamType):
    """An SPDX licence expression, or `unknown`."""

    name = "SPDX"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the expression as SPDX writes it, or fail as click does."""
        from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

        if value == "unknown":
            return "unknown"
        try:
            return str(canonicalize_license_expression(value))
        except InvalidLicenseExpression:
            mend = "such as MIT or CC-BY-4.0; write LicenseRef-NAME for one that SPDX does not list"
            self.fail(f"{value!r} is no SPDX licence identifier {mend}", param, ctx)


def writable_store(store: str | None) -> EnvStore:
    """Return the store named, or the default one, made if it is not there yet.

    Raises:
        ConfigError: none is named, and the default one is the starter store of a checkout.
        StoreError: it cannot be opened.
    """
    from spade_envs.store import open_store

    _refuse_starter(store)
    return open_store(store, create=True)


def fillable_store(store: str | None) -> EnvStore:
    """Do as `writable_store` does, but leave it to the pull to make a store that is not there."""
    from spade_envs.store.envstore import planned_store

    _refuse_starter(store)
    return planned_store(store)


def _refuse_starter(store: str | None) -> None:
    from spade_envs.errors import ConfigError
    from spade_envs.store import default_path, starter_path
    from spade_envs.store.discovery import ENV_VARIABLE

    named = store or os.environ.get(ENV_VARIABLE) or ""
    if os.path.expanduser(named).startswith("~"):
        raise ConfigError(
            f"{named}: there is no user of that name; write ./{named} for a folder of yours"
        )
    starter = starter_path()
    if store is None and not os.environ.get(ENV_VARIABLE) and starter is not None:
        default = default_path()
        if os.path.realpath(default) == os.path.realpath(starter):
            raise ConfigError(
                f"{default} is the starter store of this checkout; name a store of your own with "
                "--store, or this one if you mean it"
            )


def existing_store(store: str | None) -> EnvStore:
    """Return the store named, or the default one.

    Raises:
        NotFound: there is no such folder, or it is no store.
        ConfigError: no folder can be there.
        StorageError: it may not be entered.
    """
    from spade_envs.store import default_path, open_store
    from spade_envs.store.room import check_way

    root = default_path() if store is None else Path(os.path.expanduser(store))
    check_way(root)
    if not os.path.lexists(root):
        raise NotFound(f"{root} is not an envstore: there is no such folder")
    return open_store(root)


def readable_stores(store: str | None) -> list[EnvStore]:
    """Return the store named, or every store that is discovered (default, then starter).

    Raises:
        NotFound: the store named, or any store at all, is missing.
    """
    from spade_envs.store import discover, open_store

    if store is not None:
        return [existing_store(store)]
    found = [open_store(path) for path in discover()]
    if not found:
        raise NotFound("there is no envstore; name one with --store, or run spade-envs generate")
    return found


def plays_root(opened: EnvStore, store: str | None) -> Path:
    """Return the root of the store that notes plays and hints of a store's environments.

    The starter store is a part of this package or its checkout, so yours does, unless it is named.
    """
    from spade_envs.store import starter_path

    starter = starter_path()
    if (
        store is None
        and starter is not None
        and os.path.realpath(opened.root) == os.path.realpath(starter)
    ):
        return writable_store(None).root
    return opened.root


def find(ref: str, store: str | None, *, withdrawn: bool = False) -> tuple[EnvStore, Record]:
    """Return the first store that holds `ref`, and its record.

    Args:
        ref: id, name or digest.
        store: the only store to look in, or None for every discovered one.
        withdrawn: give a withdrawn version too.

    Raises:
        NotFound: none does; the message is that of the first store.
        Withdrawn: it was withdrawn.
    """
    missing: NotFound | None = None
    for opened in readable_stores(store):
        try:
            return opened, opened.get(ref, withdrawn=withdrawn)
        except NotFound as error:
            missing = missing or error
    raise missing or NotFound(f"there is no environment {ref!r}")


def is_file(target: str) -> bool:
    """Whether `target` means a Python file, there or not, and no id."""
    return target.endswith(".py") or Path(target).is_file()


def source_of(target: str, store: str | None) -> EnvSource:
    """Return the source of a file (if the path exists) or of a registered environment.

    Raises:
        NotFound: it is neither a file nor an environment.
        ConfigError: the file cannot be read as UTF-8 text.
    """
    from spade_envs.errors import ConfigError, IdError
    from spade_envs.interop.files import read_bounded
    from spade_envs.types import EnvSource

    path = Path(target)
    if path.is_file():
        try:
            return EnvSource(code=read_bounded(path).decode("utf-8-sig"), origin=target)
        except (UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"{target} cannot be read as UTF-8 text: {error}") from None
    if path.suffix == ".py" or path.is_dir():
        raise NotFound(f"{target} is not a file; give a Python file or an id like spade/maze-v0")
    try:
        opened, record = find(target, store)
    except IdError as error:
        raise NotFound(f"{target!r} is neither a file nor an environment: {error}") from None
    return opened.source(record)
