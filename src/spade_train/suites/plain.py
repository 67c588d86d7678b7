"""Plain Python values as JSON that keeps their types: what crosses a process as data.

The functions stand alone (no imports, no helpers but each other), because their source text is
carried into sandboxed workers (`judge`).
"""

from __future__ import annotations

from typing import Any


def packed(value: Any) -> Any:
    """Return a plain value as JSON: scalars as they are, all else as `[kind, ...]`.

    Raises:
        TypeError: it holds something that is not plain.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    for kind, form in (("list", list), ("tuple", tuple), ("set", set), ("frozenset", frozenset)):
        if type(value) is form:
            parts = [packed(each) for each in value]
            return [kind, sorted(parts, key=repr) if kind.endswith("set") else parts]
    if type(value) is dict:
        return ["dict", [[packed(key), packed(each)] for key, each in value.items()]]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if type(value) is complex:
        return ["complex", value.real, value.imag]
    raise TypeError(f"{type(value).__name__} is no plain value")


def unpacked(value: Any) -> Any:
    """Return what `packed` was given.

    Raises:
        ValueError: it never made this.
    """
    if not isinstance(value, list):
        return value
    if len(value) == 2 and isinstance(value[1], list):
        kind, parts = value
        if kind == "dict":
            return {unpacked(key): unpacked(each) for key, each in parts}
        for name, form in (
            ("list", list),
            ("tuple", tuple),
            ("set", set),
            ("frozenset", frozenset),
        ):
            if kind == name:
                return form([unpacked(each) for each in parts])
    if len(value) == 2 and value[0] == "bytes" and isinstance(value[1], str):
        return bytes.fromhex(value[1])
    if len(value) == 3 and value[0] == "complex":
        return complex(float(value[1]), float(value[2]))
    raise ValueError("not a packed value")
