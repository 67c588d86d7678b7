"""Harmless rewrites: what they make of a sound environment is as sound as before."""

from __future__ import annotations

import ast
from collections.abc import Callable

from benchmarks.defects.body import Body

_FRAMEWORK = frozenset(
    [
        "self",
        "seed",
        "options",
        "action",
        "reset",
        "step",
        "hint",
        "solution",
        "level",
        "levels",
        "max_turns",
        "turn",
        "reward_range",
        "np_random",
        "state",
        "tasks",
        "win",
        "lose",
        "go_on",
        "begin",
        "draw",
        "draw_int",
        "draw_many",
        "shuffled",
        "metadata",
        "render",
        "self_paced",
        "observation_space",
        "action_space",
        "tools",
        "alternatives",
        "wanted",
        "inner_step",
        "inner_reset",
        "get_tools",
        "execute_tool",
    ]
)
_WORDS = {
    " must ": " has to ",
    "Give the": "State the",
    "Write the": "Put down the",
    "Right": "Correct",
    "You may ": "You are allowed to ",
    " each ": " every single ",
    " exactly ": " precisely ",
    "Reply with": "Respond with",
}


def reformatted(code: str) -> str | None:
    """Return the source as `ast.unparse` writes it, without comments."""
    return Body(code).code()


def renamed(code: str) -> str | None:
    """Return the source with other names for its variables, methods and class."""
    body = Body(code)
    kept = _FRAMEWORK | _interface_names(body)
    names = {name: f"{name}_it" for name in _own_names(body.tree) - kept}
    names[body.cls.name] = f"My{body.cls.name}"
    attributes = {name: f"{name}_here" for name in _own_attributes(body) - kept}
    methods = [item for item in body.cls.body if isinstance(item, ast.FunctionDef)]
    for node in ast.walk(body.tree):
        if node not in methods:
            _rename(node, names, attributes)
    for item in body.cls.body:
        if isinstance(item, ast.FunctionDef) and item.name in attributes:
            item.name = attributes[item.name]
        if isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name) and target.id in attributes:
                    target.id = attributes[target.id]
    return body.code()


def _rename(node: ast.AST, names: dict[str, str], attributes: dict[str, str]) -> None:
    if isinstance(node, ast.Name):
        node.id = names.get(node.id, node.id)
    elif isinstance(node, ast.arg):
        node.arg = names.get(node.arg, node.arg)
    elif isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in names:
        node.name = names[node.name]
    elif (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ):
        node.attr = attributes.get(node.attr, node.attr)


def _interface_names(body: Body) -> set[str]:
    """Return names that others use: tools and their parameters, keywords, imports."""
    kept: set[str] = set()
    for node in ast.walk(body.tree):
        if isinstance(node, ast.keyword) and node.arg:
            kept.add(node.arg)
        elif isinstance(node, ast.alias):
            kept.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.FunctionDef) and (
            node.decorator_list or node.name.startswith(("tool_", "__"))
        ):
            kept |= {node.name, *(arg.arg for arg in node.args.args)}
    return kept


def _own_names(tree: ast.Module) -> set[str]:
    """Return the names that the module binds outside of classes."""
    found = set()
    in_class = {
        id(target)
        for cls in ast.walk(tree)
        if isinstance(cls, ast.ClassDef)
        for item in cls.body
        if isinstance(item, ast.Assign)
        for target in item.targets
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if id(node) not in in_class:
                found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    methods = {
        id(item) for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) for item in cls.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and id(node) not in methods:
            found.add(node.name)
    return found


def _own_attributes(body: Body) -> set[str]:
    found = {
        node.attr
        for node in ast.walk(body.cls)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    for item in body.cls.body:
        if isinstance(item, ast.FunctionDef):
            found.add(item.name)
        elif isinstance(item, ast.Assign):
            found |= {target.id for target in item.targets if isinstance(target, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def reordered(code: str) -> str | None:
    """Return the source with the methods that are no tools in the opposite order."""
    body = Body(code)
    places = [
        index
        for index, item in enumerate(body.cls.body)
        if isinstance(item, ast.FunctionDef)
        and not item.decorator_list
        and not item.name.startswith(("__", "tool_"))
    ]
    methods = [body.cls.body[index] for index in places]
    for index, method in zip(places, reversed(methods), strict=True):
        body.cls.body[index] = method
    return body.code()


def reworded(code: str) -> str | None:
    """Return the source with other words in its longer texts, or None if none of them occurs."""
    body = Body(code)
    changed = False
    for node in ast.walk(body.tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if len(node.value.split()) < 4:
            continue
        new = node.value
        for old, other in _WORDS.items():
            new = new.replace(old, other)
        changed = changed or new != node.value
        node.value = new
    return body.code() if changed else None


def introduced(code: str) -> str | None:
    """Return the source with another sentence before its first observation."""
    body = Body(code)
    body.wrap_reset(after="observation = f'Please take your time. {observation}'")
    return body.code()


def commented(code: str) -> str | None:
    """Return the source with comments, and docstrings where there were none."""
    body = Body(code)
    for item in body.cls.body:
        if isinstance(item, ast.FunctionDef) and ast.get_docstring(item) is None:
            text = f"Serve the {item.name.replace('_', ' ')} of the environment."
            if not item.decorator_list:
                item.body.insert(0, ast.Expr(ast.Constant(text)))
    lines = body.code().splitlines()
    noted = [
        f"{line}  # see above" if line.endswith(":") and "'''" not in line else line
        for line in lines
    ]
    return "\n".join(["# A task for agents.", *noted]) + "\n"


def split(code: str) -> str | None:
    """Return the source with `step` and `reset` split in two methods each."""
    return Body(code).wrap_step().wrap_reset().code()


def reseeded(code: str) -> str | None:
    """Return the source with other seeds for its tasks."""
    return Body(code).wrap_reset("seed = None if seed is None else seed + 1000").code()


def kept(code: str) -> str | None:
    """Return the source that keeps its reference's actions, as many planted defects do."""
    return Body(code).keep_gold().wrap_step().code()


REWRITES: dict[str, Callable[[str], str | None]] = {
    "reformatted": reformatted,
    "renamed": renamed,
    "reordered": reordered,
    "reworded": reworded,
    "introduced": introduced,
    "commented": commented,
    "split": split,
    "reseeded": reseeded,
    "kept": kept,
}
