"""BFCL v4, multi-turn: the data, backends and checker of the `bfcl-eval` wheel, without its `eval`.

The upstream package is needed lean: `pip install --no-deps bfcl-eval "mpmath<1.4"`; of its modules
only constants, backends, executor and checker are imported. The executor evaluates strings, so it
only ever sees `calls.rendered` ones whose name is a public method of an involved class.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message
from spade_train.suites.base import Decoding, Said, Score, Task
from spade_train.suites.calls import Call, as_reply, parse_calls, random_call, rendered
from spade_train.suites.questions import listed

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
_OURS = 1
_STEP_LIMIT = 20
"""Steps in a turn; one more ends the attempt. Source: `MAXIMUM_STEP_LIMIT` upstream."""
_HINT = " Note that the provided function is in Python 3 syntax."
_REFUSED = "refused()"
"""Stands for a call that is not let through; no such name exists where it is evaluated."""
_BOUNDED = {"power": "exponent", "logarithm": "precision", "square_root": "precision"}
_LARGEST = 1000
_FINISHED = "That is all for this turn."
_STRIDE = 37
"""Walks through the 200 tasks of a category so that a beginning holds all of its domains."""


def suite(*, categories: Sequence[str] | str = CATEGORIES) -> BfclMultiTurn:
    """Return the multi-turn categories of BFCL v4.

    Args:
        categories: some of `CATEGORIES`, or their names with commas between them.

    Raises:
        ConfigError: no such category.
    """
    named = listed(categories, "categories")
    chosen = tuple(each.strip() for each in named)
    if not chosen or (unknown := set(chosen) - set(CATEGORIES)):
        told = ", ".join(sorted(unknown)) if chosen else "none"
        raise ConfigError(f"BFCL category {told}: known are {', '.join(CATEGORIES)}")
    return BfclMultiTurn(chosen)


@dataclass(frozen=True, slots=True)
class Entry:
    """One task as upstream has it, with its function descriptions."""

    raw: Mapping[str, Json]
    turns: tuple[tuple[str, ...], ...]
    """Ground truth: calls of each turn."""
    functions: tuple[Mapping[str, Json], ...]
    held_back: Mapping[int, tuple[Mapping[str, Json], ...]]
    """Descriptions that are shown at a later turn only."""

    @property
    def id(self) -> str:
        """Such as `multi_turn_base_0`."""
        return str(self.raw["id"])

    @property
    def category(self) -> str:
        """One of `CATEGORIES`."""
        return self.id.removeprefix("multi_turn_").rsplit("_", 1)[0]


class BfclMultiTurn:
    """The suite; sessions of one suite never share state."""

    name = "bfcl-multi-turn"
    labels: Mapping[str, str] = {}
    decoding = Decoding(temperature=0.0, max_tokens=4096, max_turns=200)

    def __init__(self, categories: tuple[str, ...]) -> None:
        self.settings: Mapping[str, Json] = {
            "categories": list(categories),
            "prompt": "upstream default for prompted models",
            "steps": _STEP_LIMIT,
        }
        self._backend = Backend()
        found = {c: _entries(home(), c) for c in categories}
        mixed = [found[c][i] for i in order(found) for c in categories if i < len(found[c])]
        self._entries = {entry.id: entry for entry in mixed}
        self._opened = 0

    @property
    def version(self) -> str:
        """Version of the wheel and our own."""
        return f"bfcl-eval {importlib.metadata.version('bfcl-eval')} + {_OURS}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks, categories taking turns."""
        return [
            Task(e.id, e.category, {"turns": len(e.turns), "classes": e.raw["involved_classes"]})
            for e in self._entries.values()
        ]

    def open(self, task: Task, *, seed: int) -> BfclSession:
        """Begin an attempt; the seed changes nothing."""
        self._opened += 1
        run = f"spade{self._opened}"
        return BfclSession(self._entries[task.id], self._backend, run)

    def close(self) -> None:
        """Forget the state of all sessions."""
        self._backend.forget("spade")


