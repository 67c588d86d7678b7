"""Copies of an environment that differ in names, order and words, and in nothing that is played."""

from __future__ import annotations

import ast
import random
import re

from spade_envs.design.novelty import _KEPT, _own_names
from spade_envs.types import EnvSource

WORDS = {
    "a": "one",
    "is": "will be",
    "the": "this",
    "answer": "reply",
    "with": "using",
    "and": "as well as",
    "you": "the player",
    "your": "the player's",
    "of": "belonging to",
    "each": "every single",
    "every": "each and every",
    "what": "tell which",
    "find": "work out",
    "give": "hand over",
    "number": "figure",
    "start": "begin",
    "first": "foremost",
    "last": "final",
    "are": "happen to be",
    "in": "within",
    "one": "a single",
    "how": "say how",
    "no": "nope",
    "right": "correct",
    "wrong": "mistaken",
}
_SENTENCE = re.compile(r"[A-Za-z]+ [A-Za-z]+ [A-Za-z]+")


def renamed(code: str, seed: int) -> str:
    """Give every name that the file binds, but for those of decorated functions, a new one."""
    tree = ast.parse(code)
    mine = sorted(name for name in _own_names(tree) - _KEPT if not name.startswith("__"))
    local = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg | ast.keyword)}
    local |= {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    local |= _fields(tree)
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    mine = [name for name in mine if name not in local | strings and not _is_base(tree, name)]
    mine = [name for name in mine if name not in ("tasks", "level", "levels", "max_turns")]
    new = {name: f"{name}{'Env' if name[0].isupper() else '_of'}{seed}x" for name in mine}
    for node in ast.walk(tree):
        for field in ("id", "attr", "name"):
            if isinstance(value := getattr(node, field, None), str) and value in new:
                setattr(node, field, new[value])
    return ast.unparse(tree)


def _fields(tree: ast.Module) -> set[str]:
    """Return names in the bodies of dataclasses, which become parameters."""
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.decorator_list]
    return {n.target.id for c in classes for n in ast.walk(c)
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}  # fmt: skip


def _is_base(tree: ast.Module, name: str) -> bool:
    imported = {a.asname or a.name for n in ast.walk(tree)
                if isinstance(n, ast.ImportFrom | ast.Import) for a in n.names}  # fmt: skip
    return name in imported


def reordered(code: str, seed: int) -> str:
    """Shuffle the methods of every class, decorated ones among themselves."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            places = [n for n, one in enumerate(node.body) if isinstance(one, ast.FunctionDef)
                      and not one.decorator_list]  # fmt: skip
            methods = [node.body[place] for place in places]
            random.Random(seed).shuffle(methods)
            for place, method in zip(places, methods, strict=True):
                node.body[place] = method
    return ast.unparse(tree)


def reworded(code: str, seed: int) -> str:
    """Say every sentence of the file in other words; keys and formats stay."""
    chosen = random.Random(seed).sample(sorted(WORDS), 18)
    words = {word: WORDS[word] for word in chosen}

    def say(match: re.Match[str]) -> str:
        word = match[0]
        other = words.get(word.lower(), word)
        return other.capitalize() if word[0].isupper() else other

    tree = ast.parse(code)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _SENTENCE.search(node.value)
        ):
            node.value = re.sub(r"(?<![\\{<\w])[A-Za-z]+(?![\w}>])", say, node.value)
    return ast.unparse(tree)


def copies(source: EnvSource) -> list[EnvSource]:
    """Return ten: three renamed, two reordered, three reworded, two all at once."""
    code = source.code
    found = [
        *(renamed(code, n) for n in range(3)),
        *(reordered(code, n) for n in range(1, 3)),
        *(reworded(code, n) for n in range(3)),
        *(reworded(reordered(renamed(code, n), n), n) for n in range(7, 9)),
    ]
    return [EnvSource(code=text, origin=f"copy {n}") for n, text in enumerate(found)]
