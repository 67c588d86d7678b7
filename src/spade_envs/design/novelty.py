"""Tell whether two sources are the same program in other words.

`ast_hash` is equal for sources that differ only in

* comments, blank lines, layout, and the way a constant is written (`0x10`, `"a" 'b'`);
* docstrings, and other statements that are a bare constant; `pass` beside other statements;
* type annotations, except in decorated functions (a tool's schema is made from them);
* the names that the file itself binds: classes, functions, variables, parameters, attributes that
  some class of the file stores or defines, and aliases of imports. Local variables and parameters
  are numbered within their function in order of first occurrence, all others over the whole file.

It keeps constants, structure, the order of statements, the names of the contract (`reset`, `step`,
`state` and so on), names of decorated functions and their parameters, keyword names, names that
come from elsewhere, and docstrings of decorated functions.

`shape_hash` is coarser: equal, too, if statements stand in another order, and whatever is said.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any

from spade_envs import api
from spade_envs.design.syntax import Problem, parse_python
from spade_envs.types import EnvSource

_KEPT = frozenset(name for base in (api.TextEnv, api.ToolEnv) for name in dir(base))
_IGNORED_FIELDS = frozenset(
    {"ctx", "type_comment", "type_params", "kind", "type_ignores", "asname"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def ast_hash(source: EnvSource) -> str:
    """Return the hexadecimal sha256 of the program as described above.

    For code that does not parse, or is nested too deep, it is the hash of the text.
    """
    tree = parse_python(source.code)
    if isinstance(tree, Problem):
        return source.sha256
    try:
        form = repr(_Normal(tree).write(tree, ()))
    except RecursionError:
        return source.sha256
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def shape_hash(source: EnvSource) -> str:
    """Return the hexadecimal sha256 of the statements of a program, whatever their order.

    A statement keeps its kind, operators, numbers, and names of the contract, of builtins and of
    imports; names of the file's own, of keywords and parameters, and every text become one. It is
    weak evidence, since `a - b` is taken for `b - a`. For code that does not parse, or is nested
    too deep, it is the hash of the text.
    """
    tree = parse_python(source.code)
    if isinstance(tree, Problem):
        return source.sha256
    try:
        lines = sorted(line for _, line in statements(tree))
    except RecursionError:
        return source.sha256
    form = "\n".join(line for line in lines if line)
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def statements(tree: ast.Module) -> list[tuple[ast.stmt, str]]:
    """Return every statement with what it does, as `shape_hash` reads it; empty if that is nothing.

    Raises:
        RecursionError: the code is nested too deep.
    """
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    named = {node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    own = (_own_names(tree) | arguments | named) - _KEPT
    return [(node, _shape(node, own)) for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _shape(statement: ast.stmt, own: set[str]) -> str:
    """Return the head of a statement without what it holds as a body; empty if it does nothing."""
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom):
        return ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return ""
    return " ".join(_words(statement, own))


def _words(node: ast.AST, own: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        yield "text"
        return
    if isinstance(node, ast.JoinedStr):
        inner = [" ".join(_words(v, own)) for v in node.values if not isinstance(v, ast.Constant)]
        yield from ("text", *sorted(inner))
        return
    yield type(node).__name__
    if isinstance(node, ast.Constant):
        yield repr(node.value)
    for field, value in ast.iter_fields(node):
        if field in ("id", "attr") and isinstance(value, str):
            yield "own" if value in own else value
        if field in ("annotation", "returns") or (isinstance(node, ast.stmt) and field in BODIES):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST) and not isinstance(item, ast.expr_context):
                yield from _words(item, own)


class _Normal:
    """Writes a syntax tree as nested tuples with the file's own names replaced by numbers."""

    def __init__(self, tree: ast.Module) -> None:
        self._numbers: dict[str, str] = {}
        self._typed: set[ast.AST] = set()
        self._imported = _imports(tree)
        self._own = _own_names(tree) - _KEPT - self._imported.keys()

    def write(self, node: Any, scopes: tuple[dict[str, str], ...]) -> Any:
        if isinstance(node, list):
            return tuple(self.write(item, scopes) for item in node)
        if isinstance(node, ast.Constant):
            return (type(node.value).__name__, repr(node.value))
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.AnnAssign):
            return self._assignment(node, scopes)
        fixed = self._named(node, scopes)
        if isinstance(node, _SCOPES):
            scopes = (*scopes, self._scope(node))
        out: list[Any] = [type(node).__name__]
        for field, value in ast.iter_fields(node):
            if field in _IGNORED_FIELDS or value is None:
                continue
            if field in fixed:
                out.append((field, fixed[field]))
            elif field == "body" and isinstance(value, list):
                out.append(("body", self.write(_meat(node, value), scopes)))
            elif field in ("annotation", "returns"):
                if node in self._typed:
                    out.append((field, ast.unparse(value)))
            else:
                out.append((field, self.write(value, scopes)))
        return tuple(out)

    def _scope(self, node: ast.AST) -> dict[str, str]:
        """Return the names to number within a function; of a decorated one only the first."""
        if not (isinstance(node, _FUNCTIONS) and node.decorator_list):
            return dict.fromkeys(_locals(node), "")
        positional = [*node.args.posonlyargs, *node.args.args]
        self._typed.update([*positional, *node.args.kwonlyargs])
        return {positional[0].arg: ""} if positional else {}

    def _assignment(self, node: ast.AnnAssign, scopes: tuple[dict[str, str], ...]) -> Any:
        if node.value is None:
            return ("Pass",)
        plain = ast.Assign(targets=[node.target], value=node.value)
        return self.write(plain, scopes)

    def _named(self, node: ast.AST, scopes: tuple[dict[str, str], ...]) -> dict[str, Any]:
        """Return the fields of `node` that hold names, with the names to write."""
        match node:
            case ast.Name(id=name):
                return {"id": self._variable(name, scopes)}
            case ast.arg(arg=name):
                return {"arg": self._variable(name, scopes)}
            case ast.Attribute(attr=name):
                return {"attr": self._number(name)}
            case ast.ClassDef(name=name):
                return {"name": self._variable(name, scopes)}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                return {"name": name if _decorated(node) else self._variable(name, scopes)}
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                return {"name": self._variable(name, scopes)}
            case ast.MatchStar(name=str(name)):
                return {"name": self._variable(name, scopes)}
            case ast.MatchMapping(rest=str(name)):
                return {"rest": self._variable(name, scopes)}
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                return {"names": tuple(self._variable(name, scopes) for name in names)}
            case _:
                return {}

    def _variable(self, name: str, scopes: tuple[dict[str, str], ...]) -> str:
        for depth, scope in enumerate(reversed(scopes)):
            if name in scope:
                if not scope[name]:
                    scope[name] = f"%{sum(map(bool, scope.values()))}"
                return f"{scope[name]}^{depth}"
        return self._imported.get(name) or self._number(name)

    def _number(self, name: str) -> str:
        if name not in self._own:
            return name
        return self._numbers.setdefault(name, f"${len(self._numbers)}")


def _meat(node: ast.AST, body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a body that do something."""
    kept = [
        statement
        for index, statement in enumerate(body)
        if (
            not isinstance(statement, ast.Pass)
            and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        )
        or (index == 0 and _decorated(node) and not isinstance(statement, ast.Pass))
    ]
    return kept or [ast.Pass()]


def _decorated(node: ast.AST) -> bool:
    return isinstance(node, _FUNCTIONS) and bool(node.decorator_list)


def _locals(scope: ast.AST) -> set[str]:
    """Return parameters and variables that a function or comprehension binds for itself."""
    names: set[str] = set()
    outer: set[str] = set()
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    if isinstance(scope, _FUNCTIONS):
        waiting = [scope.args, *scope.body]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.Global(names=free) | ast.Nonlocal(names=free):
                outer.update(free)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
        if not isinstance(node, (*_SCOPES, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return names - outer


def _own_names(tree: ast.Module) -> set[str]:
    """Return every name that the file binds outside functions, and every attribute it stores."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
    decorated = {
        node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and node.decorator_list
    }
    return names - decorated


def _imports(tree: ast.Module) -> dict[str, str]:
    """Return what every imported name stands for, such as `np` for `numpy`."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found