class Backend:
    """Upstream's executor and checker, which keep instances as module globals by run name."""

    def __init__(self) -> None:
        package = "bfcl_eval.eval_checker.multi_turn_eval"
        self._executor: ModuleType = importlib.import_module(f"{package}.multi_turn_utils")
        self._checker: ModuleType = importlib.import_module(f"{package}.multi_turn_checker")
        self.prompts: ModuleType = importlib.import_module("bfcl_eval.constants.default_prompts")

    def execute(self, calls: Sequence[str], entry: Entry, run: str) -> list[str]:
        """Return what rendered calls give, one text each."""
        results, _ = self._executor.execute_multi_turn_func_call(
            list(calls),
            entry.raw["initial_config"],
            entry.raw["involved_classes"],
            run,
            entry.id,
            long_context=entry.category == "long_context",
        )
        return [str(each) for each in results]

    def methods(self, entry: Entry, run: str) -> dict[str, Any]:
        """Return the public methods of the involved classes, by name."""
        _, instances = self._executor.execute_multi_turn_func_call(
            [],
            entry.raw["initial_config"],
            entry.raw["involved_classes"],
            run,
            entry.id,
            long_context=entry.category == "long_context",
        )
        return {
            name: method
            for instance in instances.values()
            for name, method in inspect.getmembers(instance, inspect.ismethod)
            if not name.startswith("_")
        }

    def check(self, turns: Sequence[Sequence[Sequence[str]]], entry: Entry, run: str) -> Json:
        """Return upstream's verdict on the calls, by turn and step."""
        truth = [list(calls) for calls in entry.turns]
        decoded = [[list(step) for step in turn] for turn in turns]
        raw = dict(entry.raw)
        return self._checker.multi_turn_checker(decoded, truth, raw, entry.category, run)

    def forget(self, run: str) -> None:
        """Drop the instances of a run, so that no other can find them."""
        held = vars(self._executor)
        for name in [n for n in held if n.startswith(run) and n.endswith("_instance")]:
            del held[name]


class BfclSession:
    """One attempt; a turn ends with a reply that is no call."""

    def __init__(self, entry: Entry, backend: Backend, run: str) -> None:
        self._entry, self._backend, self._run = entry, backend, run
        self._methods = backend.methods(entry, f"{run}_play")
        self._turns: list[list[list[str]]] = []
        self._steps = self._refused = 0
        self._forced = False
        self._messages = [Message("system", system_prompt(backend.prompts, entry.functions))]
        self._begin_turn()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, in the roles that upstream gives prompted models."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether all turns are over, or one took too many steps."""
        return self._forced or len(self._turns) > len(self._entry.turns)

    def reply(self, said: Said) -> None:
        """Take calls, or whatever else ends the turn."""
        if self.done:
            return
        self._messages.append(Message("assistant", said))
        calls = parse_calls(said)
        if not isinstance(calls, tuple) or not calls:
            self._begin_turn()
            return
        safe = [self._let_through(call) for call in calls]
        results = self._backend.execute(safe, self._entry, f"{self._run}_play")
        told = [
            {"role": "tool", "name": shown, "content": result}
            for shown, result in self._told(calls, safe, results)
        ]
        self._messages.append(Message("user", repr(told)))
        self._turns[-1].append(safe)
        self._steps += 1
        self._forced = self._steps > _STEP_LIMIT

    def score(self) -> Score:
        """Return 1 if state and results are those of the ground truth after every turn."""
        turns = len(self._entry.turns)
        played = self._turns[:turns]
        refused = {"refused": self._refused} if self._refused else {}
        if self._forced or not self.done:
            why = "multi_turn:force_terminated"
            return Score(value=0.0, success=False, detail={"error": why} | refused)
        self._backend.forget(f"{self._run}_check")
        verdict = self._backend.check(played, self._entry, f"{self._run}_check")
        self._backend.forget(f"{self._run}_check")
        detail = {} if verdict["valid"] else {"error": str(verdict.get("error_type", ""))}
        passed = bool(verdict["valid"])
        return Score(value=float(passed), success=passed, detail=detail | refused)

    def reference(self) -> Said | None:
        """Return the ground truth of the turn in one reply, then the end of the turn."""
        if self.done:
            return None
        truth = self._entry.turns[len(self._turns) - 1]
        if self._steps or not truth:
            return _FINISHED
        return as_reply(self._named(each) for text in truth for each in _parsed(text))

    def random(self, rng: Random) -> Said:
        """Return a random call, or by chance the end of the turn."""
        if self._steps and rng.random() < 0.5:
            return _FINISHED
        return as_reply([random_call(self._entry.functions, rng)])

    def close(self) -> None:
        """Drop the state."""
        self._backend.forget(f"{self._run}_")

    def _begin_turn(self) -> None:
        """Ask what comes next, if anything does."""
        turn = len(self._turns)
        self._turns.append([])
        self._steps = 0
        if turn >= len(self._entry.turns):
            return
        asked = [Message(m["role"], m["content"]) for m in self._entry.raw["question"][turn]]
        if shown := self._entry.held_back.get(turn):
            text = self._backend.prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING
            asked = [Message("user", text.format(functions=[dict(each) for each in shown]))]
        self._messages += asked

    def _let_through(self, call: Call) -> str:
        """Return text that is safe to evaluate.

        Arguments without a name are dropped, as they are upstream.
        """
        if call.refused is None and call.name in self._methods and not _endless(call):
            return rendered(Call(call.name, call.keywords))
        self._refused += 1
        return _REFUSED

    def _told(
        self, calls: Sequence[Call], safe: Sequence[str], results: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        for call, text, result in zip(calls, safe, results, strict=True):
            if text != _REFUSED:
                yield text, result
            else:
                why = call.refused or _endless(call) or f"name '{call.name}' is not defined"
                yield f"{call.name}(...)", f"Error during execution: {why}"

    def _named(self, call: Call) -> Call:
        """Return the call with a name before every argument."""
        bound = inspect.signature(self._methods[call.name]).bind(*call.positional, **call.keywords)
        return Call(call.name, bound.arguments)


def system_prompt(prompts: ModuleType, functions: Sequence[Mapping[str, Json]]) -> str:
    """Return upstream's default prompt for models that write calls as text.

    Source: `DEFAULT_SYSTEM_PROMPT_FORMAT` of bfcl-eval: Python calls, JSON descriptions, plain
    text, no tags.
    """
    style = prompts.PROMPT_STYLE_TEMPLATES["classic"]
    how = style["tool_call_no_tag"].format(
        output_format=prompts.OUTPUT_FORMAT_MAPPING["python"],
        param_types=prompts.PARAM_TYPE_MAPPING["python"],
    )
    described = json.dumps([dict(each) for each in functions], indent=4)
    tools = style["available_tools"].format(format="json", functions=described)
    filled: str = prompts.PROMPT_TEMPLATE_MAPPING["plaintext"].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=how,
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=tools,
    )
    return filled


