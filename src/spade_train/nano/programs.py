"""The program generator: conditions and the programs that answer them.

A condition is the short line that the tiny designer reads instead of a whole brief: skill, kind,
challenge, topics and telling words of the passage. `write_program` answers it with one complete
file in the contract; everything it chooses is drawn from its seed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.types import COGNITIVE_SKILLS, EnvKind, Skill
from spade_train.nano.families import FAMILIES, Draw, Family, Theme
from spade_train.nano.families.form import Challenge
from spade_train.nano.topics import GENERAL, TOPICS, telling_words, topics_of

_CHALLENGES: tuple[Challenge, ...] = ("easy", "medium", "hard")
_FALLBACK_WORD = "item"
_HARD = 0.5
"""How much less likely a family is that the tiny agent cannot play."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a program is to be about."""

    skill: Skill
    kind: EnvKind
    challenge: Challenge
    topics: tuple[str, ...]
    words: tuple[str, ...]

    def line(self) -> str:
        """Return the condition as the one line that the designer reads."""
        return (
            f"{self.skill} {self.kind} {self.challenge} {' '.join(self.topics)}: "
            f"{' '.join(self.words)}"
        )


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the generator."""

    family: str
    code: str


def condition_of(
    skill: Skill,
    kind: EnvKind,
    challenge: Challenge,
    passage: str,
    *,
    avoid: Sequence[str] = (),
) -> Condition:
    """Return the condition that a passage and the rest of a brief come to.

    Words of the passage that stand in `avoid`, lines on what is there already, are taken last.
    """
    words = telling_words(passage, avoid=avoid) or [_FALLBACK_WORD]
    return Condition(
        skill=skill,
        kind=kind,
        challenge=challenge,
        topics=tuple(topics_of(passage)),
        words=tuple(words),
    )


def draw_condition(draw: Draw, passages: list[str]) -> Condition:
    """Return a random condition, half of them on one of `passages`, half on words alone."""
    skill = draw.pick(tuple(Skill))
    kind: EnvKind = "text" if skill in COGNITIVE_SKILLS else "tool"
    if draw.int(1, 25) == 1:
        kind = "tool" if kind == "text" else "text"
    challenge = draw.pick(_CHALLENGES)
    if passages and draw.int(0, 1):
        return condition_of(skill, kind, challenge, draw.pick(passages))
    topics = tuple(draw.many(tuple(TOPICS), 2))
    pool = (*TOPICS[topics[0]], *TOPICS[topics[1]], *GENERAL)
    words = tuple(draw.many(tuple(dict.fromkeys(pool)), draw.pick((3, 3, 3, 2, 1))))
    return Condition(skill=skill, kind=kind, challenge=challenge, topics=topics, words=words)


def choose_family(draw: Draw, condition: Condition) -> Family:
    """Draw a family that exercises the skill; those that suit the topics are likelier."""
    of_kind = [family for family in FAMILIES if family.kind == condition.kind]
    fitting = [family for family in of_kind if condition.skill in family.skills] or of_kind
    weights = [
        (1.0 if family.least else _HARD)
        * (1.0 + 2.0 * sum(topic in family.topics for topic in condition.topics))
        for family in fitting
    ]
    return draw.weighted(fitting, weights)


_SUMMARIES = (
    ("Follow links", "hops"),
    ("Put ", "ranks"),
    ("Trace ", "ripple"),
    ("Replace ", "decode"),
    ("Change every", "shift"),
    ("Keep totals", "totals"),
    ("Change the letters", "words"),
    ("Choose the best", "picks"),
    ("Count ", "tally"),
    ("Move ", "walk"),
    ("Raise ", "power"),
    ("Find the rule", "series"),
    ("Turn ", "grid"),
    ("Look up", "retrieve"),
    ("Go from", "chained"),
    ("Pick ", "choose"),
    ("Read ", "retry"),
    ("Keep stock", "stock"),
    ("Take ", "flow"),
)
_CHOICES = (("by price.", "cheapest"), ("worth most.", "knapsack"), ("of a row.", "fronts"))
_DOCSTRING = re.compile(r'^    """(.*)"""$', re.MULTILINE)


def family_of(code: str) -> str | None:
    """Return the family of a program in the generator's manner by its summary; None if unknown."""
    found = _DOCSTRING.search(code)
    summary = found[1] if found else ""
    starts = (name for start, name in _SUMMARIES if summary.startswith(start))
    ends = (name for end, name in _CHOICES if summary.endswith(end))
    return next(ends, next(starts, None))


def write_program(
    draw: Draw, condition: Condition, family: Family | None = None, steps: int | None = None
) -> Program:
    """Return a program that answers the condition.

    With `steps`, level 0 has that many steps more than the family's shortest instance.
    """
    family = family or choose_family(draw, condition)
    theme = Theme(draw.pick(condition.words), condition.challenge, steps)
    return Program(family.name, family.write(draw, theme))
