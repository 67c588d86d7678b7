"""An environment as a text: what it is about, for an embedder. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from spade_envs.design.syntax import Problem, parse_python
from spade_envs.types import EnvSource

TEXT_VERSION = 1
"""Changes with the rule below: vectors of another rule are not compared with ours."""

MAX_CHARS = 4000
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_BASES = frozenset({"TextEnv", "ToolEnv"})


def text_of(source: EnvSource) -> str:
    """Return names of classes and tools, docstrings, and then what the environment says.

    It depends on the source alone, so that equal digests have equal texts. At most 4000 characters.
    Code that does not parse is taken as it stands.
    """
    tree = parse_python(source.code)
    if isinstance(tree, Problem):
        return source.code[:MAX_CHARS]
    found: list[str] = []
    length = 0
    for piece in _pieces(tree):
        line = " ".join(piece.split())
        if line and line not in found:
            found.append(line)
            length += len(line) + 1
            if length > MAX_CHARS:
                break
    return "\n".join(found)[:MAX_CHARS]


def _pieces(tree: ast.Module) -> Iterator[str]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for node in classes:
        if node.name not in _BASES:
            yield _HUMP.sub(" ", node.name)
        yield ast.get_docstring(node) or ""
    for inner in ast.walk(tree):
        if isinstance(inner, ast.FunctionDef) and inner.decorator_list:
            yield _HUMP.sub(" ", inner.name)
            yield ast.get_docstring(inner) or ""
    yield ast.get_docstring(tree) or ""
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            text = inner.value
            if " " in text.strip():  # sentences, not keys
                yield text
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value.replace("_", " ") if inner.value.isidentifier() else ""
