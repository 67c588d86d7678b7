"""`--set a.b=c`: one key's value as text, read by the type of the key and never evaluated."""

from __future__ import annotations

import tomllib
import types
import typing
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.config.problems import describe, either, unknown_key


def parse_setting(text: str, root: type[BaseModel]) -> tuple[tuple[str, ...], Json]:
    """Return the key's path and the value of `a.b=c`.

    Text stands without quotes, lists as `x,y` or `["x", "y"]`. Ranges are not checked here.

    Raises:
        ConfigError: there is no `=` or no such key, the key is a section, or the text is no value
            of the key's type.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals:
        raise ConfigError(f"--set {text}: needs the form key.path=value")
    model, parts = root, key.split(".")
    for place, part in enumerate(parts):
        field = model.model_fields.get(part)
        if field is None:
            raise ConfigError(f"--set {key}: {unknown_key(key, root)}")
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
        elif place + 1 == len(parts):
            return tuple(parts), _value(key, value, inner)
        else:
            raise ConfigError(f"--set {key}: {'.'.join(parts[: place + 1])} has no keys below it")
    known = ", ".join(f"{key}.{name}" for name in model.model_fields)
    raise ConfigError(f"--set {key}: that is a section; set one of {known}")


def _value(key: str, text: str, kind: Any) -> Json:
    if _is_list(kind):
        return _list(key, text)
    if kind is str or _is_text(kind):
        return text
    if kind is bool and text.strip() not in ("true", "false"):
        raise ConfigError(f"--set {key}: needs true or false, not {text!r}")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        return adapter.dump_python(adapter.validate_strings(text.strip(), strict=True), mode="json")
    except ValidationError as error:
        lines = describe(error, BaseModel)
        reasons = [line.partition(": ")[2] for line in lines]
        raise ConfigError(f"--set {key}: {either(reasons)}") from None


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is tuple


def _is_text(kind: Any) -> bool:
    """Return whether a type is plain or constrained text, and not one of a few words."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return False
    return typing.get_origin(kind) is typing.Annotated and typing.get_args(kind)[0] is str


def _list(key: str, text: str) -> Json:
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        values = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"--set {key}: not a list: {error}") from None
    if values.keys() != {"value"} or not isinstance(values["value"], list):
        raise ConfigError(f"--set {key}: needs one list, not {text!r}")
    return values["value"]
