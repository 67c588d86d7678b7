"""What is wrong with a configuration, in words: key path, what is wrong, what mends it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_TYPES = {
    "string_type": "needs text in quotes",
    "bool_type": "needs true or false",
    "bool_parsing": "needs true or false",
    "int_type": "needs a whole number",
    "int_parsing": "needs a whole number",
    "int_from_float": "needs a whole number",
    "float_type": "needs a number",
    "float_parsing": "needs a number",
    "finite_number": "needs a finite number",
    "string_too_short": "must not be empty",
    "string_too_long": "must be shorter",
    "string_pattern_mismatch": "must be one line of text",
    "tuple_type": "needs a list in brackets",
    "model_type": "is a section; its keys go below a line with its name in brackets",
}


def describe(error: ValidationError, root: type[BaseModel]) -> tuple[str, ...]:
    """Return one line per key that is wrong, in order of the keys."""
    lines: dict[str, list[str]] = {}
    for each in error.errors(include_url=False):
        path = _path(each, root)
        lines.setdefault(path, []).append(_reason(each, path, root))
    return tuple(f"{path}: {either(reasons)}" for path, reasons in lines.items())


def unknown_key(path: str, root: type[BaseModel]) -> str:
    """Return what to say of a key that does not exist, with the likeliest right one."""
    known = list(key_paths(root))
    near = difflib.get_close_matches(path, known, n=1, cutoff=0.75)
    leaf = path.rpartition(".")[2]
    same = [key for key in known if key.rpartition(".")[2] == leaf]
    cousins = [key for key in known if key.rpartition(".")[0] == path.rpartition(".")[0]]
    if near or same:
        return f"no such key; did you mean {' or '.join(near or same[:3])}?"
    return f"no such key; there are {', '.join(cousins)}" if cousins else "no such section"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` or a list of what there is, to end a message with."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"


def key_paths(root: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Give the path of every key below a model, sections left out."""
    for name, field in root.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from key_paths(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _path(error: ErrorDetails, root: type[BaseModel]) -> str:
    """Return the key's path; members of unions, which pydantic appends, are left out."""
    parts: list[str] = []
    model: Any = root
    for part in error["loc"]:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif model is not None:
            parts.append(f".{part}" if parts else part)
            field = model.model_fields.get(part)
            section = field.annotation if field else None
            inner = isinstance(section, type) and issubclass(section, BaseModel)
            model = section if inner else None
    if error["type"] == "config":
        key = error["ctx"]["key"]
        parts.append(f".{key}" if parts else key)
    return "".join(parts) or "the whole"


def _reason(error: ErrorDetails, path: str, root: type[BaseModel]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    value = _short(error.get("input"))
    if kind == "config":
        return str(context["reason"])
    if kind == "extra_forbidden":
        return unknown_key(path, root)
    if kind in ("literal_error", "enum"):
        known = str(context["expected"])
        near = difflib.get_close_matches(value.strip("'"), known.replace("'", "").split(), n=1)
        hint = f"; did you mean {near[0].strip(',')!r}?" if near else ""
        return f"must be {known}, not {value}{hint}"
    if kind in _TYPES:
        return f"{_TYPES[kind]}, not {value}"
    bounds = _bounds(context)
    return f"must be {bounds}, not {value}" if bounds else f"{error['msg']}, not {value}"


def _bounds(context: Mapping[str, Any]) -> str:
    for key, sign in (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<")):
        if key in context:
            return f"{sign} {context[key]}"
    return ""


def either(reasons: Sequence[str]) -> str:
    """Join what the members of a union said: `needs a number, not 'x'` or `must be ...`."""
    heads = [reason.rpartition(", not ")[0] for reason in reasons[:-1]]
    return " or ".join([*heads, reasons[-1]])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
