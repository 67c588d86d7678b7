"""A configuration as TOML, with each key's help beside it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from spade_train.config.config import Config

_WIDTH = 98


def to_toml(config: Config, *, comments: bool = True) -> str:
    """Return a TOML document that reads back as an equal configuration.

    Args:
        config: the configuration; every key is written, defaults too.
        comments: whether each key's help stands above it.
    """
    values = config.model_dump(mode="json")
    return "\n".join(_table("", type(config), values, comments)).strip("\n") + "\n"


def scalar(value: Any) -> str:
    """Return a str, bool, int, float or list of them as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(scalar, value))}]"
    if isinstance(value, str):
        # For one line of text without control characters, JSON's strings are TOML's.
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def _table(
    path: str, model: type[BaseModel], values: dict[str, Any], comments: bool
) -> Iterator[str]:
    below: list[tuple[str, type[BaseModel]]] = []
    if path:
        yield ""
        if comments:
            yield from _comment((model.__doc__ or "").strip())
        yield f"[{path}]"
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            below.append((name, section))
            continue
        if comments and field.description:
            yield from _comment(field.description)
        yield f"{name} = {scalar(values[name])}"
    for name, section in below:
        inner = f"{path}.{name}" if path else name
        yield from _table(inner, section, values[name], comments)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent="# ", subsequent_indent="# "
    )
