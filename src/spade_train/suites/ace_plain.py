"""ACEBench, Normal and Special: one reply to a history, from a checkout that the user names.

From the checkout come the data, the prompts (read as constants) and the checker, which compares
plain values; replies are read by `calls`, where upstream evaluates arithmetic in them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message
from spade_train.suites.acebench import WHAT, checker, constants, lines
from spade_train.suites.base import Decoding, Said, Score, Task
from spade_train.suites.calls import Call, parse_calls, random_call, told
from spade_train.suites.questions import listed

NORMAL = (
    "single_turn_single_function",
    "single_turn_parallel_function",
    "multi_turn_user_adjust",
    "multi_turn_user_switch",
    "similar_api",
    "preference",
    "atom_bool",
    "atom_enum",
    "atom_number",
    "atom_list",
    "atom_object_deep",
    "atom_object_short",
)
SPECIAL = ("incomplete", "error_param", "irrelevant")
_OURS = 1
_MISSING = "Missing necessary parameters"
_INCORRECT = "There is incorrect value"
_BEYOND = "the limitations of the function"
_SURRENDER = f'["Due to {_BEYOND}, I cannot solve this problem."]'
_NUMBERED = re.compile(r"_\d+$")


def suite(*, path: str, categories: Sequence[str] | str = ()) -> AceBench:
    """Return the Normal and Special parts of ACEBench, in English.

    Args:
        path: the checkout.
        categories: some of `NORMAL` and `SPECIAL`, `normal` or `special`, as a list or with commas
            between them; all if none.

    Raises:
        ConfigError: the path holds something else, or there is no such category.
    """
    named = listed(categories, "categories")
    groups = {"normal": NORMAL, "special": SPECIAL}
    wanted = [
        c for each in named if each.strip() for c in groups.get(each.strip(), (each.strip(),))
    ]
    if unknown := sorted(set(wanted) - {*NORMAL, *SPECIAL}):
        known = ", ".join(("normal", "special", *NORMAL, *SPECIAL))
        raise ConfigError(f"ACEBench category {unknown[0]!r}: known are {known}")
    chosen = tuple(c for c in (*NORMAL, *SPECIAL) if c in (wanted or {*NORMAL, *SPECIAL}))
    home = Path(path)
    try:
        prompts = constants(home / "model_inference" / "prompt_en.py")
        asks = {
            key: str(prompts[f"SYSTEM_PROMPT_FOR_{key}_DATA_EN"])
            for key in ("NORMAL", "PREFERENCE", "SPECIAL")
        } | {"user": str(prompts["USER_PROMPT_EN"])}
        tasks = [task for category in chosen for task in _dialogues(home, category)]
        check = checker(home).normal_checker
    except (OSError, KeyError, ValueError, SyntaxError, ImportError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{home} is not {WHAT}: {why}") from error
    return AceBench(chosen, tasks, asks, check)


@dataclass(frozen=True, slots=True)
class Entry:
    """One history with what must be said next."""

    raw: Mapping[str, Json]
    truth: tuple[Json, ...]
    """Alternatives; for Special, just one."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Entries that count as one: the turns of a conversation, or a single one."""

    id: str
    category: str
    entries: tuple[Entry, ...]


class AceBench:
    """The suite."""

    name = "acebench"
    labels: Mapping[str, str] = {}
    decoding = Decoding(temperature=0.7, max_tokens=16_384, max_turns=8)

    def __init__(
        self,
        categories: tuple[str, ...],
        dialogues: Sequence[Dialogue],
        asks: Mapping[str, str],
        check: Any,
    ) -> None:
        self._asks, self._check = asks, check
        self.settings: Mapping[str, Json] = {"language": "en", "categories": list(categories)}
        rows = [[d for d in dialogues if d.category == c] for c in categories]
        most = max((len(row) for row in rows), default=0)
        mixed = [row[i] for i in range(most) for row in rows if i < len(row)]
        self._dialogues = {each.id: each for each in mixed}
        known = [[e.raw, list(e.truth)] for d in dialogues for e in d.entries]
        self._digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def version(self) -> str:
        """Ours; a checkout has no version, so its data stand for it."""
        return f"acebench {self._digest} + {_OURS}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks, categories taking turns; the turns of a conversation are one."""
        return [Task(d.id, d.category, {"turns": len(d.entries)}) for d in self._dialogues.values()]

    def open(self, task: Task, *, seed: int) -> PlainSession:
        """Begin an attempt; the seed changes nothing."""
        return PlainSession(self._dialogues[task.id], self._asks, self._check)

    def close(self) -> None:
        """Nothing is held."""


