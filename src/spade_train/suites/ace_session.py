"""One conversation of ACEBench's agent part: agent, tools and, in `multi_turn`, a user."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from spade_envs.types import Json, Message
from spade_train.suites.base import Said, Score
from spade_train.suites.calls import Call, as_reply, parse_calls, random_call
from spade_train.suites.users import ModelUser

if TYPE_CHECKING:
    from spade_train.suites.acebench import Checkout, Entry

MAX_MESSAGES = 40
"""Of one attempt, whoever sends them. Source: `max_dialog_turns`."""
END = "finish conversation"
_NO_CALL = "Please do not ask me any questions, use the known conditions to solve the problem"
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")


class AceSession:
    """One attempt.

    The history, which upstream pastes into one prompt, is a chat here: what tools give and what
    the user says are messages of the user.
    """

    def __init__(self, entry: Entry, checkout: Checkout, user: ModelUser | None, seed: int) -> None:
        self._entry, self._checkout, self._seed = entry, checkout, seed
        self._instances = checkout.instances(entry)
        self._methods = methods_of(self._instances)
        self._index = 0
        self._done = self._acted = False
        self._process: list[str] = []
        self._user = _User(user, entry, checkout, seed) if entry.kind == "multi_turn" else None
        self._plan: list[Said] | None = None
        self._replies = 0
        asked = checkout.asked[entry.kind]
        first = self._user.opening() if self._user else str(entry.raw["question"])
        prompt = str(asked["MULTI_TURN_AGENT_PROMPT_USER_EN"]).format(
            functions=entry.raw["function"], history=f"user:{first}\n"
        )
        self._messages = [Message("system", _system(entry, checkout)), Message("user", prompt)]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._messages)

    @property
    def done(self) -> bool:
        """Whether somebody finished it, or the messages are used up."""
        return self._done

    def reply(self, said: Said) -> None:
        """Take a call, a message to the user, or the end."""
        if self._done:
            return
        self._replies += 1
        self._messages.append(Message("assistant", said))
        self._count(said)
        if self._done:
            return
        calls = parse_calls(said)
        readable = isinstance(calls, tuple) and bool(calls)
        if self._user is not None and not (readable and bracketed(said)):
            answer = self._user.answer(said)
            self._messages.append(Message("user", answer))
            self._count(answer)
            return
        self._process.append(said)
        told = str(self._execute(calls)) if isinstance(calls, tuple) and calls else _NO_CALL
        self._messages.append(Message("user", f"execution result: {told}"))
        self._count("")

    def score(self) -> Score:
        """Return 1 if the end state is the wanted one; how far the way was followed is a detail."""
        state = self._checkout.state(self._instances) if self._acted else []
        passed = self._checkout.matches(state, self._entry)
        followed = 1.0 if passed else max(followed_part(w, self._process) for w in self._ways())
        detail = {"process": round(followed, 3)}
        return Score(value=float(passed), success=passed, detail=detail)

    def reference(self) -> Said | None:
        """Return the next step of the solution that comes with the task, then the end."""
        if self._done:
            return None
        if self._plan is None:
            self._plan = self._best_way()
        return self._plan[self._replies] if self._replies < len(self._plan) else END

    def random(self, rng: Random) -> Said:
        """Return a random call, or by chance the end."""
        if rng.random() < 0.2:
            return END
        return as_reply([random_call(self._entry.raw["function"], rng)])

    def close(self) -> None:
        """Nothing is held."""

    def _count(self, message: str) -> None:
        self._done = (self._index > 1 and END in message) or self._index + 1 >= MAX_MESSAGES
        self._index += 1

    def _ways(self) -> list[list[tuple[Call, ...]]]:
        return [[read_step(step) for step in way] for way in self._entry.ways]

    def _best_way(self) -> list[Said]:
        """Return the first way that leads to the end state; the first of all if none does."""
        ways = [[step for step in way if step] for way in self._ways()]
        for way in ways:
            instances = self._checkout.instances(self._entry)
            found = methods_of(instances)
            for step in way:
                _run(found, step, stop=self._user is not None)
            if self._checkout.matches(self._checkout.state(instances), self._entry):
                return [as_reply(step) for step in way]
        return [as_reply(step) for step in ways[0]]

    def _execute(self, calls: Sequence[Call]) -> list[Json]:
        self._acted = True
        if self._user is not None:
            self._user.acted()
        return _run(self._methods, calls, stop=self._user is not None)


class _User:
    """A script that has said all it knows, or a model with upstream's prompt."""

    def __init__(
        self, model: ModelUser | None, entry: Entry, checkout: Checkout, seed: int
    ) -> None:
        self._model, self._seed, self._question = model, seed, str(entry.raw["question"])
        kind = "BASE" if "BaseApi" in entry.raw["involved_classes"] else "TRAVEL"
        system = str(checkout.user[f"SYSTEM_PROMPT_{kind}_EN"]).format(instruction=self._question)
        self._messages = [Message("system", system)]
        self._pressed = False

    def opening(self) -> str:
        """Return what the user begins with."""
        if self._model is None:
            return self._question
        return self._ask("Is there anything you need help with today?")

    def answer(self, said: str) -> str:
        """Return what the user says to a message; a script ends at the second in a row."""
        if self._model is not None:
            return self._ask(said)
        if self._pressed:
            return END
        self._pressed = True
        return "I have told you all that I know. Please do it."

    def acted(self) -> None:
        """Note that the agent did something between two messages."""
        self._pressed = False

    def _ask(self, told: str) -> str:
        assert self._model is not None
        self._messages.append(Message("user", told))
        text = self._model.answer(self._messages, seed=self._seed)
        self._messages.append(Message("assistant", text))
        return text


