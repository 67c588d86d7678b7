"""The linter's own rules over the syntax tree: imports, names, attributes, randomness, sharing."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from spade_envs.sandbox import names

Rule = Callable[[ast.AST, "Facts"], Iterator[tuple[str, str]]]


@dataclass(slots=True)
class Facts:
    """What a first pass over the tree finds out."""

    modules: dict[str, str] = field(default_factory=dict)
    """Local name -> module that it stands for."""
    imported: set[str] = field(default_factory=set)
    """All names that an import binds."""
    bound: set[str] = field(default_factory=set)
    """All names that the source assigns, defines or takes as parameters."""
    functions: set[str] = field(default_factory=set)
    called_with_arguments: set[ast.AST] = field(default_factory=set)
    """Function expressions of calls that pass something."""
    bases: set[ast.AST] = field(default_factory=set)
    trusted: set[str] = field(default_factory=set)
    """Modules that this source may import besides `names.ALLOWED_MODULES`."""


_TELLING = frozenset(
    {ast.Import, ast.ImportFrom, ast.Name, ast.arg, ast.FunctionDef, ast.ClassDef, ast.Call}
)


def every_node(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree in the order of `ast.walk`, which takes twice as long."""
    nodes = [tree]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [item for item in value if isinstance(item, ast.AST)]
    return nodes


def collect(nodes: Iterable[ast.AST]) -> Facts:
    """Return the facts that the rules need, from all nodes of a tree."""
    facts = Facts()
    for node in nodes:
        if type(node) not in _TELLING:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.split(".")[0]
                facts.imported.add(local)
                facts.modules[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                local, full = alias.asname or alias.name, f"{node.module}.{alias.name}"
                facts.imported.add(local)
                if full in names.ALLOWED_MODULES:
                    facts.modules[local] = full
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            facts.bound.add(node.id)
        elif isinstance(node, ast.arg):
            facts.bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            facts.bound.add(node.name)
            facts.functions.add(node.name)
            facts.bases.update(node.bases if isinstance(node, ast.ClassDef) else ())
        elif isinstance(node, ast.Call) and (node.args or node.keywords):
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Constant) and first.value is None):
                facts.called_with_arguments.add(node.func)
    return facts