def _endless(call: Call) -> str | None:
    """Return why a call is not made: big integers would keep the calculator busy for ever."""
    name = _BOUNDED.get(call.name)
    value = call.keywords.get(name) if name else None
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        return f"{name} is out of bounds"
    return None


def home() -> Path:
    """Return where the package lies, without importing what it does at import.

    Raises:
        ConfigError: it is not installed.
    """
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or not found.submodule_search_locations:
        raise ConfigError(
            "bfcl_eval is not installed; pip install --no-deps bfcl-eval 'mpmath<1.4'"
        )
    return Path(found.submodule_search_locations[0])


def _entries(home: Path, category: str) -> list[Entry]:
    data, name = home / "data", f"BFCL_v4_multi_turn_{category}.json"
    documents = importlib.import_module("bfcl_eval.constants.executable_backend_config")
    files: Mapping[str, str] = documents.MULTI_TURN_FUNC_DOC_FILE_MAPPING
    described = {c: lines(data / "multi_turn_func_doc" / file) for c, file in files.items()}
    truths = {line["id"]: line["ground_truth"] for line in lines(data / "possible_answer" / name)}
    return [_entry(raw, truths[raw["id"]], described) for raw in lines(data / name)]


def _entry(
    raw: Json, truth: Sequence[Sequence[str]], described: Mapping[str, Sequence[Json]]
) -> Entry:
    functions = [each for involved in raw["involved_classes"] for each in described[involved]]
    late: dict[int, tuple[Mapping[str, Json], ...]] = {}
    for turn, names in (raw.get("missed_function") or {}).items():
        late[int(turn)] = tuple(f for f in functions if f["name"] in names)
        functions = [f for f in functions if f["name"] not in names]
    shown = tuple({**f, "description": f["description"] + _HINT} for f in functions)
    return Entry(raw, tuple(tuple(calls) for calls in truth), shown, late)


def lines(path: Path) -> list[Json]:
    """Return the lines of a file of upstream's.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def order(found: Mapping[str, Sequence[object]]) -> list[int]:
    """Return the places of tasks in their category, domains well mixed."""
    most = max(len(entries) for entries in found.values())
    walked = {(i * _STRIDE) % most: None for i in range(most)}
    return [*walked, *(i for i in range(most) if i not in walked)]


def _parsed(text: str) -> tuple[Call, ...]:
    calls = parse_calls(text)
    return calls if isinstance(calls, tuple) else ()
