"""L1.9: what a tool promises in its schema, its signature and its docstring is the same."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import docstring_parser

from spade_envs.gates.finding import MAX_EXAMPLES, Finding, failed, passed
from spade_envs.gates.subject import Subject
from spade_envs.types import Json

_KINDS = {
    "int": "number", "integer": "number", "float": "number", "number": "number",
    "str": "string", "string": "string", "text": "string", "bool": "boolean",
    "boolean": "boolean", "list": "array", "array": "array", "tuple": "array", "set": "array",
    "sequence": "array", "dict": "object", "object": "object", "mapping": "object",
}  # fmt: skip
_MISSING = object()
_ONE_OF = re.compile(r"\bone of\b(.*)", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r"[\"'`]([\w -]+)[\"'`]")


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    kind: str
    """JSON type, with integers counted as numbers; empty if it cannot be told."""
    choices: tuple[str, ...]
    default: object


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    line: int
    docstring: str
    parameters: Mapping[str, _Parameter]
    takes_any: bool
    """Whether it takes `**kwargs`."""


def tools_described(subject: Subject) -> Finding:
    """L1.9: schema, signature and docstring of every tool agree."""
    schemas = {tool["function"]["name"]: tool["function"] for tool in subject.interface.tools}
    if not schemas:
        return passed("it has no tools")
    foreign = subject.interface.api == "published-1"
    methods = _methods(subject.source.code, "tool_" if foreign else "")
    problems: list[str] = []
    for name, schema in schemas.items():
        if name in methods:
            problems += _by_docstring(methods[name])
            problems += _by_schema(methods[name], schema)
    if foreign:
        problems += _unknown(subject.source.code, schemas, methods)
    if problems:
        found: list[Json] = list(problems[:MAX_EXAMPLES])
        return failed(
            f"{problems[0]}; let schema, signature and docstring of a tool agree", problems=found
        )
    return passed(f"{len(schemas)} tools are described as they are")


def _methods(code: str, prefix: str) -> dict[str, _Tool]:
    """Return the tools' methods by the tool's name; where a class overrides one, the last."""
    found = {}
    for node in ast.walk(ast.parse(code)):
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(item, ast.FunctionDef) or not item.name.startswith(prefix):
                continue
            if not prefix and not any(_says_tool(d) for d in item.decorator_list):
                continue
            found[item.name.removeprefix(prefix)] = _tool(item, prefix)
    return found


def _says_tool(decorator: ast.expr) -> bool:
    return getattr(decorator, "id", getattr(decorator, "attr", "")) == "tool"


def _tool(node: ast.FunctionDef, prefix: str) -> _Tool:
    plain = [*node.args.posonlyargs, *node.args.args][1:]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(node.args.defaults))
    values = [*missing, *node.args.defaults]
    pairs = [*zip(plain, values, strict=False)]
    pairs += [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    found = {arg.arg: _parameter(arg, value) for arg, value in pairs}
    name = node.name.removeprefix(prefix)
    doc = ast.get_docstring(node) or ""
    return _Tool(name, node.lineno, doc, found, node.args.kwarg is not None)


def _parameter(arg: ast.arg, value: ast.expr | None) -> _Parameter:
    default: object = _MISSING
    if value is not None:
        try:
            default = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError):
            default = None
    kind, choices = _kind(arg.annotation)
    return _Parameter(arg.arg, kind, choices, default)


def _kind(node: ast.expr | None) -> tuple[str, tuple[str, ...]]:
    """Return the JSON type of an annotation and, of a `Literal` of texts, its values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _KINDS.get(node.value.partition("[")[0].strip().casefold(), ""), ()
    if isinstance(node, ast.Subscript):
        base = ast.unparse(node.value).rpartition(".")[2]
        if base == "Literal":
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            texts = tuple(
                item.value
                for item in items
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            )
            return ("string", texts) if texts else ("", ())
        if base == "Annotated" and isinstance(node.slice, ast.Tuple):
            return _kind(node.slice.elts[0])
        return _KINDS.get(base.casefold(), ""), ()
    return (_KINDS.get(ast.unparse(node).casefold(), "") if node is not None else ""), ()


def _by_docstring(tool: _Tool) -> Iterator[str]:
    doc = docstring_parser.parse(inspect.cleandoc(tool.docstring))
    at = f"line {tool.line}: the docstring of tool {tool.name}"
    described = {entry.arg_name.strip("*"): entry for entry in doc.params}
    if not tool.takes_any:
        for name in described:
            if name not in tool.parameters:
                yield f"{at} describes {name!r}, which it does not take"
    summary = f"{doc.short_description or ''} {doc.long_description or ''}"
    for name, parameter in tool.parameters.items():
        entry = described.get(name)
        if entry is None:
            if described and name not in re.findall(r"\w+", summary):
                yield f"{at} leaves out {name!r}"
            continue
        kind = _KINDS.get((entry.type_name or "").partition("[")[0].strip().casefold(), "")
        if kind and parameter.kind and kind != parameter.kind:
            yield f"{at} calls {name!r} a {kind}, but it is a {parameter.kind}"
        if parameter.default is _MISSING and (entry.is_optional or entry.default is not None):
            yield f"{at} calls {name!r} optional, but it is required"
        elif entry.default is not None and not _same_default(entry.default, parameter.default):
            yield f"{at} gives {name!r} the default {entry.default}, not {parameter.default!r}"
        listed = _ONE_OF.search(entry.description or "")
        names = set(_QUOTED.findall(listed[1])) if listed and parameter.choices else set()
        for value in sorted(names - set(parameter.choices)):
            yield f"{at} offers {value!r} for {name!r}, which it does not take"


def _same_default(text: str, value: object) -> bool:
    plain = text.strip("\"'`. ")
    if value is None or value is _MISSING or isinstance(value, list | dict | tuple):
        return True
    try:
        return float(plain) == float(str(value))
    except ValueError:
        return plain.casefold() == str(value).casefold()


def _by_schema(tool: _Tool, schema: Mapping[str, Json]) -> Iterator[str]:
    parameters = schema.get("parameters")
    if not isinstance(parameters, Mapping):
        return
    properties = parameters.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    at = f"line {tool.line}: the schema of tool {tool.name}"
    for name, entry in properties.items():
        parameter = tool.parameters.get(name)
        if parameter is None:
            if not tool.takes_any:
                yield f"{at} has {name!r}, which the method does not take"
            continue
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        kind = _KINDS.get(kind, "") if isinstance(kind, str) else ""
        if kind and parameter.kind and kind != parameter.kind:
            yield f"{at} calls {name!r} a {kind}, but the method a {parameter.kind}"
    stated = parameters.get("required")
    required = stated if isinstance(stated, list | tuple) else ()
    for name, parameter in tool.parameters.items():
        if parameter.default is not _MISSING:
            continue
        if name not in properties:
            yield f"{at} lacks {name!r}, which the method needs"
        elif stated is not None and name not in required:
            yield f"{at} leaves {name!r} open, but the method needs it"
    for name in required:
        if isinstance(name, str) and name not in properties:
            yield f"{at} requires {name!r}, which it does not describe"


def _unknown(code: str, schemas: Mapping[str, Json], methods: Mapping[str, _Tool]) -> Iterator[str]:
    """Yield the tools of the published shape that are listed and have no method."""
    dynamic = ("setattr", "execute_tool", "__getattr__", "tool_registry")
    if any(word in code for word in dynamic) or not methods:
        return
    for name in schemas:
        if name not in methods:
            yield f"tool {name} is listed, but there is no method tool_{name}"
