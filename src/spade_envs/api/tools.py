"""Typed tools: from a method's signature and docstring to a JSON schema and checked arguments.

msgspec makes the schema and checks the arguments, docstring_parser reads the docstring.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import docstring_parser
import msgspec

Method = TypeVar("Method", bound=Callable[..., Any])
_MARK = "_spade_tool"


class ToolError(Exception):
    """Raised by a tool to answer with an error message; the episode goes on."""


def tool(method: Method) -> Method:
    """Mark a method of a `ToolEnv` as a tool that the agent may call.

    Every parameter needs a type; the docstring's first line describes the tool, its `Args:` the
    parameters. The method returns a str, or anything that JSON can hold, or raises `ToolError`.
    """
    setattr(method, _MARK, True)
    return method


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool of an environment class."""

    name: str
    schema: Mapping[str, Any]
    """OpenAI function schema: `{"type": "function", "function": {...}}`."""
    arguments: type[msgspec.Struct]

    def check(self, arguments: Mapping[str, Any], *, loose: bool = False) -> dict[str, Any]:
        """Return the arguments as the method takes them.

        Raises:
            ToolError: they do not fit the schema; the message says where and how.
        """
        try:
            value = msgspec.convert(dict(arguments), self.arguments, strict=not loose)
        except msgspec.ValidationError as error:
            raise ToolError(f"bad arguments for {self.name}: {error}; {self._expected()}") from None
        return {field: getattr(value, field) for field in self.arguments.__struct_fields__}

    def _expected(self) -> str:
        return f"expected {self.signature()}"

    def signature(self) -> str:
        """Return a one-line signature in JSON terms, such as `find(surname: string)`."""
        parameters = self.schema["function"]["parameters"]
        required = set(parameters.get("required", ()))
        parts = []
        for name, schema in parameters["properties"].items():
            mark = "" if name in required else "?"
            parts.append(f"{name}{mark}: {_type_name(schema)}")
        return f"{self.name}({', '.join(parts)})"


def tools_of(cls: type) -> dict[str, ToolSpec]:
    """Return the tools of a class by name, in the order of their definition.

    Raises:
        TypeError: a tool lacks a type, a docstring, or has a parameter that JSON cannot hold.
    """
    found: dict[str, ToolSpec] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if getattr(value, _MARK, False):
                found[name] = _spec(name, value)
    return found


def _spec(name: str, method: Callable[..., Any]) -> ToolSpec:
    doc = docstring_parser.parse(inspect.getdoc(method) or "")
    if not doc.short_description:
        raise TypeError(f"tool {name} needs a docstring that says what it does")
    described = {parameter.arg_name: parameter.description or "" for parameter in doc.params}
    hints = typing.get_type_hints(method, include_extras=True)
    fields: list[Any] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"tool {name} may not take *{parameter.name}")
        if parameter.name not in hints:
            raise TypeError(f"parameter {parameter.name} of tool {name} needs a type")
        text = " ".join(described.get(parameter.name, "").split())
        kind: Any = hints[parameter.name]
        if text:
            kind = Annotated[kind, msgspec.Meta(description=text)]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        fields.append((parameter.name, kind, *default))
    arguments = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
    description = " ".join(f"{doc.short_description} {doc.long_description or ''}".split())
    function = {"name": name, "description": description, "parameters": _schema(name, arguments)}
    return ToolSpec(name, {"type": "function", "function": function}, arguments)


def _schema(name: str, arguments: type[msgspec.Struct]) -> dict[str, Any]:
    try:
        (root,), defined = msgspec.json.schema_components([arguments], ref_template="{name}")
    except TypeError as error:
        raise TypeError(f"tool {name} has a parameter that JSON cannot hold: {error}") from None
    schema: dict[str, Any] = _inlined(root, defined)
    return {
        "type": "object",
        "properties": schema["properties"],
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _inlined(schema: Any, defined: Mapping[str, Any]) -> Any:
    """Return `schema` with every reference replaced by what it refers to, and no titles."""
    if isinstance(schema, list):
        return [_inlined(item, defined) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        extra = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined({**defined[schema["$ref"]], **extra}, defined)
    return {
        key: _inlined(value, defined)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _type_name(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(repr(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_name(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
