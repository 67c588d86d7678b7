"""From a preset or file, overlays and single settings to one checked configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.config.config import Config
from spade_train.config.layers import Layer, find_layer, overlay
from spade_train.config.overrides import parse_setting
from spade_train.config.problems import describe

_DEEPEST = 8


def resolve(
    what: str | Path, *, overlays: Iterable[str] = (), settings: Iterable[str] = ()
) -> Config:
    """Return the configuration of a run.

    Later layers win: the file's base, its overlays, the file itself, `overlays`, `settings`.

    Args:
        what: name of a preset, or path of a TOML file.
        overlays: names of overlays.
        settings: texts of the form `a.b=c`.

    Raises:
        ConfigError: something is unknown or out of range; the message names every key.
    """
    stack = [*_stack(str(what), Path()), *map(overlay, overlays)]
    values: Json = {}
    for layer in stack:
        values = _merged(values, layer.values)
    for text in settings:
        path, value = parse_setting(text, Config)
        for part in reversed(path):
            value = {part: value}
        values = _merged(values, value)
    public = [layer.name for layer in stack if not layer.name.startswith("_")]
    values.setdefault("name", "+".join(public) or "run")
    values.setdefault("derived_from", public)
    return read_config(values, str(what))


def read_config(values: Mapping[str, Json], where: str) -> Config:
    """Return a configuration from the plain values of its keys; the defaults for the rest.

    Args:
        values: nested mappings as TOML or JSON holds them.
        where: names their origin in messages.

    Raises:
        ConfigError: a key is unknown or a value cannot be used; the message names every one.
    """
    try:
        # As JSON, where lists are tuples and text names members of enumerations, but strictly so.
        data = json.dumps(values, ensure_ascii=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: a value cannot stand in a configuration: {error}") from None
    try:
        return Config.model_validate_json(data)
    except ValidationError as error:
        lines = describe(error, Config)
        if len(lines) == 1:
            raise ConfigError(f"{where}: {lines[0]}") from None
        listed = "".join(f"\n  {line}" for line in lines)
        raise ConfigError(f"{where}: {len(lines)} settings cannot be used:{listed}") from None


def changed_keys(one: Config, other: Config) -> tuple[str, ...]:
    """Return the paths of the keys in which two configurations differ, sorted."""
    left, right = _flat(one.model_dump(mode="json")), _flat(other.model_dump(mode="json"))
    return tuple(sorted(key for key in left if left[key] != right[key]))


def _flat(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _stack(what: str, beside: Path, above: int = 0) -> list[Layer]:
    if above > _DEEPEST:
        raise ConfigError(
            f"{what}: more than {_DEEPEST} bases upon each other, or a circle of them"
        )
    layer, folder = find_layer(what, beside)
    below = _stack(layer.base, folder, above + 1) if layer.base else []
    return [*below, *map(overlay, layer.overlays), layer]


def _merged(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merged(old, value)
        merged[key] = value
    return merged
