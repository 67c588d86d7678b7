"""Execute a source in this process and find its environment class. Only workers call this."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from spade_envs.api.loading import find_entry, interface_of
from spade_envs.api.published_names import forgotten, supply
from spade_envs.sandbox.protocol import Mode
from spade_envs.types import Interface

FILENAME = "<environment>"
MODULE_NAME = "environment"

source_lines: list[str] = []


def load(code: str, mode: Mode) -> tuple[Callable[..., Any], Interface, bool]:
    """Return the environment class, its interface, and whether it uses global generators.

    Whatever the source raises passes through.
    """
    source_lines[:] = code.splitlines()
    module = ModuleType(MODULE_NAME)
    module.__dict__["__file__"] = FILENAME
    compiled: CodeType
    if mode == "restricted":
        from spade_envs.sandbox import restricted

        compiled = restricted.compile_restricted(code, FILENAME)
        module.__dict__.update(restricted.guards())
    else:
        compiled = compile(code, FILENAME, "exec", dont_inherit=True)
    drawn = not _no_random(code)
    # A tree takes as long as all the rest; only an import leaves a name with a dot.
    ours = any(name.startswith("spade_envs.") for name in compiled.co_names)
    tree = ast.parse(code, FILENAME) if drawn or not ours else ast.Module([], [])
    module.__dict__.update(supply(() if ours else forgotten(tree)))
    sys.modules[MODULE_NAME] = module  # dataclasses and pickle look their module up
    exec(compiled, module.__dict__)  # noqa: S102  what a worker is for
    entry = find_entry(module.__dict__)
    return entry, interface_of(entry), drawn and uses_global_rng(tree)


_OWN_GENERATORS = frozenset(
    {
        "Random", "SystemRandom", "Generator", "default_rng", "RandomState", "SeedSequence",
        "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "BitGenerator",
    }
)  # fmt: skip


def _no_random(code: str) -> bool:
    """Whether the word is not in the source at all; letters of other alphabets may spell it."""
    return code.isascii() and re.search(r"\brandom\b", code) is None


def uses_global_rng(tree: ast.AST) -> bool:
    """Whether the source may use functions of `random` or `numpy.random` that share one state."""
    own: set[ast.AST] = set()
    numpy_names = {"np", "numpy"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            if any(alias.asname and "random" in alias.name for alias in node.names):
                return True
            numpy_names.update(a.asname for a in node.names if a.name == "numpy" and a.asname)
        elif isinstance(node, ast.ImportFrom):
            inside = node.module in ("random", "numpy.random")
            if any(
                (inside and alias.name not in _OWN_GENERATORS) or alias.name == "random"
                for alias in node.names
            ):
                return True
        elif isinstance(node, ast.Attribute) and node.attr in _OWN_GENERATORS:
            own.add(node.value)
        if node not in own and _names_random(node, numpy_names):
            return True
    return False


def _names_random(node: ast.AST, numpy_names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "random"
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "random"
        and isinstance(node.value, ast.Name)
        and node.value.id in numpy_names
    )
