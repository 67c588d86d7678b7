"""The shape that the programs of all families share, and the choices that vary it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template
from textwrap import dedent, indent
from typing import Literal, TypeVar

from spade_envs.types import EnvKind, Skill

T = TypeVar("T")
Challenge = Literal["easy", "medium", "hard"]

_SINGLE = Template('''\
from spade_envs.api import TextEnv, answer_of
$imports

class $name(TextEnv):
    """$doc"""

    levels = $levels
    max_turns = $turns

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
$reset

    def step(self, action):
        if $test:
            return self.win("$right")
        return self.$miss("$wrong")

    def hint(self):
$hint

    def solution(self):
        return [self.want]
''')

_ROUNDS = Template('''\
from spade_envs.api import TextEnv, answer_of


class $name(TextEnv):
    """$doc"""

    levels = $levels
    max_turns = $turns

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
$reset

    def step(self, action):
        if answer_of(action).upper() != self.path[self.turn - 1]:
            return self.lose("$wrong")
        if self.turn == self.n:
            return self.win("$right")
        return self.go_on(self.asks[self.turn])

    def hint(self):
$hint

    def solution(self):
        return self.path[self.turn :]
''')

_TOOLS = Template('''\
from spade_envs.api import $names
$imports

class $name(ToolEnv):
    """$doc"""

    levels = $levels
    max_turns = $turns

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
$reset

$helper$tools

    def hint(self):
$hint

    def solution(self):
$solution
''')

_TESTS = {
    "plain": "answer_of(action) == self.want",
    "upper": "answer_of(action).upper() == self.want",
    "lower": "answer_of(action).lower() == self.want",
}
PRIMES = (211, 251, 307, 353, 401, 457, 503, 557, 601, 653, 701, 751, 809, 857, 907, 953, 997)

_RIGHT = ("Right.", "Correct.", "Yes.", "Well done.")
_WRONG = ("Wrong.", "No.", "Not so.", "That is not it.")


class Draw:
    """Seeded choices of one program."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of `items`."""
        return self._random.choice(items)

    def many(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` different ones of `items`."""
        return self._random.sample(list(items), count)

    def int(self, low: int, high: int) -> int:
        """Draw an int, both ends included."""
        return self._random.randint(low, high)

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of `items` by weight."""
        return self._random.choices(items, weights)[0]


@dataclass(frozen=True, slots=True)
class Theme:
    """What a program is about, taken from the passage."""

    word: str
    """A lower-case noun of the passage."""
    challenge: Challenge = "medium"
    steps: int | None = None
    """Steps above the family's least at level 0; None draws them by the challenge."""

    @property
    def many(self) -> str:
        """The plural of `word`."""
        if self.word.endswith("y") and self.word[-2:-1] not in "aeiou":
            return f"{self.word[:-1]}ies"
        return f"{self.word}es" if self.word.endswith(("s", "x", "ch", "sh")) else f"{self.word}s"

    @property
    def one(self) -> str:
        """The word after its article."""
        return f"{'an' if self.word[0] in 'aeiou' else 'a'} {self.word}"

    @property
    def One(self) -> str:  # noqa: N802  it is the capitalised form
        """The word after its article, capitalised."""
        return self.one[0].upper() + self.one[1:]

    @property
    def Word(self) -> str:  # noqa: N802  it is the capitalised word
        """The word, capitalised."""
        return self.word.capitalize()

    @property
    def Many(self) -> str:  # noqa: N802  it is the capitalised plural
        """The plural, capitalised."""
        return self.many.capitalize()

    def size(self, draw: Draw, least: int, most: int = 99) -> int:
        """Return the number of steps at level 0; harder challenges have more, within bounds."""
        if self.steps is not None:
            return min(least + self.steps, 2 * most)
        base = least + {"easy": 0, "medium": 1, "hard": 2}[self.challenge]
        return min(most, base + draw.pick((0, 0, 0, 1, 1, 2, 3)))


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of environment and the function that writes programs of it."""

    name: str
    kind: EnvKind
    skills: tuple[Skill, ...]
    topics: tuple[str, ...]
    """Topics of passages that suit it best."""
    write: Callable[[Draw, Theme], str]
    least: int = 0
    """Fewest steps of an instance, if a tiny agent can learn to play it; otherwise 0."""


def _body(text: str, margin: int = 8) -> str:
    return indent(dedent(text).strip("\n"), " " * margin)


def _method(text: str) -> str:
    return f"{_body(text, 4)}\n\n" if text else ""


def _head(imports: str) -> str:
    return f"{imports}\n" if imports else ""


def single(
    draw: Draw,
    *,
    name: str,
    doc: str,
    reset: str,
    hint: str,
    test: str = "plain",
    imports: str = "",
) -> str:
    """Return a program that asks one question."""
    return _SINGLE.substitute(
        imports=_head(imports),
        name=name,
        doc=doc,
        levels=draw.pick((4, 5, 5)),
        turns=draw.pick((1, 2)),
        reset=_body(reset),
        test=_TESTS[test],
        right=draw.pick(_RIGHT),
        miss="lose",
        wrong=draw.pick(_WRONG),
        hint=_body(hint),
    )


def first_part(draw: Draw, size: int, unit: int = 1) -> str:
    """Return a hint that tells the beginning of `self.want`, whose items have `unit` letters.

    It never tells all: `size`, the least number of items, is at least 2.
    """
    halves = f"len(self.want) // {2 * unit}" + (f" * {unit}" if unit > 1 else "")
    ends = [f" {halves}", f" {halves}", str(unit)] + ([str(2 * unit)] if size > 2 else [])
    begin = draw.pick(("It starts with", "The beginning is", "First comes"))
    return f'return f"{begin} {{self.want[:{draw.pick(ends)}]}}."'


def rounds(draw: Draw, *, name: str, doc: str, reset: str, size: int) -> str:
    """Return a program in text that asks once a turn and wants every answer right.

    `reset` fills `self.asks`, the later questions, and `self.path`, all the answers, of which
    there are `size` at level 0 and one more at each further level.
    """
    levels = draw.pick((4, 5, 5))
    told = draw.pick(("self.path[: self.n // 2]", "self.path[: self.n // 2]", "self.path[:1]"))
    begin = draw.pick(("It starts with", "The beginning is", "First comes"))
    return _ROUNDS.substitute(
        name=name,
        doc=doc,
        levels=levels,
        turns=size + levels - 1 + draw.int(0, 3),
        reset=_body(f"n = self.n = {size} + self.level\n{dedent(reset).strip()}"),
        right=draw.pick(_RIGHT),
        wrong=draw.pick(_WRONG),
        hint=_body(f"""return f"{begin} {{', '.join({told})}}.\""""),
    )


def tooled(
    draw: Draw,
    *,
    name: str,
    doc: str,
    reset: str,
    tools: Sequence[str],
    hint: str,
    solution: str,
    steps: int,
    names: str = "Task, ToolEnv, call, finish, tool",
    helper: str = "",
    imports: str = "",
) -> str:
    """Return a program with tools; `steps` is what its solution takes at the last level."""
    return _TOOLS.substitute(
        names=names,
        imports=_head(imports),
        name=name,
        doc=doc,
        levels=4,
        turns=steps + draw.int(2, 6),
        reset=_body(reset),
        helper=_method(helper),
        tools="\n\n".join(_body(text, 4) for text in tools),
        hint=_body(hint),
        solution=_body(solution),
    )
