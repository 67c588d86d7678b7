"""Layers that a configuration is made of: bundled presets, bundled overlays, files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.config.problems import nearest

MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Some settings, and what they build on."""

    name: str
    about: str = ""
    """One line for lists."""
    base: str = ""
    """Preset or TOML file below this layer; empty for the defaults."""
    overlays: tuple[str, ...] = ()
    """Overlays between base and this layer."""
    values: Mapping[str, Json] = field(default_factory=dict)


@lru_cache(maxsize=1)
def presets() -> Mapping[str, Layer]:
    """Return the bundled presets by name; those with a leading underscore are mere bases."""
    return _bundled("presets")


@lru_cache(maxsize=1)
def overlays() -> Mapping[str, Layer]:
    """Return the bundled overlays by name: ablations, baselines, variants."""
    return _bundled("overlays")


def overlay(name: str) -> Layer:
    """Return a bundled overlay.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in overlays():
        raise ConfigError(f"no overlay {name!r}; {nearest(name, overlays())}")
    return overlays()[name]


def find_layer(what: str, beside: Path) -> tuple[Layer, Path]:
    """Return a preset by its name or a file by its path, and the folder its paths start from.

    Args:
        what: name of a preset, or a path that ends in `.toml`.
        beside: folder that a relative path starts from.

    Raises:
        ConfigError: there is no such preset or file, or the file is not TOML.
    """
    if what in presets():
        return presets()[what], beside
    path = beside / what
    if path.suffix != ".toml" and not path.is_file():
        public = [name for name in presets() if not name.startswith("_")]
        raise ConfigError(f"no preset or file {what!r}; {nearest(what, public)}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} has more than {MAX_BYTES} bytes: no configuration")
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    return read_layer(data, path.stem, str(path)), path.parent


def read_layer(data: bytes, name: str, where: str) -> Layer:
    """Read a layer from the bytes of a TOML file.

    Args:
        data: the file's content, in UTF-8.
        name: name of the layer.
        where: names the file in messages.

    Raises:
        ConfigError: the bytes are not TOML, or `about`, `base` or `overlays` has a wrong type.
    """
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not TOML: {error}") from None
    about, base = values.pop("about", ""), values.pop("base", "")
    names = values.pop("overlays", [])
    if not isinstance(about, str) or not isinstance(base, str):
        raise ConfigError(f"{where}: about and base need text in quotes")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise ConfigError(f"{where}: overlays needs a list of names")
    return Layer(name=name, about=about, base=base, overlays=tuple(names), values=values)


def _bundled(folder: str) -> Mapping[str, Layer]:
    files = (resources.files("spade_train.config") / folder).iterdir()
    found = {file.name.removesuffix(".toml"): file for file in files if file.name.endswith(".toml")}
    return {
        name: read_layer(found[name].read_bytes(), name, f"{folder}/{name}.toml")
        for name in sorted(found)
    }
