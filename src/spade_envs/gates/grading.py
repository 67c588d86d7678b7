"""Reads a source for careless grading: patterns with their line, and the texts worth sending.

Nothing is executed. What a pattern means is for a probe to say; here it is only named.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MAX_LITERAL_CHARS = 200
MAX_REPEAT = 1000
_NOT_GRADING = frozenset({"reset", "__init__", "hint", "solution", "render", "close"})
_STRING_TESTS = frozenset({"startswith", "endswith", "count", "find", "index"})
_PATTERN_TESTS = frozenset({"search", "match", "fullmatch", "findall", "compile", "sub", "split"})
_HASHES = frozenset({"hash", "md5", "sha1", "sha256", "sha512", "crc32", "adler32", "blake2b"})
_FOLDABLE = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript)
_META = re.compile(r"\\[a-zA-Z]|[\\\[\](){}^$?*+.]")


@dataclass(frozen=True, slots=True)
class Smell:
    """One careless pattern."""

    kind: str
    line: int


@dataclass
class Grading:
    """What a source's grading looks like."""

    smells: list[Smell] = field(default_factory=list)
    compared: dict[str, int] = field(default_factory=dict)
    """Literals that an action or argument is compared with, and their lines."""
    inside: dict[str, set[str]] = field(default_factory=dict)
    """Functions in which each of them is compared."""
    counted: set[str] = field(default_factory=set)
    """Those whose occurrences are counted."""
    lengths: dict[int, int] = field(default_factory=dict)
    """Lengths that an action's length is compared with, and their lines."""
    others: dict[str, int] = field(default_factory=dict)
    """Further short literals of the source, and their lines."""


def read_grading(code: str) -> Grading:
    """Return the grading patterns of a source; none if it does not parse."""
    found = Grading()
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return found
    nodes = list(ast.walk(tree))
    constants = _constants(nodes)
    for function in nodes:
        if isinstance(function, ast.FunctionDef) and function.name not in _NOT_GRADING:
            _Reader(found, constants, function).visit(function)
    skipped = _prose(nodes)
    for node in nodes:
        if not isinstance(node, _FOLDABLE):
            continue
        if id(node) in skipped:
            continue
        for text in _texts(node, constants):
            if text not in found.compared:
                found.others.setdefault(text, getattr(node, "lineno", 0))
    return found


