"""Names that files in the published shape may use without importing them.

The published loader put such names into every file. Only those that a file uses and never binds
are supplied here, and the gates say so in a warning.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

_MODULES = (
    "random", "math", "re", "json", "string", "itertools", "functools", "collections", "copy",
    "heapq", "bisect", "statistics", "fractions", "decimal", "datetime", "textwrap", "operator",
    "enum", "dataclasses", "typing", "abc", "hashlib", "time",
)  # fmt: skip
_MEMBERS = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "typing": (
        "Any", "Callable", "Dict", "Iterable", "Iterator", "List", "Optional", "Sequence", "Set",
        "Tuple", "Union",
    ),
    "dataclasses": ("dataclass", "field"),
    "enum": ("Enum",),
    "fractions": ("Fraction",),
    "decimal": ("Decimal",),
    "abc": ("ABC", "abstractmethod"),
    "copy": ("deepcopy",),
    "spade_envs.api.published_tools": ("ToolUseBaseEnv",),
}  # fmt: skip

SUPPLIED: Mapping[str, tuple[str, str]] = {
    **{name: (name, "") for name in _MODULES},
    "np": ("numpy", ""),
    "numpy": ("numpy", ""),
    **{name: (module, name) for module, names in _MEMBERS.items() for name in names},
}
"""Name -> module and attribute (empty for the module itself)."""


_NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)


def forgotten(tree: ast.AST) -> tuple[str, ...]:
    """Return the supplied names that a source in the published shape uses and never binds."""
    bound, used = set(dir(builtins)), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if _is_ours(node):
                return ()
            bound.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used[node.id] = node.lineno
            else:
                bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, _NAMING):
            bound.add(node.name or "")
    return tuple(sorted(name for name in used if name in SUPPLIED and name not in bound))


def supply(names: Iterable[str]) -> dict[str, Any]:
    """Return what the names stand for."""
    found = {}
    for name in names:
        module, attribute = SUPPLIED[name]
        value = importlib.import_module(module)
        found[name] = getattr(value, attribute) if attribute else value
    return found


def _is_ours(node: ast.Import | ast.ImportFrom) -> bool:
    modules = (
        [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
    )
    return any(str(module).split(".")[0] == "spade_envs" for module in modules)