def bracketed(said: Said) -> bool:
    """Whether a line has brackets that open before the last one that closes."""
    return any(0 <= line.find("[") < line.rfind("]") for line in said.split("\n"))


def followed_part(way: Sequence[tuple[Call, ...]], process: Sequence[str]) -> float:
    """Return the part of a way's steps that were made, in order, in [0, 1].

    Calls are compared as they are read, so quotes and blanks do not matter.
    """
    if not way:
        return 1.0
    made = iter([read_step(said) for said in process])
    count = 0
    for step in way:
        if not any(step == each for each in made):
            break
        count += 1
    return count / len(way)


def methods_of(instances: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the public methods by name; one that classes share acts on all of them."""
    found: dict[str, list[Any]] = {}
    for instance in instances.values():
        for name, method in inspect.getmembers(instance, inspect.ismethod):
            if not name.startswith("_"):
                found.setdefault(name, []).append(method)
    return found


def read_step(text: str) -> tuple[Call, ...]:
    """Return the calls of a step of the solution, whose apostrophes are not escaped upstream."""
    calls = parse_calls(text.strip())
    if not isinstance(calls, tuple):
        calls = parse_calls(_APOSTROPHE.sub(r"\\'", text.strip()))
    return calls if isinstance(calls, tuple) else ()


def _run(methods: Mapping[str, list[Any]], calls: Sequence[Call], *, stop: bool) -> list[Json]:
    """Return what calls give; a name that there is not gives nothing, as upstream.

    Args:
        methods: what may be called.
        calls: in order; arguments without a name are dropped, as upstream.
        stop: whether an error ends it, as upstream does where there is a user.
    """
    results: list[Json] = []
    for call in calls:
        if call.refused is not None:
            results.append(f"Error during execution: {call.refused}")
            continue
        try:
            given = [method(**call.keywords) for method in methods.get(call.name, [])]
        except Exception as error:  # noqa: BLE001  foreign tools raise what they like; it is told
            results.append(f"Error during execution: {error}")
            if stop:
                break
            continue
        results += [_shown(value) for value in given[-1:]]
    return results


def _shown(value: Any) -> Json:
    try:
        text = json.dumps(value) if isinstance(value, dict) else str(value)
        return json.loads(text)
    except (TypeError, ValueError):
        return str(value)


def _system(entry: Entry, checkout: Checkout) -> str:
    text = str(checkout.asked[entry.kind]["MULTI_TURN_AGENT_PROMPT_SYSTEM_EN"])
    if entry.kind == "multi_turn":
        involved = entry.raw["involved_classes"]
        text += str(checkout.rules["TRAVEL"]) if "Travel" in involved else ""
        text += str(checkout.rules["BASE"]) if "BaseApi" in involved else ""
    return text
