"""One conversation of tau2: agent, user and tools take turns, and the end state is judged."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Protocol

from spade_envs.api.calls import ToolCall, call, parse_calls
from spade_envs.types import Json, Message
from spade_train.suites.base import Said, Score
from spade_train.suites.calls import Call, random_call, rendered
from spade_train.suites.tau2_user import TauUser

GREETING = "Hi! How can I help you today?"
MAX_STEPS, MAX_ERRORS = 200, 10
"""A step is one message on its way: to the user, to a tool, or back. Source: `tau2.config`."""
_CLOSING = "That is all from my side."


class Stage(Protocol):
    """What a session needs of its domain."""

    prompt: str
    functions: list[Mapping[str, Json]]

    def environment(self, solo_mode: bool = False) -> Any:
        """Return a fresh environment."""
        ...


class TauSession:
    """One attempt."""

    def __init__(self, stage: Stage, task: Any, user: TauUser) -> None:
        self._stage, self._task, self._user = stage, task, user
        self._kinds: Any = importlib.import_module("tau2.data_model.message")
        self._env = stage.environment()
        state = task.initial_state
        self._env.set_state(
            state.initialization_data if state else None,
            state.initialization_actions if state else None,
            [],
        )
        self._played: list[Any] = []
        self._steps = self._errors = self._replies = self._calls = 0
        self._end = ""
        self._plan = _plan(task)
        self._messages = [Message("system", stage.prompt), Message("assistant", GREETING)]
        self._tell_user(GREETING)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as the agent knows it."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether the user ended it, or it took too many steps or errors."""
        return bool(self._end)

    def reply(self, said: Said) -> None:
        """Take calls, or else a message to the user."""
        if self.done:
            return
        self._replies += 1
        self._messages.append(Message("assistant", said))
        found = parse_calls(said)
        if found:
            self._use_tools(found)
        else:
            self._tell_user(said)
        if not self.done and self._steps >= MAX_STEPS:
            self._end = "max_steps"
        if not self.done and self._errors >= MAX_ERRORS:
            self._end = "too_many_errors"

    def score(self) -> Score:
        """Return the product of the rewards that the task is judged by; 0 if it was broken off."""
        if self._end != "user_stop":
            return Score(value=0.0, success=False, detail={"end": self._end or "broken off"})
        parts = self._judged()
        value = 1.0
        for name in sorted({str(each.value) for each in self._basis()}):
            value *= parts[name]
        detail: dict[str, Json] = {"end": self._end, **parts}
        return Score(value=value, success=value > 1 - 1e-6, detail=detail)

    def reference(self) -> Said | None:
        """Return the next action of the benchmark's own solution, then what is to be told."""
        if self.done:
            return None
        return self._plan[self._replies] if self._replies < len(self._plan) else _CLOSING

    def random(self, rng: Random) -> Said:
        """Return a random call, or by chance a message."""
        if rng.random() < 0.3:
            return _CLOSING
        chosen = random_call(self._stage.functions, rng)
        return call(chosen.name, **chosen.keywords)

    def close(self) -> None:
        """Nothing is held."""

    def _basis(self) -> list[Any]:
        criteria = self._task.evaluation_criteria
        return list(criteria.reward_basis) if criteria is not None else []

    def _judged(self) -> dict[str, float]:
        """Return each reward by its name, from upstream's evaluators."""

        def judge(name: str) -> Any:
            module = importlib.import_module(f"tau2.evaluator.evaluator_{name}")
            wanted = {"env": "EnvironmentEvaluator"}.get(name, f"{name.title()}Evaluator")
            return getattr(module, wanted)

        task, played = self._task, self._played
        state = judge("env").calculate_reward(self._stage.environment, task, played)
        checks = state.env_assertions or []
        return {
            "DB": float(state.db_check.db_reward if state.db_check else 1.0),
            "ENV_ASSERTION": float(all(check.met for check in checks)),
            "ACTION": float(judge("action").calculate_reward(task, played).reward),
            "COMMUNICATE": float(judge("communicate").calculate_reward(task, played).reward),
        }

    def _use_tools(self, found: Sequence[ToolCall]) -> None:
        results = self._execute(found, "assistant")
        told = "\n".join(f"<tool_response>{each}</tool_response>" for each in results)
        self._messages.append(Message("user", told))

    def _tell_user(self, text: str) -> None:
        kinds = self._kinds
        self._played.append(kinds.AssistantMessage(role="assistant", content=text))
        act = self._user.hear(text)
        while act.calls and self._steps < MAX_STEPS:
            act = self._user.see(self._execute(act.calls, "user"))
        self._steps += 2
        said = act.text or "(no answer)"
        self._played.append(kinds.UserMessage(role="user", content=said))
        if act.ends:
            self._end = "user_stop"
        else:
            self._messages.append(Message("user", said))

    def _execute(self, found: Sequence[ToolCall], who: str) -> list[str]:
        """Return the results in order; what cannot be read or is not allowed is an error."""
        self._steps += 2
        kinds, made, given, results = self._kinds, [], [], []
        for each in found:
            reason = each.error or _forbidden(each)
            if reason is not None:
                self._errors += 1
                results.append(f"Error: {reason}")
                continue
            self._calls += 1
            made.append(
                kinds.ToolCall(
                    id=f"call_{self._calls}",
                    name=each.name,
                    arguments=dict(each.arguments),
                    requestor=who,
                )
            )
            given.append(self._env.get_response(made[-1]))
            self._errors += bool(given[-1].error)
            results.append(str(given[-1].content))
        if made:
            kind = kinds.AssistantMessage if who == "assistant" else kinds.UserMessage
            self._played += [kind(role=who, content=None, tool_calls=made), *given]
        return results


def _forbidden(each: ToolCall) -> str | None:
    """Return why a call is not made: the calculator upstream evaluates powers without a bound."""
    expression = each.arguments.get("expression", "")
    if each.name == "calculate" and "**" in str(expression):
        return "powers cannot be calculated"
    return None


def _plan(task: Any) -> list[Said]:
    """Return what the solution that comes with a task says, in order."""
    criteria = task.evaluation_criteria
    plan: list[Said] = []
    for action in (criteria.actions if criteria else None) or []:
        if action.requestor == "user":
            plan.append(f"Please do this: {rendered(Call(action.name, action.arguments))}")
        else:
            plan.append(call(action.name, **action.arguments))
    if told := (criteria.communicate_info if criteria else None):
        plan.append(f"This is what I found: {'; '.join(told)}.")
    return plan
