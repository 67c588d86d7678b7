"""`Worker`: many instances of one source, whatever happens to the process that holds them.

A process that hangs, dies or lies is killed. The instance it was running gets a fault; all others
are rebuilt from their seed and actions in a fresh process, when they are next used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from spade_envs.sandbox.channel import Broken
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.keeper import Keeper
from spade_envs.sandbox.outcomes import (
    Op,
    accept_resets,
    accept_steps,
    faulted,
    renamed,
)
from spade_envs.sandbox.process import WorkerProcess
from spade_envs.sandbox.protocol import Ask, Create, Discard, Probe, Reset, Step
from spade_envs.types import (
    Fault,
    Json,
    ResetOutcome,
    StepBatch,
    StepOutcome,
)

T = TypeVar("T")

MAX_KILLS = 8
"""Processes that one batch may cost before the rest of it is given up."""
_DISCARD_TOGETHER = 64
RECYCLE_AFTER_STEPS = 2_000_000
"""A process is replaced after about this many steps, at the next reset."""


class Worker(Keeper):
    """One loaded source; made by `Sandbox.load`. A context manager; safe to share by threads."""

    most_kills: int = MAX_KILLS
    """Processes that one batch may cost before the rest of it is given up, >= 1."""

    def create(self, level: int = 0) -> int | Fault:
        """Construct an instance and return its number, or the fault that prevented it."""
        with self._lock:
            number = self._next_number
            self._next_number += 1
            answer = self._value("create", lambda i: Create(i, number, level))
            if isinstance(answer, Fault):
                return answer
            self._instances[number] = Instance(level, self._generation)
            return number

    def create_many(self, levels: Sequence[int]) -> list[int | Fault]:
        """Construct one instance of each level; quicker than one by one."""
        with self._lock:
            first = self._next_number
            asked: list[tuple[int, int]] = list(enumerate(levels, start=first))
            made = self._values("create", [partial(Create, instance=n, level=v) for n, v in asked])
            if made is None:
                return _until_timeout([partial(self.create, level) for level in levels])
            self._next_number += len(asked)
            for (number, level), answer in zip(asked, made, strict=True):
                if not isinstance(answer, Fault):
                    self._instances[number] = Instance(level, self._generation)
            numbers = [number for number, _ in asked]
            return [
                answer if isinstance(answer, Fault) else number
                for number, answer in zip(numbers, made, strict=True)
            ]

    def reset(
        self, requests: Sequence[tuple[int, int | None, Mapping[str, Json] | None]]
    ) -> list[ResetOutcome]:
        """Start an episode in each `(instance, seed, options)`.

        Seeds are in [0, 2**63) or None, which continues the instance's own sequence of seeds.

        Raises:
            ValueError: an instance is unknown or asked for twice, or a seed is out of range.
        """
        with self._lock:
            items: list[tuple[int, int, dict[str, Any] | None]] = []
            numbers = [number for number, _, _ in requests]
            instances = self._known(numbers)
            if any(seed is not None and not 0 <= seed < 1 << 63 for _, seed, _ in requests):
                raise ValueError("a seed must be in [0, 2**63)")
            if self._steps > RECYCLE_AFTER_STEPS:
                self.recycle()
            for instance, (number, seed, options) in zip(instances, requests, strict=True):
                instance.playing = False
                given = None if options is None else dict(options)
                items.append((number, instance.next_seed(seed), given))
            outcomes: list[Any] = [None] * len(items)

            def exchange(process: WorkerProcess, left: list[int]) -> None:
                self._exchange_resets(process, left, items, instances, outcomes)

            before = self._generation if self.alive else -1
            self._batch("reset", numbers, instances, outcomes, exchange)
            starved = [row for row, got in enumerate(outcomes) if _out_of_memory(got)]
            if starved and self._generation == before:
                # What earlier episodes left behind may be to blame: ask again in a fresh process.
                self._kill()
                for row in starved:
                    outcomes[row] = None
                self._batch("reset", numbers, instances, outcomes, exchange)
            return outcomes

    def step(self, requests: Sequence[tuple[int, str]]) -> list[StepOutcome]:
        """Take one step in each `(instance, action)`.

        An instance without a running episode, or an action over the limit, gets a `contract`
        fault and is left as it is.

        Raises:
            ValueError: an instance is unknown or asked for twice.
        """
        numbers = [number for number, _ in requests]
        return self.step_batch(numbers, [action for _, action in requests]).outcomes()

    def step_batch(self, numbers: Sequence[int], actions: Sequence[str]) -> StepBatch:
        """Take one step in each instance, as `step` does; the quickest way to drive many.

        Args:
            numbers: the instances, `[N]`.
            actions: what each is told, `[N]`.

        Raises:
            ValueError: an instance is unknown or asked for twice, or the lengths differ.
        """
        with self._lock:
            instances = self._known(numbers)
            if len(actions) != len(numbers):
                raise ValueError(f"{len(actions)} actions for {len(numbers)} instances")
            if not numbers:
                return StepBatch([], [], {})
            answers: list[Any] = [None] * len(numbers)
            rewards = [0.0] * len(numbers)
            sent = self._refuse(actions, instances, answers)
            plain = False

            def exchange(process: WorkerProcess, left: list[int]) -> None:
                nonlocal plain
                plain = self._exchange_steps(
                    process, left, numbers, sent, instances, answers, rewards
                )

            self._batch("step", numbers, instances, answers, exchange)
            self._steps += len(numbers)
            return StepBatch(answers, rewards, {}) if plain else _batch_of(answers, rewards)

    def hint(self, number: int) -> str | Fault:
        """Return the privileged hint for the current episode of an instance."""
        return _text(self._about("hint", number, lambda i: Ask(i, number, "hint")))

    def solution(self, number: int) -> list[str] | Fault:
        """Return the actions that win the current episode of an instance from here."""
        return _texts(self._about("solution", number, lambda i: Ask(i, number, "solution")))

    def solutions(self, numbers: Sequence[int]) -> list[list[str] | Fault]:
        """Return the solution of each of the instances; quicker than one by one."""
        with self._lock:
            answers = self._asked(numbers, "solution")
            if answers is None:
                return _until_timeout([partial(self.solution, number) for number in numbers])
            return [_texts(answer) for answer in answers]

    def hints(self, numbers: Sequence[int]) -> list[str | Fault]:
        """Return the hint of each of the instances; quicker than one by one."""
        with self._lock:
            answers = self._asked(numbers, "hint")
            if answers is None:
                return _until_timeout([partial(self.hint, number) for number in numbers])
            return [_text(answer) for answer in answers]

    def copies(self, numbers: Sequence[int]) -> list[int | Fault]:
        """Return a deep copy of each of the instances, in its present state.

        An instance may be asked for several times.
        """
        with self._lock:
            self._known(list(dict.fromkeys(numbers)))
            instances = [self._instances[number] for number in numbers]
            answers = None
            twins = list(range(self._next_number, self._next_number + len(numbers)))
            if all(instance.generation == self._generation for instance in instances):
                into: dict[int, list[int]] = {}
                for number, twin in zip(numbers, twins, strict=True):
                    into.setdefault(number, []).append(twin)
                asked = [
                    partial(Probe, instance=number, kind="clones", args={"into": some})
                    for number, some in into.items()
                ]
                answers = self._values("probe", asked, least=1)
            if answers is None:
                one_by_one = [partial(self.probe, number, "copy") for number in numbers]
                return [_number(answer) for answer in _until_timeout(one_by_one)]
            self._next_number += len(twins)
            said = dict(zip(into, answers, strict=True))
            for number, instance, twin in zip(numbers, instances, twins, strict=True):
                if not isinstance(said[number], Fault):
                    self._instances[twin] = instance.copy(self._generation)
            return [
                said[number] if isinstance(said[number], Fault) else twin
                for number, twin in zip(numbers, twins, strict=True)
            ]

    def probe(self, number: int, kind: str, args: Mapping[str, Json] | None = None) -> Json | Fault:
        """Run one of the worker's examinations (see `probes`) on an instance.

        `copy` returns `{"instance": n}`, a new instance in the state of the old one.
        """
        with self._lock:
            arguments = dict(args or {})
            if kind == "copy":
                arguments["into"] = self._next_number
                self._next_number += 1
            answer = self._about("probe", number, lambda i: Probe(i, number, kind, arguments))
            if kind == "copy" and not isinstance(answer, Fault):
                twin = self._instances[number].copy(self._generation)
                self._instances[arguments["into"]] = twin
                return {**answer, "instance": arguments["into"]}
            return answer

    def discard(self, number: int) -> None:
        """Forget an instance; unknown numbers are ignored."""
        with self._lock:
            instance = self._instances.pop(number, None)
            self._recent = (), []
            if instance is not None and instance.generation == self._generation and self.alive:
                self._dropped.append(number)
            if len(self._dropped) >= _DISCARD_TOGETHER:
                dropped, self._dropped = self._dropped, []
                self._value("probe", lambda i: Discard(i, dropped))

    def recycle(self) -> None:
        """Replace the process; no instance loses its state."""
        with self._lock:
            self._kill()

    def close(self) -> None:
        """End the process and forget all instances."""
        with self._lock:
            self._closed = True
            self._kill()
            self._instances.clear()
            self._recent = (), []

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- machinery ---------------------------------------------------------------------------

    def _asked(self, numbers: Sequence[int], what: Literal["hint", "solution"]) -> list[Any] | None:
        """Return hints or solutions, or None if they are to be asked for one by one."""
        instances = self._known(numbers)
        if any(instance.generation != self._generation for instance in instances):
            return None
        asked = [partial(Ask, instance=number, what=what) for number in numbers]
        return self._values(what, asked)

    def _refuse(
        self, actions: Sequence[str], instances: list[Instance], answers: list[Any]
    ) -> Sequence[str]:
        """Answer what no worker needs to see; return the actions with what cannot be encoded."""
        most = self._limits.max_action_chars
        text = "".join(actions)
        if not text.isascii():
            actions = [action.encode("utf-8", "replace").decode() for action in actions]
        idle = [None for instance in instances if not instance.playing]
        if not idle and (len(text) <= most or max(map(len, actions)) <= most):
            return actions
        for row, (instance, action) in enumerate(zip(instances, actions, strict=True)):
            message = "no episode is running in this instance; reset it first"
            if len(action) > most:
                message = f"the action has {len(action)} characters, more than {most}"
            elif instance.playing:
                continue
            fault = Fault(kind="contract", op="step", message=message)
            answers[row] = faulted("step", fault)
        return actions

    def _batch(
        self,
        op: Literal["reset", "step"],
        numbers: Sequence[int],
        instances: list[Instance],
        outcomes: list[Any],
        exchange: Callable[[WorkerProcess, list[int]], None],
    ) -> None:
        """Fill the open positions of `outcomes`, at the cost of as few processes as needed."""
        left = list(range(len(outcomes)))
        if any(outcomes):
            left = [position for position in left if outcomes[position] is None]
        kills, before = 0, self._generation if self.alive else -1
        while left:
            left = self._restored(op, left, numbers, instances, outcomes)
            if not left:
                return
            process = self._live()
            try:
                exchange(process, left)
                return
            except Broken as broken:
                at = process.under_way()
                self._kill()
                kills += 1
                if op == "reset" and broken.kind != "timeout" and self._generation == before:
                    # What an earlier step left behind in the process may be to blame: ask again.
                    left = [position for position in left if outcomes[position] is None]
                    continue
                fault = Fault(kind=broken.kind, op=op, message=broken.message)
                unanswered = [position for position in left if outcomes[position] is None]
                culprit = left[at] if at < len(left) else left[-1]
                if unanswered and culprit not in unanswered:
                    culprit = unanswered[0]
                blamed = [culprit] if kills < self.most_kills else [culprit, *unanswered]
                for position in blamed:
                    self._blame(op, instances[position], position, outcomes, fault)
                left = [position for position in unanswered if position not in blamed]
            except BaseException:
                self._kill()  # interrupted: what is under way in the process is unknown
                raise

    def _exchange_resets(
        self,
        process: WorkerProcess,
        left: list[int],
        items: Sequence[tuple[int, int, dict[str, Any] | None]],
        instances: list[Instance],
        outcomes: list[Any],
    ) -> None:
        """Reset at the positions `left` and take in the replies, which come in order."""
        request, timeout_s = process.new_id(), self._limits.reset_timeout_s
        process.send(Reset(request, [items[position] for position in left]), timeout_s)
        while left:
            replies = process.replies(request, len(left), timeout_s)
            accept_resets(replies, left, items, instances, outcomes, self._limits)
            left = left[len(replies) :]
        process.expect_silence()

    def _exchange_steps(
        self,
        process: WorkerProcess,
        left: list[int],
        numbers: Sequence[int],
        actions: Sequence[str],
        instances: list[Instance],
        answers: list[Any],
        rewards: list[float],
    ) -> bool:
        """Step at the positions `left` and take in the replies, which come in order.

        Returns whether all rows are answered now, each by an observation and a reward only.
        """
        request, timeout_s, limits = process.new_id(), self._limits.step_timeout_s, self._limits
        if len(left) != len(numbers):
            chosen = [numbers[row] for row in left], [actions[row] for row in left]
        else:
            chosen = list(numbers), list(actions)
        process.send(Step(request, *chosen), timeout_s)
        while left:
            replies = process.step_replies(request, len(left), timeout_s)
            got = accept_steps(replies, limits)
            if not replies.marks and len(got) == len(numbers):
                answers[:], rewards[:] = got, replies.rewards
                shown = zip(instances, actions, replies.observations, strict=True)
                for instance, action, observation in shown:
                    instance.actions.append(action)
                    instance.last_observation = observation
                process.expect_silence()
                return True
            for row, answer, reward in zip(left, got, replies.rewards, strict=False):
                answers[row], rewards[row] = answer, reward
                instances[row].note(actions[row], answer)
            left = left[len(got) :]
        process.expect_silence()
        return False

    def _restored(
        self,
        op: Literal["reset", "step"],
        left: list[int],
        numbers: Sequence[int],
        instances: list[Instance],
        outcomes: list[Any],
    ) -> list[int]:
        """Return the positions whose instances are in the present process; fault the others."""
        while True:
            generation = self._generation if self.alive else -1
            if not [None for at in left if instances[at].generation != generation]:
                return left
            for position in left:
                fault = self._restore(numbers[position])
                if fault is not None:
                    self._blame(op, instances[position], position, outcomes, renamed(fault, op))
            left = [position for position in left if outcomes[position] is None]

    def _blame(
        self, op: Op, instance: Instance, position: int, outcomes: list[Any], fault: Fault
    ) -> None:
        instance.playing = False
        outcomes[position] = faulted(op, fault)


def _batch_of(answers: list[Any], rewards: list[float]) -> StepBatch:
    """Return answers as columns."""
    marked = {row: answer for row, answer in enumerate(answers) if type(answer) is not str}
    for row, outcome in marked.items():
        answers[row], rewards[row] = outcome.observation, outcome.reward
    return StepBatch(answers, rewards, marked)


def _out_of_memory(outcome: ResetOutcome) -> bool:
    return outcome.fault is not None and outcome.fault.kind == "memory"


def _text(answer: Any) -> str | Fault:
    if isinstance(answer, Fault | str):
        return answer
    return Fault(kind="protocol", op="hint", message="not a text")


def _texts(answer: Any) -> list[str] | Fault:
    if isinstance(answer, Fault):
        return answer
    if isinstance(answer, list) and all(isinstance(action, str) for action in answer):
        return answer
    return Fault(kind="protocol", op="solution", message="not a list of texts")


def _number(answer: Json | Fault) -> int | Fault:
    return answer if isinstance(answer, Fault) else int(answer["instance"])


def _until_timeout(calls: Sequence[Callable[[], T | Fault]]) -> list[T | Fault]:
    """Return what the calls return; after one that took too long, the rest is not tried."""
    answers: list[T | Fault] = []
    for call in calls:
        last = answers[-1] if answers else None
        if isinstance(last, Fault) and last.kind == "timeout":
            answers.append(last)
        else:
            answers.append(call())
    return answers
