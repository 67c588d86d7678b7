r"""GPQA-Diamond, from a file of the user's: one letter of four, in `\boxed{}`.

Source: prompt, order of the options (`Random(42 + row)`), sampling: the evaluation of
arXiv 2608.19197. Unlike there, `\boxed{\text{C}}` and `\boxed{C: 2.4}` are the letter C.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Said, Score, Task
from spade_train.suites.questions import read_rows, text_of, unique
from spade_train.suites.single import Question, SingleSession, boxed, verdict, without_answer

VERSION = 2
"""Of this suite; raise it when scores change."""
LETTERS = "ABCD"
FILE = (
    "the published CSV, or JSONL, JSON or CSV with question, options (a list of four) and answer "
    "(a letter)"
)
_SHUFFLE_SEED = 42
_CLOSING = (
    "Please reason step by step, and put your final answer within \\boxed{}. Your final answer "
    "should be of the following format: \\boxed{LETTER} where LETTER is one of ABCD."
)
_WRAPPER = re.compile(r"\\(?:text|mathrm|mathbf|mathit|textbf|textrm|rm|bf|boxed)\b")
_LETTER = re.compile(r"[\s{($]*([A-Da-d])(?![A-Za-z])")
_IN_WORDS = re.compile(
    r"(?i:answer)\s*(?:(?i:is)|:)[:*($\s]*([A-D](?![A-Za-z])|[a-d](?=[)*$.,;!]|\s*(?:\n|$)))"
)
"""A small letter with a word behind it is none: `the answer is a number`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One question of four options."""

    id: str
    group: str
    text: str
    letter: str


def letter_of(said: Said) -> str | None:
    """Return the letter that a reply chooses: in the last box, else the last `answer is X`."""
    if (found := boxed(said)) is not None:
        match = _LETTER.match(_WRAPPER.sub("", found))
        return match[1].upper() if match else None
    named = _IN_WORDS.findall(said)
    return named[-1].upper() if named else None


def gpqa_diamond(*, path: str) -> Choices:
    """Return the suite; see `FILE`.

    Raises:
        ConfigError: the file is not as described.
    """
    rows = read_rows(path)
    choices = [_choice(row, index, f"{path}, row {index + 1}") for index, row in enumerate(rows)]
    unique([each.id for each in choices], path)
    return Choices("gpqa-diamond", choices)


class Choices:
    """Questions with four options each."""

    decoding = Decoding(temperature=0.7, top_p=0.95, max_tokens=32_768, samples=8)
    labels: Mapping[str, str] = {}

    def __init__(self, name: str, choices: Sequence[Choice]) -> None:
        self.name, self.version = name, f"file + {VERSION}"
        self._choices = {each.id: each for each in choices}
        told = json.dumps([[c.id, c.text, c.letter] for c in choices]).encode()
        self.settings: Mapping[str, Json] = {
            "questions": len(choices),
            "data": "sha256:" + hashlib.sha256(told).hexdigest(),
        }

    def tasks(self) -> Sequence[Task]:
        """Return the questions as they stand."""
        return [Task(each.id, each.group) for each in self._choices.values()]

    def open(self, task: Task, *, seed: int) -> SingleSession:
        """Ask the question; the seed changes nothing."""
        choice = self._choices[task.id]

        def judge(said: Said) -> Score:
            found = letter_of(said)
            return without_answer() if found is None else verdict(found == choice.letter)

        return SingleSession(
            Question(
                prompt=choice.text,
                judge=judge,
                answer=f"\\boxed{{{choice.letter}}}",
                guess=lambda rng: f"\\boxed{{{rng.choice(LETTERS)}}}",
            )
        )

    def close(self) -> None:
        """Nothing is held."""


def _choice(row: Mapping[str, Json], index: int, where: str) -> Choice:
    if "Correct Answer" in row:
        question = text_of(row, ("Question",), where)
        right = text_of(row, ("Correct Answer",), where)
        wrong = [text_of(row, (f"Incorrect Answer {n}",), where) for n in (1, 2, 3)]
        order = list(range(4))
        random.Random(_SHUFFLE_SEED + index).shuffle(order)
        options = [[right, *wrong][place] for place in order]
        letter = LETTERS[order.index(0)]
    else:
        question = text_of(row, ("question",), where)
        letter = text_of(row, ("answer",), where).strip("().").upper()
        options = _options(row.get("options") or row.get("choices"), where)
        if len(letter) != 1 or letter not in LETTERS:
            raise ConfigError(f"{where}: answer must be one of A, B, C, D, not {letter!r}")
    listed = "".join(f"\n{mark}: {text}" for mark, text in zip(LETTERS, options, strict=False))
    name = row.get("Record ID") or row.get("id") or index
    return Choice(
        id=f"gpqa/{name}",
        group=str(row.get("High-level domain") or row.get("domain") or "all").strip().lower(),
        text=f"Question: {question}\n{listed}\n\n{_CLOSING}"
        if options
        else f"{question}\n\n{_CLOSING}",
        letter=letter,
    )


def _options(given: Json, where: str) -> list[str]:
    """Return the four options; none if they stand in the question already."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: options must be a list of four texts") from error
    if isinstance(given, dict):
        given = [given.get(mark) for mark in LETTERS]
    if given is None:
        return []
    if not isinstance(given, list) or len(given) != 4 or not all(isinstance(o, str) for o in given):
        raise ConfigError(f"{where}: options must be a list of four texts")
    return [each.strip() for each in given]