class PlainSession:
    """One attempt: each turn of a conversation is asked anew, with the history that was written."""

    def __init__(self, dialogue: Dialogue, asks: Mapping[str, str], check: Any) -> None:
        self._dialogue, self._asks, self._check = dialogue, asks, check
        self._errors: list[str] = []
        self._messages: list[Message] = []
        self._ask()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that was asked and said; each turn begins with a system message."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether every turn has a reply."""
        return len(self._errors) == len(self._dialogue.entries)

    def reply(self, said: Said) -> None:
        """Take the reply to the turn that was asked last."""
        if self.done:
            return
        self._messages.append(Message("assistant", said))
        entry, category = self._dialogue.entries[len(self._errors)], self._dialogue.category
        if category in SPECIAL:
            self._errors.append(special_error(said, category, entry.truth[0]))
        else:
            self._errors.append(self._normal_error(said, entry))
        if not self.done:
            self._ask()

    def score(self) -> Score:
        """Return the part of the turns that are right; all of them are a success."""
        right = sum(not each for each in self._errors)
        wrong = [each for each in self._errors if each]
        whole = len(self._dialogue.entries)
        detail = {"error": wrong[0]} if wrong else {}
        return Score(value=right / whole, success=right == whole, detail=detail)

    def reference(self) -> Said | None:
        """Return the calls, or the sentence, that the answers want."""
        if self.done:
            return None
        truth = self._dialogue.entries[len(self._errors)].truth[0]
        if self._dialogue.category in SPECIAL:
            return special_answer(self._dialogue.category, truth)
        calls = (Call(_NUMBERED.sub("", name), given) for name, given in truth.items())
        return f"[{', '.join(told(call) for call in calls)}]"

    def random(self, rng: Random) -> Said:
        """Return a random call, or, for Special, a sentence of one of the three forms by chance."""
        entry = self._dialogue.entries[min(len(self._errors), len(self._dialogue.entries) - 1)]
        call = random_call(entry.raw["function"], rng)
        if self._dialogue.category not in SPECIAL or not (form := rng.randrange(4)):
            return f"[{told(call)}]"
        names = [*call.keywords] or [call.name]
        return (
            special_answer("incomplete", {call.name: [rng.choice(names)]}),
            special_answer("error_param", {rng.choice(names): ["42"]}),
            _SURRENDER,
        )[form - 1]

    def close(self) -> None:
        """Nothing is held."""

    def _ask(self) -> None:
        entry = self._dialogue.entries[len(self._errors)]
        kind = {"preference": "PREFERENCE"}.get(self._dialogue.category, "NORMAL")
        if self._dialogue.category in SPECIAL:
            kind = "SPECIAL"
        raw = entry.raw
        system = self._asks[kind].format(
            time=raw.get("time", ""), profile=raw.get("profile", ""), function=raw["function"]
        )
        question = self._asks["user"].format(question=raw["question"])
        self._messages += [Message("system", system), Message("user", question)]

    def _normal_error(self, said: Said, entry: Entry) -> str:
        """Return why calls are not among the alternatives; nothing if they are.

        Source: `normal_single_turn_eval` and `normal_multi_turn_eval` of `eval_main.py`: the first
        outermost brackets count, or, in a conversation, the whole reply without its blanks.
        """
        turns = self._dialogue.category.startswith("multi_turn")
        text = "".join(said.split()) if turns else outermost(said)
        calls = parse_calls(text, quote=True) if text.startswith("[") else None
        if not isinstance(calls, tuple) or any(call.refused for call in calls):
            return "wrong_output_format"
        errors = [self._differs(calls, entry, truth) for truth in entry.truth]
        return "" if "" in errors else errors[0]

    def _differs(self, calls: Sequence[Call], entry: Entry, truth: Json) -> str:
        given = [{call.name: dict(call.keywords)} for call in calls]
        wanted, asked = copy.deepcopy(truth), str(entry.raw["question"])
        category = f"normal_{self._dialogue.category}"
        try:
            found = self._check(entry.raw["function"], given, wanted, asked, category)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as bad:
            # It takes values apart by the documented type: another shape is a wrong one.
            return f"checker:{type(bad).__name__}"
        return "" if found["valid"] else str(found.get("error_type") or "wrong")


def outermost(text: str) -> str:
    """Return the first outermost brackets of a text with what is in them; nothing without any."""
    begin, depth = -1, 0
    for place, letter in enumerate(text):
        if letter == "[":
            begin, depth = (place, 1) if depth == 0 else (begin, depth + 1)
        elif letter == "]":
            depth -= 1
            if depth == 0 and begin >= 0:
                return text[begin : place + 1]
    return ""


def special_error(said: Said, category: str, truth: Json) -> str:
    """Return why a reply does not name the problem; nothing if it does.

    Source: `special_eval` of `eval_main.py`: all names must stand somewhere in the reply.
    """
    phrase = {"incomplete": _MISSING, "error_param": _INCORRECT, "irrelevant": _BEYOND}[category]
    if phrase not in said:
        return "error_detection"
    if category == "irrelevant":
        return ""
    names = [str(each) for values in truth.values() for each in values]
    names += [str(name) for name in truth] if category == "incomplete" else []
    return "" if all(name in said for name in names) else "error_correction"


def special_answer(category: str, truth: Json) -> Said:
    """Return the sentence that the prompt of Special asks for."""
    if category == "irrelevant":
        return _SURRENDER
    if category == "incomplete":
        parts = [f"{_MISSING} ({', '.join(v)}) for the api ({k})" for k, v in truth.items()]
    else:
        parts = [
            f"{_INCORRECT} ({', '.join(v)}) for the parameters ({k}) in the conversation history."
            for k, v in truth.items()
        ]
    return f'["{" ".join(parts)}"]'


def _dialogues(home: Path, category: str) -> list[Dialogue]:
    part = "special" if category in SPECIAL else "normal"
    data, name = home / "data_all" / "data_en", f"data_{part}_{category}.json"
    answers = {line["id"]: line["ground_truth"] for line in lines(data / "possible_answer" / name)}
    found: dict[str, list[Entry]] = {}
    for raw in lines(data / name):
        truth = answers[raw["id"]]
        entry = Entry(raw, tuple(truth) if isinstance(truth, list) else (truth,))
        turns = category.startswith("multi_turn")
        found.setdefault(raw["id"].rsplit("_", 1)[0] if turns else raw["id"], []).append(entry)
    return [Dialogue(key, category, tuple(entries)) for key, entries in found.items()]
