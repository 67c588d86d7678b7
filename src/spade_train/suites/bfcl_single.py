"""BFCL v4, single-turn: one request, the right calls or none; non-live and live categories.

The data are those of the `bfcl-eval` wheel, installed lean; `bfcl_ast` reads and judges.
"""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message
from spade_train.suites.base import Decoding, Said, Score, Task
from spade_train.suites.bfcl import home, lines, order, system_prompt
from spade_train.suites.bfcl_ast import Checker, Language, as_written
from spade_train.suites.calls import random_call, told
from spade_train.suites.questions import listed
from spade_train.suites.single import Question, SingleSession

NON_LIVE = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
)
LIVE = (
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
_OURS = 1
_LANGUAGES: Mapping[str, Language] = {"simple_java": "java", "simple_javascript": "javascript"}
_GRAMMARS = ("tree_sitter", "tree_sitter_java", "tree_sitter_javascript")
_SYNTAX: Mapping[Language, str] = {
    "python": "Python 3",
    "java": "Java 8 SDK",
    "javascript": "JavaScript",
}
_TALK = "None of the functions can do that."


def suite(*, categories: Sequence[str] | str = ()) -> BfclSingleTurn:
    """Return the single-turn categories of BFCL v4.

    Args:
        categories: some of `NON_LIVE` and `LIVE`, `non_live` or `live`, as a list or with commas
            between them; all that can be played here if none.

    Raises:
        ConfigError: no such category, or it needs a parser that is not installed.
    """
    named = listed(categories, "categories")
    wanted = [each.strip() for each in named if each.strip()]
    groups = {"non_live": NON_LIVE, "live": LIVE}
    chosen = [c for each in wanted for c in groups.get(each, (each,))]
    if unknown := sorted(set(chosen) - {*NON_LIVE, *LIVE}):
        known = ", ".join(("non_live", "live", *NON_LIVE, *LIVE))
        raise ConfigError(f"BFCL category {unknown[0]!r}: known are {known}")
    missing = [each for each in _GRAMMARS if importlib.util.find_spec(each) is None]
    if missing and (unread := [c for c in wanted if c in _LANGUAGES]):
        raise ConfigError(
            f"BFCL category {unread[0]} needs {', '.join(missing)}; "
            "run: spade-train suites install bfcl-single-turn"
        )
    left_out = [c for c in (chosen or [*NON_LIVE, *LIVE]) if missing and c in _LANGUAGES]
    played = tuple(c for c in (*NON_LIVE, *LIVE) if c in (chosen or {*NON_LIVE, *LIVE}))
    return BfclSingleTurn(tuple(c for c in played if c not in left_out), left_out)


@dataclass(frozen=True, slots=True)
class Entry:
    """One task as upstream has it."""

    id: str
    category: str
    said: tuple[Message, ...]
    functions: tuple[Mapping[str, Json], ...]
    truth: tuple[Mapping[str, Json], ...]
    """Calls with the values that are allowed; none where relevance alone is judged."""

    @property
    def language(self) -> Language:
        """What the calls are written in."""
        return _LANGUAGES.get(self.category, "python")


class BfclSingleTurn:
    """The suite."""

    name = "bfcl-single-turn"
    decoding = Decoding(temperature=0.0, max_tokens=4096, max_turns=1)

    def __init__(self, categories: tuple[str, ...], left_out: Sequence[str]) -> None:
        self.settings: Mapping[str, Json] = {
            "categories": list(categories),
            "prompt": "upstream default for prompted models",
        }
        why = f"{', '.join(left_out)} (no tree-sitter)"
        self.labels: Mapping[str, str] = {"left out": why} if left_out else {}
        self._checker = Checker(sorted({_LANGUAGES.get(c, "python") for c in categories}))
        self._prompts = importlib.import_module("bfcl_eval.constants.default_prompts")
        data = home() / "data"
        found = [_entries(data, category) for category in categories]
        walked = [[entries[i] for i in order({"": entries})] for entries in found]
        most = max((len(entries) for entries in walked), default=0)
        mixed = [entries[i] for i in range(most) for entries in walked if i < len(entries)]
        self._entries = {entry.id: entry for entry in mixed}

    @property
    def version(self) -> str:
        """Version of the wheel and our own."""
        return f"bfcl-eval {importlib.metadata.version('bfcl-eval')} + {_OURS}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks, categories taking turns."""
        return [
            Task(e.id, e.category, {"functions": len(e.functions)}) for e in self._entries.values()
        ]

    def open(self, task: Task, *, seed: int) -> SingleSession:
        """Begin an attempt; the seed changes nothing."""
        entry = self._entries[task.id]
        system = system_prompt(self._prompts, shown(entry.functions, entry.language))
        said = entry.said
        if said and said[0].role == "system":
            system, said = f"{system}\n\n{said[0].content}", said[1:]
        return SingleSession(
            Question(
                prompt=said[-1].content,
                judge=lambda reply: self._judged(reply, entry),
                answer=_answer(entry),
                guess=lambda rng: _guess(entry, rng),
                system=system,
                earlier=said[:-1],
            )
        )

    def close(self) -> None:
        """Nothing is held."""

    def _judged(self, said: Said, entry: Entry) -> Score:
        if entry.category.endswith("relevance"):
            called = self._checker.called(said)
            right = called != entry.category.endswith("irrelevance")
            error = {} if right else {"error": "called" if called else "no call"}
            return Score(value=float(right), success=right, detail=error)
        return self._checker.score(
            said, entry.functions, entry.truth, entry.language, entry.category
        )


def shown(
    functions: Sequence[Mapping[str, Json]], language: Language
) -> tuple[Mapping[str, Json], ...]:
    """Return descriptions as the prompt has them: parameters of Java and JavaScript as text.

    Source: `add_language_specific_hint_to_function_doc` of bfcl-eval.
    """
    plain: list[dict[str, Json]] = [dict(copy.deepcopy(each)) for each in functions]
    for each in plain:
        each["description"] += f" Note that the provided function is in {_SYNTAX[language]} syntax."
        if language != "python":
            for schema in each["parameters"]["properties"].values():
                _as_text(schema, {"java": "Java", "javascript": "JavaScript"}[language])
    return tuple(plain)


def _as_text(schema: dict[str, Json], language: str) -> None:
    kind = schema["type"]
    if kind == "any":
        hint = f" This parameter can be of any type of {language} object in string representation."
    else:
        hint = f" This is {language} {kind} type parameter in string representation."
    if kind in ("ArrayList", "Array", "array"):
        item = schema.pop("items")["type"]
        hint += f" The list elements are of type {item}; they are not in string representation."
    if kind == "dict" and "properties" in schema:
        inside = json.dumps(schema.pop("properties"))
        hint += (
            " The dictionary entries have the following schema; they are not in string "
            f"representation. {inside}"
        )
    schema["description"] += hint
    schema["type"] = "string"


def _answer(entry: Entry) -> Said | None:
    if entry.truth:
        return as_written(entry.truth, entry.functions, entry.language)
    if entry.category.endswith("irrelevance"):
        return _TALK
    return f"[{told(random_call(entry.functions, Random(0)))}]"  # any call at all is relevant


def _guess(entry: Entry, rng: Random) -> Said:
    if not entry.functions or rng.random() < 0.2:
        return _TALK
    return f"[{told(random_call(entry.functions, rng))}]"


def _entries(data: Path, category: str) -> list[Entry]:
    name = f"BFCL_v4_{category}.json"
    answers: dict[str, Json] = {}
    if not category.endswith("relevance"):
        answers = {
            each["id"]: each["ground_truth"] for each in lines(data / "possible_answer" / name)
        }
    return [
        Entry(
            raw["id"],
            category,
            tuple(Message(m["role"], m["content"]) for m in raw["question"][0]),
            tuple(raw["function"]),
            tuple(answers[raw["id"]]) if answers else (),
        )
        for raw in lines(data / name)
    ]
