"""Fixed actions that every environment must survive, and short scripts to compare replies on."""

from __future__ import annotations

from spade_envs.api.calls import call
from spade_envs.gates.policies import boxed
from spade_envs.types import Interface, Json

PLAIN = ("hello", "look", "0", boxed("0"), "yes")
"""Harmless words, for gates that must not stumble over an exotic string."""

DIGITS = tuple(boxed(str(digit)) for digit in range(10))

HOSTILE: tuple[str, ...] = (
    "",
    " ",
    "\n\n\t \r\n",
    "x" * 100_000,
    "\x00",
    "a\x00b",
    "\U0001f600\U0001f9d1\u200d\U0001f680",
    "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\ud800",
    "e\u0301\u00df\u4f60\u597d \u00b2\u2460\u0663",
    "nan",
    "-inf",
    "1e999",
    "9" * 5000,
    boxed("9" * 5000),
    boxed("nan"),
    boxed("1e999"),
    boxed(""),
    boxed("\u00b2"),
    "-0",
    "0.1.2",
    "1/0",
    "{" * 500,
    "[" * 2000,
    "\\boxed{" * 50,
    '{"name": "x"}',
    '{"a": {"b": [1, 2, {"c": null}]}}',
    "null",
    "[]",
    "<tool_call>{broken</tool_call>",
    call("no_such_tool", x=1),
    '<tool_call>{"name": "", "arguments": 3}</tool_call>',
    "<answer></answer>",
    "<think>never closed",
    "%s %d {0} {} ${x} \\1 (?P<",
    "'; drop table x; --",
    "__import__('os').system('true')",
    "1,2,3",
    "1 2",
    "a b c d e f g h",
    "(1, 2)",
    "go",
    "-1",
    "1000000",
    "3.5",
    *DIGITS,
    *(str(digit) for digit in range(10)),
)
"""Strings that break careless parsers."""


NONSENSE = (".*", "*", "0/0", "0, 0", "0 0 0", "()", "{}")
"""Degenerate answers: a pattern that fits all, and numbers or lists that solve any equation."""


def hostile(interface: Interface) -> tuple[str, ...]:
    """Return the hostile strings, and for a tool environment wrong calls of each of its tools."""
    return HOSTILE + tuple(text for schema in interface.tools for text in _bad_calls(schema))


def _bad_calls(schema: Json) -> list[str]:
    function = schema["function"]
    name, properties = function["name"], function["parameters"].get("properties", {})
    texts = [call(name), call(name, **{"no such": 1})]
    values: tuple[Json, ...] = ("", "x" * 10_000, "\u00b2", 10**30, -1, True, None, [], {}, 1e308)
    for value in values:
        texts.append(call(name, **dict.fromkeys(properties, value)))
    return texts


def scripts(interface: Interface) -> tuple[tuple[str, ...], ...]:
    """Return short fixed action sequences whose replies tell tasks and runs apart."""
    words: list[tuple[str, ...]] = [("hello", boxed("1"), "0", boxed("2"), "no")]
    if interface.kind == "tool":
        first = [call(tool["function"]["name"]) for tool in interface.tools[:4]]
        words.append((*first, call("no_such_tool"), "Done."))
    return tuple(words)
