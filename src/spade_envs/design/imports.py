"""Imports that a model forgot, where there is no doubt what it meant."""

from __future__ import annotations

import ast
import builtins

from spade_envs import api

_CONTRACT = frozenset(api.__all__)
_MODULES = frozenset(
    {"math", "re", "json", "string", "itertools", "functools", "collections", "heapq", "random"}
)


def add_imports(code: str, tree: ast.Module) -> tuple[str, tuple[str, ...]]:
    """Return code that imports the contract's names and the plain modules it uses unbound.

    Also returns one sentence per line that was added.
    """
    bound, used, modules = _names(tree)
    missing = used - bound - set(dir(builtins))
    lines = []
    if names := sorted(missing & _CONTRACT):
        lines.append(f"from spade_envs.api import {', '.join(names)}")
    lines += [f"import {name}" for name in sorted(missing & modules & _MODULES)]
    if "np" in missing & modules:
        lines.append("import numpy as np")
    place = _place(tree)
    if not lines or place is None:
        return code, ()
    old = code.split("\n")
    return "\n".join([*old[:place], *lines, *old[place:]]), tuple(
        f"added the missing line: {line}" for line in lines
    )


def _names(tree: ast.Module) -> tuple[set[str], set[str], set[str]]:
    """Return names bound anywhere, names read, and names read only to take an attribute."""
    bound: set[str] = set()
    used: set[str] = set()
    modules: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.split(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Attribute(value=ast.Name(id=name, ctx=ast.Load())):
                modules.add(name)
    if "*" in bound:
        used.clear()  # anything may have come with the star
    return bound, used, modules


def _place(tree: ast.Module) -> int | None:
    """Return after how many lines imports may stand; None if a statement shares that line."""
    place, rest = 0, tree.body
    while rest and (_is_docstring(rest[0], first=rest is tree.body) or _is_future(rest[0])):
        place, rest = rest[0].end_lineno or 0, rest[1:]
    return None if rest and rest[0].lineno <= place else place


def _is_docstring(node: ast.stmt, *, first: bool) -> bool:
    return (
        first
        and isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
