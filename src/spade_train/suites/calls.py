"""Function calls that a model wrote as text, read without running anything.

    "[cd(folder='a'), ls(a=True)]" -> (Call("cd", {"folder": "a"}), Call("ls", {"a": True}))

Benchmarks of tool use ship executors that hand such text to `eval`. What reaches them here has
been read with `ast` and is written anew (`rendered`) from a plain name and literals alone.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spade_envs.types import Json

MAX_CHARACTERS = 200_000
MAX_CALLS = 200
_MAX_DEPTH = 40
_MAX_BITS = 1024
_MAX_BASE, _MAX_POWER = 1e6, 50


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it was written."""

    name: str
    """Dots included where they were written; not yet held against what there is to call."""
    keywords: Mapping[str, Json] = field(default_factory=dict)
    """Plain values; tuples stay tuples."""
    positional: tuple[Json, ...] = ()
    refused: str | None = None
    """Why its arguments are not taken: they would have to be evaluated."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Text that is no list of calls, and why; a model that talks is this too."""

    reason: str


class _NotLiteral(ValueError):
    """An argument that would have to be evaluated."""


def parse_calls(text: str, *, quote: bool = False) -> tuple[Call, ...] | Unreadable:
    """Return the calls of a reply, or why it is none; blank text is no calls.

    Brackets around the list may be missing, and code fences may stand around it. A bare name as
    an argument is taken as text, as the executors of BFCL and ACEBench do. Arguments that would
    have to be evaluated (calls, lambdas, formatted strings) refuse the call they stand in.

    Args:
        text: the reply.
        quote: take a call or subscript within an argument as the text that it is, and small
            powers as numbers, where calls are compared only and never made.
    """
    bare = text.strip("`\n ")
    if len(bare) > MAX_CHARACTERS:
        return Unreadable(f"longer than {MAX_CHARACTERS} characters")
    bare = bare if bare.startswith("[") else "[" + bare
    bare = bare if bare.endswith("]") else bare + "]"
    try:
        body = ast.parse(bare.strip().strip("'"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Unreadable(f"not a list of calls: {type(error).__name__}")
    nodes = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
    if nodes is None or not all(isinstance(node, ast.Call) for node in nodes):
        return Unreadable("not a list of calls")
    if len(nodes) > MAX_CALLS:
        return Unreadable(f"more than {MAX_CALLS} calls")
    return tuple(_call(node, quote) for node in nodes)


def rendered(call: Call) -> str:
    """Return the call as text that evaluates to nothing but itself: a name and literals.

    Raises:
        ValueError: its name is no plain name, or its arguments were refused.
    """
    if call.refused is not None or not call.name.isidentifier():
        raise ValueError(f"{call.name!r} cannot be written as a call")
    written = [repr(value) for value in call.positional]
    written += [f"{key}={value!r}" for key, value in call.keywords.items()]
    return f"{call.name}({', '.join(written)})"


def told(call: Call) -> str:
    """Return a call as text that is read and never evaluated: its name may have dots."""
    return f"{call.name}({', '.join(f'{key}={each!r}' for key, each in call.keywords.items())})"


def as_reply(calls: Iterable[Call]) -> str:
    """Return the calls as a model is asked to write them: `[a(x=1), b()]`."""
    return f"[{', '.join(rendered(call) for call in calls)}]"


def _call(node: ast.expr, quote: bool) -> Call:
    assert isinstance(node, ast.Call)
    name = _name(node.func)
    try:
        keywords = _keywords(node, 0, quote)
        return Call(name, keywords, tuple(_literal(each, 0, quote) for each in node.args))
    except _NotLiteral as error:
        return Call(name, refused=str(error))


def _keywords(node: ast.Call, depth: int, quote: bool) -> dict[str, Json]:
    if any(keyword.arg is None for keyword in node.keywords):
        raise _NotLiteral("`**` before an argument")
    return {str(each.arg): _literal(each.value, depth, quote) for each in node.keywords}


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _literal(node: ast.expr, depth: int, quote: bool = False) -> Json:
    if depth > _MAX_DEPTH:
        raise _NotLiteral("too deep")
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return name
        case ast.List(elts=elements):
            return [_literal(each, depth + 1, quote) for each in elements]
        case ast.Tuple(elts=elements):
            return tuple(_literal(each, depth + 1, quote) for each in elements)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_key(key): _literal(value, depth + 1, quote) for key, value in pairs}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number = _number(_literal(operand, depth + 1, quote))
            return -number if isinstance(sign, ast.USub) else number
        case ast.BinOp():
            return _arithmetic(node, depth, quote)
        case ast.Call() if quote and node.keywords:
            return {_name(node.func): _keywords(node, depth + 1, quote)}
        case ast.Call() | ast.Subscript() if quote:
            return _text(node)
    raise _NotLiteral(f"an argument that is no plain value ({type(node).__name__})")


def _constant(value: object) -> Json:
    if value is Ellipsis:
        return "..."
    if isinstance(value, int | float):
        return _bounded(value)
    if value is None or isinstance(value, str):
        return value
    raise _NotLiteral(f"an argument of type {type(value).__name__}")


def _key(node: ast.expr | None) -> str | int | float | bool | None:
    key = _literal(node, _MAX_DEPTH) if isinstance(node, ast.Constant | ast.Name) else node
    if isinstance(key, ast.expr) or (key is None and node is None):
        raise _NotLiteral("a key that is no plain value")
    plain: str | int | float | bool | None = key
    return plain


def _number(value: Json) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _NotLiteral("arithmetic on what is no number")
    return value


def _text(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError as error:
        raise _NotLiteral("too deep") from error


def _arithmetic(node: ast.BinOp, depth: int, powers: bool) -> int | float:
    """Sums, differences, products and quotients of numbers; a power could take for ever."""
    left = _number(_literal(node.left, depth + 1, powers))
    right = _number(_literal(node.right, depth + 1, powers))
    try:
        match node.op:
            case ast.Add():
                value: int | float = left + right
            case ast.Sub():
                value = left - right
            case ast.Mult():
                value = left * right
            case ast.Div():
                value = left / right
            case ast.Pow() if powers and abs(left) <= _MAX_BASE and abs(right) <= _MAX_POWER:
                value = _number(left**right)
            case _:
                raise _NotLiteral("arithmetic other than + - * /")
    except (ZeroDivisionError, OverflowError) as error:
        raise _NotLiteral(str(error)) from error
    return _bounded(value)


def _bounded(value: int | float) -> int | float:
    finite = math.isfinite(value) if isinstance(value, float) else value.bit_length() < _MAX_BITS
    if not finite:
        raise _NotLiteral("a number that is out of bounds")
    return value


_WORDS = ("report", "alpha", "notes.txt", "2024-05-01", "admin", "New York", "42")


def random_call(functions: Sequence[Mapping[str, Json]], rng: random.Random) -> Call:
    """Return a well-formed call with random arguments of the documented types.

    Args:
        functions: descriptions with `name` and `parameters.properties`, at least one.
        rng: where chance comes from.
    """
    chosen = rng.choice(list(functions))
    parameters = chosen.get("parameters") or {}
    required = set(parameters.get("required") or ())
    properties = parameters.get("properties") or {}
    taken = {
        name: _random_value(schema, rng)
        for name, schema in properties.items()
        if name in required or rng.random() < 0.3
    }
    return Call(str(chosen["name"]), taken)


def _random_value(schema: Mapping[str, Json], rng: random.Random) -> Json:
    if schema.get("enum"):
        return rng.choice(list(schema["enum"]))
    match str(schema.get("type", "string")).lower():
        case "integer" | "int":
            return rng.randrange(100)
        case "float" | "number":
            return round(rng.uniform(0, 1000), 2)
        case "boolean" | "bool":
            return rng.random() < 0.5
        case "array" | "list" | "tuple":
            item = schema.get("items") or {}
            return [_random_value(item, rng) for _ in range(rng.randrange(1, 3))]
        case "dict" | "object":
            inside = schema.get("properties") or {}
            return {name: _random_value(each, rng) for name, each in inside.items()}
    return rng.choice(_WORDS)
