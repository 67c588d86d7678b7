"""Editing the source of an environment: the class at hand, its methods, and wrappers around them.

A wrapper renames `step` (or `reset`) to `inner_step` and writes a new one around it, so that one
planted defect fits environments of every shape.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

_RESET_SPADE = """
def reset(self, *, seed=None, options=None):
    {before}
    observation, info = {inner}(seed=seed, options=options)
    {after}
    return observation, info
"""
_RESET_PUBLISHED = """
def reset(self, seed=None):
    {before}
    observation, info = {inner}(seed)
    {after}
    return observation, info
"""
_STEP = """
def step(self, action):
    {before}
    observation, reward, terminated, truncated, info = {inner}(action)
    {after}
    return observation, reward, terminated, truncated, info
"""
_WANTED = {
    "text": """
def wanted(self):
    return self.solution()
""",
    "published": """
def wanted(self):
    answer = self.solution()
    answers = answer if isinstance(answer, list) else [answer]
    return ["\\\\boxed{" + one + "}" for one in answers]
""",
    "published-tool": """
def wanted(self):
    return list(self.solution())
""",
}
_PLAIN = """
def plain(text):
    found = re.findall(r"\\\\boxed\\{([^{}]*)\\}|<answer>(.*?)</answer>", text)
    return (found[-1][0] or found[-1][1]).strip() if found else text.strip()
"""


class Body:
    """A parsed source that can be changed and written out again."""

    def __init__(self, code: str) -> None:
        self.source = code
        self.tree = ast.parse(code)
        self.cls = _environment_class(self.tree)

    def fresh(self) -> Body:
        """Return the source as it was read, to change."""
        return Body(self.source)

    def code(self) -> str:
        """Return the source."""
        return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"

    @property
    def kind(self) -> str:
        """Shape of the class, as far as wrappers need it: text, tool, published(-tool)."""
        bases = {getattr(base, "id", "") for base in self.cls.bases}
        if "ToolUseBaseEnv" in bases:
            return "published-tool"
        if "ToolEnv" in bases:
            return "tool"
        return "text" if "TextEnv" in bases else "published"

    def method(self, name: str) -> ast.FunctionDef | None:
        """Return a method of the environment's class."""
        for node in self.cls.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        return None

    def add(self, code: str) -> Body:
        """Add methods or attributes at the end of the class."""
        self.cls.body += ast.parse(textwrap.dedent(code)).body
        return self

    def first(self, code: str) -> Body:
        """Add attributes after the docstring of the class."""
        place = 1 if ast.get_docstring(self.cls) is not None else 0
        self.cls.body[place:place] = ast.parse(textwrap.dedent(code)).body
        return self

    def top(self, code: str) -> Body:
        """Add statements after the imports."""
        last = max(
            (
                index + 1
                for index, node in enumerate(self.tree.body)
                if isinstance(node, ast.Import | ast.ImportFrom)
            ),
            default=0,
        )
        self.tree.body[last:last] = ast.parse(textwrap.dedent(code)).body
        return self

    def head(self, code: str) -> Body:
        """Add imports at the top."""
        self.tree.body[0:0] = ast.parse(textwrap.dedent(code)).body
        return self

    def attribute(self, name: str, expression: str) -> Body:
        """Set a class attribute, in place of the one that is there."""
        for node in list(self.cls.body):
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in node.targets
            ):
                self.cls.body.remove(node)
        return self.first(f"{name} = {expression}")

    def wrap_step(self, before: str = "", after: str = "") -> Body:
        """Put statements before and after the environment's own step."""
        inner = self._inner("step")
        return self.prepare(before + after).add(_filled(_STEP, before, after, inner))

    def wrap_reset(self, before: str = "", after: str = "") -> Body:
        """Put statements before and after the environment's own reset."""
        inner = self._inner("reset")
        spade = self.kind in ("text", "tool")
        template = _RESET_SPADE if spade else _RESET_PUBLISHED
        return self.prepare(before + after).add(_filled(template, before, after, inner))

    def keep_gold(self) -> Body:
        """Keep the reference's actions of each episode in `self.gold`."""
        return self.wrap_reset(after="self.gold = self.wanted()")

    def _inner(self, name: str) -> str:
        own = self.method(name)
        if own is None:
            return f"super().{name}"
        new = f"inner_{name}"
        while self.method(new) is not None:
            new = f"inner_{new}"
        own.name = new
        return f"self.{new}"

    def prepare(self, code: str) -> Body:
        """Add the helpers that the statements use."""
        spade = self.kind in ("text", "tool")
        if "self.wanted()" in code and self.method("wanted") is None:
            self.add(_WANTED["text" if spade else self.kind])
        if "plain(" in code and "plain" not in _bound(self.tree):
            if spade:
                self.head("from spade_envs.api import answer_of as plain")
            else:
                self.top(_PLAIN).head("import re")
        return self


def _bound(tree: ast.Module) -> set[str]:
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def _filled(template: str, before: str, after: str, inner: str) -> str:
    def block(code: str) -> str:
        return textwrap.indent(textwrap.dedent(code).strip() or "pass", "    ").strip()

    return (
        template.replace("{before}", block(before))
        .replace("{after}", block(after))
        .replace("{inner}", inner)
    )


def _environment_class(tree: ast.Module) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            if "reset" in names:
                return node
    raise ValueError("the source has no environment class")


def winning_tests(body: Body) -> Iterator[ast.If]:
    """Yield the `if` statements whose body returns a win."""
    for node in ast.walk(body.cls):
        if isinstance(node, ast.If) and any(_wins(item) for item in node.body):
            yield node


def _wins(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    value = node.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr == "win"
    return (
        isinstance(value, ast.Tuple)
        and len(value.elts) == 5
        and isinstance(value.elts[1], ast.Constant)
        and value.elts[1].value == 1.0
    )


def equalities(node: ast.AST) -> list[ast.Compare]:
    """Return the comparisons by `==` of two values within a node."""
    return [
        item
        for item in ast.walk(node)
        if isinstance(item, ast.Compare) and len(item.ops) == 1 and isinstance(item.ops[0], ast.Eq)
    ]


def verdicts(body: Body) -> list[ast.AST]:
    """Return the nodes that decide about a win: tests of winning ifs, `won = ...`, predicates."""
    found: list[ast.AST] = [node.test for node in winning_tests(body)]
    for node in ast.walk(body.cls):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "won" for target in node.targets
        ):
            found.append(node.value)
        if isinstance(node, ast.keyword) and node.arg == "done":
            found.append(node.value)
    return found
