"""RestrictedPython, relaxed until ordinary environment code compiles.

Every attribute that is read goes through `_getattr_`; names, attributes and statements are checked
against `names`. Unlike the stock policy it admits `_private` names, `self.x += 1`, annotations,
`match` and `nonlocal`. It is a linter and one side of a comparison, not a boundary.
"""

# ruff: noqa: N802, N815  the names are those of ast.NodeVisitor

from __future__ import annotations

import ast
from typing import Any

from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from spade_envs.sandbox import names

GETATTR = "_getattr_"
_RESERVED = frozenset({GETATTR, "_write_", "_getitem_", "_getiter_", "_print_", "_apply_"})


class RelaxedTransformer(RestrictingNodeTransformer):  # type: ignore[misc]
    """Collects `(line, message)` in `found` and rewrites attribute reads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._classes: list[str] = []

    def error(self, node: ast.AST, info: str) -> None:
        """Record what the policy does not admit."""
        self.found.append((getattr(node, "lineno", 0), info))

    def warn(self, node: ast.AST, info: str) -> None:
        """Ignore warnings."""

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Admit all but reserved names and dunders outside the tables."""
        if name is None:
            return
        allowed = names.ALLOWED_DUNDER_NAMES
        if allow_magic_methods:
            allowed |= names.ALLOWED_DUNDER_METHODS
        if name in _RESERVED or name.endswith("__roles__"):
            self.error(node, f"the name {name} is reserved")
        elif name.startswith("__") and name.endswith("__") and name not in allowed:
            self.error(node, f"the name {name} is not allowed")

    # -- nodes that pass, their parts checked ---------------------------------------------------

    def _pass(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    visit_Assign = visit_AugAssign = visit_For = visit_comprehension = visit_With = _pass
    visit_Subscript = visit_Nonlocal = visit_Module = _pass
    visit_Match = visit_match_case = visit_MatchSingleton = visit_MatchSequence = _pass
    visit_MatchOr = _pass

    def visit_Call(self, node: ast.Call) -> Any:
        """Leave calls as they are; `rules` judges what is called."""
        return self.node_contents_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        """Check the name."""
        self.check_name(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Check the attribute; reading it becomes a call of the guard."""
        self._check_attribute(node, node.attr)
        node = self.node_contents_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        guard = ast.copy_location(ast.Name(GETATTR, ast.Load()), node)
        name = ast.copy_location(ast.Constant(self._mangled(node.attr)), node)
        return ast.copy_location(ast.Call(guard, [node.value, name], []), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Admit annotations, which stay as written: dataclasses and tools read them."""
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        self._check_quietly(node.annotation)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """Check a parameter; its annotation stays as written."""
        self.check_name(node, node.arg)
        if node.annotation is not None:
            self._check_quietly(node.annotation)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Check a function; its annotations stay as written."""
        self.check_name(node, node.name, allow_magic_methods=True)
        returns, node.returns = node.returns, None
        node = self.node_contents_visit(node)
        node.returns = returns
        if returns is not None:
            self._check_quietly(returns)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Check a class; no metaclass is put in."""
        self.check_name(node, node.name)
        if any(keyword.arg == "metaclass" for keyword in node.keywords):
            self.error(node, "a metaclass is not allowed")
        self._classes.append(node.name)
        try:
            return self.node_contents_visit(node)
        finally:
            self._classes.pop()

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Check a value pattern, which must stay an attribute or a constant."""
        self._check_quietly(node.value)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """Check a class pattern."""
        self._check_quietly(node.cls)
        for name in node.kwd_attrs:
            self._check_attribute(node, name)
        node.patterns = [self.visit(item) for item in node.patterns]
        node.kwd_patterns = [self.visit(item) for item in node.kwd_patterns]
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Check a mapping pattern."""
        for key in node.keys:
            self._check_quietly(key)
        self.check_name(node, node.rest)
        node.patterns = [self.visit(item) for item in node.patterns]
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """Check a capture."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """Check a starred capture."""
        self.check_name(node, node.name)
        return node

    # -- helpers --------------------------------------------------------------------------------

    def _check_attribute(self, node: ast.AST, name: str) -> None:
        dunder = name.startswith("__") and name.endswith("__")
        if (
            name in INSPECT_ATTRIBUTES
            or name.endswith("__roles__")
            or (dunder and name not in names.ALLOWED_DUNDER_ATTRIBUTES)
        ):
            self.error(node, f"attribute {name} is not allowed")

    def _check_quietly(self, node: ast.AST) -> None:
        """Check names and attributes below a node that is not rewritten."""
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                self.check_name(child, child.id)
            elif isinstance(child, ast.Attribute):
                self._check_attribute(child, child.attr)

    def _mangled(self, name: str) -> str:
        """Return `name` as the compiler would have mangled it in this class."""
        if not self._classes or not name.startswith("__") or name.endswith("__"):
            return name
        owner = self._classes[-1].lstrip("_")
        return f"_{owner}{name}" if owner else name
