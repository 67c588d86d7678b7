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

_TURNS = Template('''\
from spade_envs.api import TextEnv, answer_of
$imports

class $name(TextEnv):
    """$doc"""

    levels = $levels
    max_turns = $turns

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
$reset

$helper    def step(self, action):
$step

    def hint(self):
$hint

    def solution(self):
$solution
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
    "list": 'answer_of(action).replace(",", " ").split() == self.want.split()',
    "pair": 'answer_of(action).replace(" ", "").strip("()") == self.want',
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

    def size(self, draw: Draw, least: int, *, steep: bool = True) -> str:
        """Return an expression of the instance's size, which grows with the level."""
        base = least + {"easy": 0, "medium": 1, "hard": 2}[self.challenge] + draw.int(0, 1)
        step = draw.pick((1, 1, 2)) if steep else 1
        return f"{base} + self.level" if step == 1 else f"{base} + {step} * self.level"


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of environment and the function that writes programs of it."""

    name: str
    kind: EnvKind
    skills: tuple[Skill, ...]
    topics: tuple[str, ...]
    """Topics of passages that suit it best."""
    write: Callable[[Draw, Theme], str]


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
    """Return a program that asks one question; some give a second or third try."""
    ends = draw.pick((True, True, False))
    return _SINGLE.substitute(
        imports=_head(imports),
        name=name,
        doc=doc,
        levels=draw.pick((4, 4, 5)),
        turns=draw.pick((2, 3)),
        reset=_body(reset),
        test=_TESTS[test],
        right=draw.pick(_RIGHT),
        miss="lose" if ends else "go_on",
        wrong=draw.pick(_WRONG) if ends else "Try again.",
        hint=_body(hint),
    )


def stepwise(
    draw: Draw,
    *,
    name: str,
    doc: str,
    reset: str,
    step: str,
    hint: str,
    solution: str,
    turns: int,
    helper: str = "",
    imports: str = "",
) -> str:
    """Return a program in text that takes several steps."""
    return _TURNS.substitute(
        imports=_head(imports),
        name=name,
        doc=doc,
        levels=4,
        turns=turns,
        reset=_body(reset),
        helper=_method(helper),
        step=_body(step),
        hint=_body(hint),
        solution=_body(solution),
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