def _constants(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """Return the expressions that names and attributes are set to once."""
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            if name:
                found.setdefault(name, node.value)
    return found


def _prose(nodes: Sequence[ast.AST]) -> set[int]:
    """Return the ids of docstrings and pieces of f-strings, which no action is meant to equal."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            found.update(id(part) for part in ast.walk(node))
    return found


def _said(function: ast.FunctionDef) -> set[str]:
    """Return the names in a function that hold what was said, or something made of it."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {argument.arg for argument in arguments} - {"self", "cls"}
    settings = [n for n in ast.walk(function) if isinstance(n, ast.Assign | ast.NamedExpr)]
    for _ in range(2):
        for node in settings:
            if _holds(node.value, names):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names - {"self"}


def _holds(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _texts(node: ast.AST, constants: Mapping[str, ast.expr], depth: int = 0) -> Iterator[str]:
    """Yield the texts that an expression can be seen to hold."""
    value = _folded(node)
    if isinstance(value, str) and 0 < len(value) <= MAX_LITERAL_CHARS:
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        for item in node.elts:
            yield from _texts(item, constants, depth)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            if key is not None:
                yield from _texts(key, constants, depth)
    elif isinstance(node, ast.Name | ast.Attribute) and depth < 2:
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in constants:
            yield from _texts(constants[name], constants, depth + 1)


def _folded(node: ast.AST) -> object:
    """Return the constant that an expression stands for, or None: literals, sums, joins."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _folded(node.operand)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        return _combined(_folded(node.left), node.op, _folded(node.right))
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "::-1":
        value = _folded(node.value)
        return value[::-1] if isinstance(value, str) else None
    if isinstance(node, ast.Call) and len(node.args) <= 1 and not node.keywords:
        return _called(node)
    return None


def _combined(left: object, operator: ast.operator, right: object) -> object:
    if isinstance(operator, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(operator, ast.Mult) and isinstance(left, str) and isinstance(right, int):
        return left * min(max(right, 0), MAX_REPEAT)
    return None


def _called(node: ast.Call) -> object:
    argument = node.args[0] if node.args else None
    if isinstance(node.func, ast.Name) and node.func.id == "chr" and argument is not None:
        value = _folded(argument)
        return chr(value) if isinstance(value, int) and 0 < value < 0x110000 else None
    if isinstance(node.func, ast.Name) and node.func.id == "str" and argument is not None:
        value = _folded(argument)
        return None if value is None else str(value)
    if not isinstance(node.func, ast.Attribute):
        return None
    base = _folded(node.func.value)
    if not isinstance(base, str):
        return None
    if node.func.attr in ("lower", "upper", "strip", "casefold", "title") and argument is None:
        return getattr(base, node.func.attr)()
    if node.func.attr == "join" and isinstance(argument, ast.List | ast.Tuple):
        parts = [_folded(item) for item in argument.elts]
        return base.join(map(str, parts)) if all(isinstance(p, str) for p in parts) else None
    return None


class _Reader(ast.NodeVisitor):
    """Notes the patterns of one function."""

    def __init__(
        self, found: Grading, constants: Mapping[str, ast.expr], function: ast.FunctionDef
    ) -> None:
        self.found, self.constants = found, constants
        self.name, self.said = function.name, _said(function)

    def _note(self, kind: str, node: ast.AST) -> None:
        smell = Smell(kind, getattr(node, "lineno", 0))
        if smell not in self.found.smells:
            self.found.smells.append(smell)

    def _compared(self, node: ast.AST) -> None:
        for text in _texts(node, self.constants):
            self._literal(text, getattr(node, "lineno", 0))

    def _literal(self, text: str, line: int) -> None:
        self.found.compared.setdefault(text, line)
        self.found.inside.setdefault(text, set()).add(self.name)

    def _is_said(self, node: ast.AST) -> bool:
        return _holds(node, self.said)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if self._is_said(left) or self._is_said(right):
                self._pair(node, operator, left, right)
        self.generic_visit(node)

    def _pair(
        self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr
    ) -> None:
        self._compared(left)
        self._compared(right)
        if isinstance(operator, ast.In) and self._is_said(right) and not self._is_said(left):
            self._note("looks for the answer anywhere in what was said", node)
        for side, other in ((left, right), (right, left)):
            shape = ast.unparse(side)
            if not self._is_said(side):
                continue
            if shape.startswith("len(") and isinstance(_folded(other), int):
                self.found.lengths.setdefault(int(str(_folded(other))), node.lineno)
                self._note("judges by length", node)
            elif shape.startswith("abs(") and isinstance(operator, ast.Lt | ast.LtE):
                self._note("accepts a near number", node)
            elif shape.startswith(("set(", "sorted(", "Counter(", "frozenset(")):
                self._note("ignores the order", node)
            elif shape.startswith("bool("):
                self._note("compares truth values", node)
            elif isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Slice):
                self._note("compares a part", node)
            elif isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                self._note("compares one-sidedly", node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = name or (node.func.id if isinstance(node.func, ast.Name) else "")
        said = any(map(self._is_said, node.args)) or self._is_said(node.func)
        if said and name in _STRING_TESTS:
            for argument in node.args:
                self._compared(argument)
                if name == "count":
                    self.found.counted.update(_texts(argument, self.constants))
            if name in ("startswith", "endswith"):
                self._note("compares the start or the end only", node)
        if said and name in _PATTERN_TESTS and node.args:
            self._pattern(name, node)
        if said and name in _HASHES:
            self._note("compares a hash of what was said", node)
        if said and name in ("min", "max") and any(_folded(a) in (0, 1) for a in node.args):
            self._note("clamps a number that may be infinite or no number", node)
        self.generic_visit(node)

    def _pattern(self, name: str, node: ast.Call) -> None:
        for text in _texts(node.args[0], self.constants):
            for branch in text.split("|"):
                plain = " ".join(_META.sub(" ", branch).split())
                if plain:
                    self._literal(plain, node.lineno)
            if "boxed" in text and name in ("search", "match"):
                self._note("reads the first box", node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Return) and part.value is not None:
                shape = ast.unparse(part.value)
                if "self.win(" in shape or re.search(r"(?<![\w.])(True|1\.0|1)(?![\w.])", shape):
                    self._note("pays after an exception", node)
        self.generic_visit(node)
