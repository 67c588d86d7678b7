"""ACEBench, agent part: tasks, classes and checker of a checkout that the user names.

There is no package and nothing of it is shipped. From the checkout come the data, the classes that
tools act on, the checker of their end state, and the prompts, which are read as constants without
running the modules they stand in. Its executor evaluates what a model wrote; ours does not.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.suites.ace_session import MAX_MESSAGES, AceSession
from spade_train.suites.base import Decoding, Task
from spade_train.suites.users import SCRIPTED, ModelUser, label_of, open_user

KINDS = ("multi_step", "multi_turn")
_OURS = 1
WHAT = "a checkout of the public ACEBench repository (chenchen0103/ACEBench)"


def suite(*, path: str, user: str = SCRIPTED, user_key_file: str | None = None) -> AceBenchAgent:
    """Return the agent part of ACEBench, in English.

    Args:
        path: the checkout.
        user: see `users.SETTINGS`.
        user_key_file: see `users.SETTINGS`.

    Raises:
        ConfigError: the path holds something else, or there is no such user.
    """
    player = open_user(user, user_key_file)
    return AceBenchAgent(Checkout(Path(path)), player)


@dataclass(frozen=True, slots=True)
class Entry:
    """One task as upstream has it, with the end state and the steps that lead to it."""

    kind: str
    raw: Mapping[str, Json]
    truth: tuple[Mapping[str, Json], ...]
    ways: tuple[tuple[str, ...], ...]
    """Alternatives; each a list of replies."""


class Checkout:
    """What is taken from the user's folder.

    Raises:
        ConfigError: a file is missing or has another shape.
    """

    def __init__(self, home: Path) -> None:
        inference = home / "model_inference"
        try:
            self.saved = constants(inference / "apimodel_inference.py")["SAVED_CLASS"]
            mapped = constants(inference / "multi_step" / "multi_step_utils.py")
            self._places: Mapping[str, str] = mapped["CLASS_FILE_PATH_MAPPING_EN"]
            common = constants(inference / "prompt_en.py")
            self.rules = {name: common[f"{name}_PROMPT_EN"] for name in ("BASE", "TRAVEL")}
            self.asked = {
                "multi_step": constants(inference / "multi_step" / "APIModel_agent.py"),
                "multi_turn": constants(inference / "multi_turn" / "APIModel_agent.py"),
            }
            self.user = constants(inference / "multi_turn" / "APIModel_user.py")
            self.entries = [e for kind in KINDS for e in _entries(home, kind)]
        except (OSError, KeyError, ValueError, SyntaxError) as error:
            why = f"{type(error).__name__}: {error}"
            raise ConfigError(f"{home} is not {WHAT}: {why}") from error
        self._check: Any = checker(home).agent_checker

    def instances(self, entry: Entry) -> dict[str, Any]:
        """Return fresh instances of the classes of a task, by name."""
        made: dict[str, Any] = {}
        config = entry.raw["initial_config"]
        for name in entry.raw["involved_classes"]:
            made[name] = getattr(importlib.import_module(self._places[name]), name)()
            for part in (name, "BaseApi"):
                made[name]._load_scenario(copy.deepcopy(config.get(part, {})), long_context=False)
        return made

    def state(self, instances: Mapping[str, Any]) -> list[dict[str, Json]]:
        """Return what is compared in the end, as it comes back from JSON."""
        kept = [
            {name: {k: v for k, v in vars(each).items() if k in self.saved[name]}}
            for name, each in instances.items()
        ]
        plain: list[dict[str, Json]] = json.loads(json.dumps(kept, default=str))
        return plain

    def matches(self, state: Sequence[Mapping[str, Json]], entry: Entry) -> bool:
        """Return upstream's verdict.

        A class of the ground truth that matches none of the state's keeps the verdict of the one
        before it, as upstream. Source: `agent_eval` of `eval_main.py`.
        """
        if len(state) != len(entry.truth):
            return False
        verdict = True
        for wanted in entry.truth:
            found = next((each for each in state if each.keys() == wanted.keys()), None)
            if found is not None:
                verdict = bool(self._check(found, wanted)["valid"])
            if not verdict:
                return False
        return True


class AceBenchAgent:
    """The suite."""

    name = "acebench-agent"
    decoding = Decoding(temperature=0.7, max_tokens=16_384, max_turns=MAX_MESSAGES)

    def __init__(self, checkout: Checkout, user: ModelUser | None) -> None:
        self._checkout, self._user = checkout, user
        self._entries = {str(entry.raw["id"]): entry for entry in checkout.entries}
        self.labels: Mapping[str, str] = label_of(user)
        self.settings: Mapping[str, Json] = {
            "language": "en",
            "messages": MAX_MESSAGES,
            **self.labels,
        }

    @property
    def version(self) -> str:
        """Ours; a checkout has no version, so its data stand for it."""
        return f"acebench {fingerprint(self._checkout.entries)} + {_OURS}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks, the two kinds taking turns."""
        rows = [[Task(i, e.kind) for i, e in self._entries.items() if e.kind == k] for k in KINDS]
        most = max(len(row) for row in rows)
        return [row[i] for i in range(most) for row in rows if i < len(row)]

    def open(self, task: Task, *, seed: int) -> AceSession:
        """Begin an attempt; the seed is that of a model that plays the user."""
        entry = self._entries[task.id]
        return AceSession(entry, self._checkout, self._user, seed)

    def close(self) -> None:
        """Nothing is held."""


def checker(home: Path) -> ModuleType:
    """Return upstream's module of checkers; its modules import one another by absolute names."""
    if str(home) not in sys.path:
        sys.path.insert(0, str(home))
    return importlib.import_module("model_eval.checker")


def constants(path: Path) -> dict[str, Any]:
    """Return the constants that a module assigns at its top, without running it.

    Raises:
        OSError, SyntaxError: it cannot be read.
    """
    found: dict[str, Any] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def fingerprint(entries: Sequence[Entry]) -> str:
    """Return twelve digits that tell one version of the data from another."""
    told = [[e.raw["id"], e.raw["question"], list(e.truth), e.ways] for e in entries]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def _entries(home: Path, kind: str) -> list[Entry]:
    data, name = home / "data_all" / "data_en", f"data_agent_{kind}.json"
    answers = {line["id"]: line for line in lines(data / "possible_answer" / name)}
    return [_entry(kind, raw, answers[raw["id"]]) for raw in lines(data / name)]


def _entry(kind: str, raw: Json, answer: Json) -> Entry:
    truth, stones = answer["ground_truth"], answer["mile_stone"]
    nested = bool(stones) and isinstance(stones[0], list)
    ways = tuple(tuple(way) for way in stones) if nested else (tuple(stones),)
    return Entry(kind, raw, tuple(truth) if isinstance(truth, list) else (truth,), ways)


def lines(path: Path) -> list[Json]:
    """Return the entries of a file.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