def imports(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """Only modules that compute."""
    wanted: list[str] = []
    if isinstance(node, ast.Import):
        wanted = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            yield "import", "a relative import; an environment is one file"
            return
        wanted = [node.module or ""]
    for module in wanted:
        if module in names.CLOCK_MODULES:
            yield "global-rng", f"import of {module}: its answers differ from run to run"
        elif module not in names.ALLOWED_MODULES and module not in facts.trusted:
            yield "import", f"import of {module} is not allowed; use only modules that compute"
    if isinstance(node, ast.ImportFrom) and node.module in names.ALLOWED_MODULES:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full not in names.ALLOWED_MODULES:
                yield from _member(node.module or "", alias.name)
                yield from _random_member(node.module or "", alias.name)


def plain_names(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """No names that reach around the rules, none whose value varies."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    name = node.id
    if name in names.BANNED_NAMES or (
        name in names.BANNED_UNLESS_BOUND and name not in facts.bound
    ):
        yield "name", f"{name} is not allowed"
    elif name in names.VARYING_UNLESS_BOUND and name not in facts.bound:
        yield "global-rng", f"{name}() differs from process to process"


def attributes(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """No attributes that lead out of the environment."""
    if not isinstance(node, ast.Attribute):
        return
    name = node.attr
    if name in names.UNLESS_DEFINED and name not in facts.functions:
        yield "attribute", f"attribute {name} is not allowed"
    module = facts.modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if module is None:
        if name in names.BANNED_ATTRIBUTES:
            yield "attribute", f"attribute {name} is not allowed"
        return
    yield from _member(module, name)


def _member(module: str, name: str) -> Iterator[tuple[str, str]]:
    """Judge `module.name`."""
    full = f"{module}.{name}"
    if name.startswith("_"):
        yield "attribute", f"{full} is private to its module"
    elif name in names.BANNED_ATTRIBUTES or (
        module.split(".")[0] == "numpy" and name in names.BANNED_NUMPY
    ):
        yield "attribute", f"{full} is not allowed"
    elif (
        name in sys.stdlib_module_names
        and name != module.split(".")[-1]
        and full not in names.ALLOWED_MODULES
        and module.split(".")[0] in sys.stdlib_module_names
        and not module.startswith("collections")
    ):
        yield "attribute", f"{full} is another module; import what you need by name"


def randomness(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """No process-wide generator and no clock."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return
    owner = _dotted(node.value, facts)
    if owner in ("random", "numpy.random"):
        yield from _random_member(owner, node.attr)
        unseeded = node.attr in names.OWN_GENERATORS - {"Generator", "BitGenerator"}
        called = node in facts.called_with_arguments or node in facts.bases
        if unseeded and not called and node.attr != "SeedSequence":
            yield "global-rng", f"{owner}.{node.attr} without a seed differs from run to run"
    elif owner in names.CLOCK_MODULES:
        yield "global-rng", f"{owner}.{node.attr} differs from run to run"
    elif node.attr in names.NOW and _reads_clock(node.value, facts):
        yield "global-rng", f"{node.attr}() reads the clock"


def _random_member(module: str, name: str) -> Iterator[tuple[str, str]]:
    if module in ("random", "numpy.random") and name not in names.OWN_GENERATORS:
        yield (
            "global-rng",
            f"{module}.{name} draws from the whole process; draw from self.np_random, or from a "
            "random.Random(seed) made in reset()",
        )


def _reads_clock(value: ast.expr, facts: Facts) -> bool:
    dotted = _dotted(value, facts) or ""
    inner = value.id if isinstance(value, ast.Name) else ""
    return dotted.startswith("datetime") or (
        inner in ("datetime", "date") and inner in facts.imported
    )


def _dotted(node: ast.expr, facts: Facts) -> str | None:
    """Return the dotted module path that an expression stands for, as far as imports tell."""
    if isinstance(node, ast.Name):
        return facts.modules.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, facts)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def shared_state(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """Nothing outside the environment object is changed."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        if isinstance(node.value, ast.Name) and node.value.id in facts.imported:
            yield "shared-state", f"{node.value.id}.{node.attr} belongs to the whole process"
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        if _is_metadata(node.value):
            yield "shared-state", "metadata is shared by all environments; do not change it"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changes = node.func.attr in ("update", "setdefault", "pop", "clear", "popitem")
        if changes and _is_metadata(node.func.value):
            yield "shared-state", "metadata is shared by all environments; do not change it"


def _is_metadata(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "metadata"


def dynamic_access(node: ast.AST, facts: Facts) -> Iterator[tuple[str, str]]:
    """`getattr` and its like only with a plain name; no text that reaches around the rules."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for text in names.TELLTALE_TEXT:
            if text in node.value:
                yield "attribute", f"the text {text} has no place in an environment"
                return
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return
    name = node.func.id
    if name in ("getattr", "setattr", "delattr", "hasattr") and len(node.args) >= 2:
        wanted = node.args[1]
        if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
            module = _dotted(node.args[0], facts)
            if module is not None:
                yield from _member(module, wanted.value)
                yield from _random_member(module, wanted.value)
            elif wanted.value.startswith("__") or wanted.value in names.BANNED_ATTRIBUTES:
                yield "attribute", f"attribute {wanted.value} is not allowed"
        elif _dotted(node.args[0], facts) is not None:
            yield "attribute", f"{name} with a computed name is not allowed on a module"
        elif name in ("setattr", "delattr") and not _on_self(node.args[0]):
            yield "attribute", f"{name} with a computed name is allowed on self only"
    elif name == "type" and len(node.args) > 1:
        yield "name", "type() with three arguments is not allowed; write a class statement"


def _on_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


RULES: Mapping[type[ast.AST], tuple[Rule, ...]] = {
    ast.Import: (imports,),
    ast.ImportFrom: (imports,),
    ast.Name: (plain_names,),
    ast.Attribute: (attributes, randomness, shared_state),
    ast.Subscript: (shared_state,),
    ast.Call: (shared_state, dynamic_access),
    ast.Constant: (dynamic_access,),
}
"""The rules that have something to say about a kind of node."""
