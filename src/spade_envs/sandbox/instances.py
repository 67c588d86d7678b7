"""The environment objects of one worker, and the one boundary at which foreign code is called.

Every call into the environment happens in `Table`; whatever it raises, and whatever it returns
that is not what the contract says, becomes a fault. Replies are tuples in the order of
`protocol.Reply`, or `Columns` in the order of `protocol.StepReplies`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from spade_envs.sandbox.execution import FILENAME
from spade_envs.sandbox.protocol import EMPTY_INFO, MAX_DEPTH, check_json, is_json

ReplyTuple = tuple[int, str, float, bool, bool, bool, bytes, Any]
FaultTuple = tuple[str, str, str]
MarkTuple = tuple[int, bool, bool, bool, bytes, Any]

_MAX_MESSAGE = 1000
_MAX_TRACEBACK = 8000
_WON, _LOST = (msgspec.msgpack.encode({"success": flag}) for flag in (True, False))
_MAX_SOLUTION = 10_000
_NO_COUNTER = [0]
FLUSH_REPLIES = 64
FLUSH_CHARS = 16 * 1024
"""Replies are sent after so many, or after an observation of so many characters."""

# Bound now, since `poison` and foreign code may replace them.
_seed_python, _get_python, _set_python = random.seed, random.getstate, random.setstate
_seed_numpy, _get_numpy, _set_numpy = np.random.seed, np.random.get_state, np.random.set_state


@dataclass(slots=True)
class Columns:
    """Replies to steps that wait to be sent."""

    observations: list[str] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    marks: list[MarkTuple] = field(default_factory=list)

    def clear(self) -> None:
        """Forget what was sent."""
        self.observations.clear()
        self.rewards.clear()
        self.marks.clear()


class _Breach(Exception):
    """A return value that the contract does not allow."""


def fault_of(error: BaseException) -> FaultTuple:
    """Return what was raised as `(kind, message, traceback)`, of the environment's file only."""
    if isinstance(error, _Breach):
        return "contract", _one_line(error.args[0]), ""
    kind = "memory" if isinstance(error, MemoryError) else "exception"
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001  __str__ is foreign code as well
        text = f"{type(error).__name__} (its text cannot be made)"
    return kind, _one_line(text), _own_lines(error)


def failed(number: int, fault: FaultTuple) -> ReplyTuple:
    """Return the reply of instance `number` that carries a fault."""
    return number, "", 0.0, False, True, False, EMPTY_INFO, fault


class Table:
    """Instances by number."""

    def __init__(
        self, entry: Callable[..., Any], max_observation_chars: int, max_info_bytes: int
    ) -> None:
        self.entry = entry
        self.envs: dict[int, Any] = {}
        self.keep_global_rng = False
        self._most_chars = max_observation_chars
        self._most_info = max_info_bytes
        self._rng: dict[int, Any] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def create(self, number: int, level: int) -> FaultTuple | None:
        """Construct instance `number`."""
        if self.keep_global_rng:
            _seed_global(level)
        try:
            self.envs[number] = self.entry(level=level)
        except BaseException as error:  # noqa: BLE001  the boundary
            return fault_of(error)
        return None

    def adopt(self, number: int, env: Any, like: int) -> None:
        """Take a copy of instance `like` as instance `number`."""
        self.envs[number] = env
        if like in self._rng:
            self._rng[number] = self._rng[like]

    def discard(self, number: int) -> None:
        """Forget instance `number`."""
        self.envs.pop(number, None)
        self._rng.pop(number, None)

    def reset(self, number: int, seed: int, options: dict[str, Any] | None) -> ReplyTuple:
        """Start an episode; global generators are seeded too if the source uses them."""
        if number not in self.envs:
            # Foreign code has emptied the table. The host asks again in a fresh process.
            raise SystemExit
        if self.keep_global_rng:
            _seed_global(seed)
        try:
            result = self.envs[number].reset(seed=seed, options=options)
            if type(result) is not tuple or len(result) != 2:
                raise _Breach(f"reset returned {_describe(result)}, not (observation, info)")
            observation, cut = self._observation(result[0])
            return number, observation, 0.0, False, False, cut, self._info(result[1]), None
        except BaseException as error:  # noqa: BLE001  the boundary
            return failed(number, fault_of(error))
        finally:
            if self.keep_global_rng:
                self._rng[number] = _global_state()

    def step(self, number: int, action: str) -> ReplyTuple:
        """Take one step."""
        columns = Columns()
        self.steps([number], [action], columns, _NO_COUNTER, _never)
        mark = columns.marks[0] if columns.marks else (0, False, False, False, EMPTY_INFO, None)
        return number, columns.observations[0], columns.rewards[0], *mark[1:]

    def steps(
        self,
        numbers: Sequence[int],
        actions: Sequence[str],
        columns: Columns,
        counters: Any,
        flush: Callable[[int], float],
    ) -> None:
        """Take one step in each instance, and append what they say to the columns.

        The checks are spelled out here, since they run for every step of every instance.

        Args:
            numbers: the instances.
            actions: one for each.
            columns: where the replies go; emptied by `flush`.
            counters: its first element is set to the index of the item under way.
            flush: called when what is there should be sent; returns when it wants to be called
                again, in the time of `perf_counter`.
        """
        envs, most, restore = self.envs, self._most_chars, self.keep_global_rng
        observations, rewards = columns.observations, columns.rewards
        due = flush(0)
        for index, number in enumerate(numbers):
            counters[0] = index
            try:
                if restore and number in self._rng:
                    _restore_global(self._rng[number])
                result = envs[number].step(actions[index])
                if type(result) is not tuple or len(result) != 5:
                    raise _Breach(f"step returned {_describe(result)}, not a 5-tuple")
                text, reward, terminated, truncated, info = result
                if (
                    terminated is not False
                    or truncated is not False
                    or type(text) is not str
                    or len(text) > most
                    or not text.isascii()
                    or type(reward) is not float
                    or reward - reward != 0.0
                    or info
                    or type(info) is not dict
                ):
                    text, reward = self._marked(result, columns)
            except BaseException as error:  # noqa: BLE001  the boundary
                row, fault = len(observations), fault_of(error)
                columns.marks.append((row, False, True, False, EMPTY_INFO, fault))
                text, reward = "", 0.0
            observations.append(text)
            rewards.append(reward)
            if restore:
                self._rng[number] = _global_state()
            if (
                perf_counter() > due
                or len(text) > FLUSH_CHARS
                or len(observations) >= FLUSH_REPLIES
            ):
                due = flush(index + 1)

    def _marked(self, result: tuple[Any, ...], columns: Columns) -> tuple[str, float]:
        """Check a result that is not plain, and mark its row if there is something to tell."""
        text, cut = self._observation(result[0])
        reward = _reward(result[1])
        ends = _flag("terminated", result[2]), _flag("truncated", result[3])
        info = self._info(result[4])
        if cut or any(ends) or info:
            columns.marks.append((len(columns.observations), *ends, cut, info, None))
        return text, reward

    def ask(self, number: int, what: str) -> tuple[Any, FaultTuple | None]:
        """Return the hint (text) or the solution (actions) of the current state."""
        try:
            value = getattr(self.envs[number], what)()
            if what == "hint":
                return self._observation(value, "hint")[0], None
            if isinstance(value, str):
                value = [value]
            if not isinstance(value, list | tuple) or len(value) > _MAX_SOLUTION:
                raise _Breach(f"solution returned {_describe(value)}, not a list of actions")
            return [_plain_text(item, "an action of the solution") for item in value], None
        except BaseException as error:  # noqa: BLE001  the boundary
            return None, fault_of(error)

    def _observation(self, value: Any, what: str = "observation") -> tuple[str, bool]:
        text = _plain_text(value, what)
        most = self._most_chars
        return (text[:most], True) if len(text) > most else (text, False)

    def _info(self, info: Any) -> bytes:
        if not info and isinstance(info, dict):
            return EMPTY_INFO
        if type(info) is dict and len(info) == 1:
            success = info.get("success")
            if success is True:
                return _WON
            if success is False:
                return _LOST
        if not isinstance(info, dict):
            raise _Breach(f"info is {_describe(info)}, not a dict")
        try:
            raw = self._encode(info if is_json(info) else check_json(plain(info)))
        except (ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
            raise _Breach(f"info {error}; it must be plain JSON") from None
        if len(raw) > self._most_info:
            raise _Breach(f"info is {len(raw)} bytes long, more than {self._most_info}")
        return raw


def plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return `value` with tuples as lists and numpy scalars as Python numbers."""
    if depth < 0:
        raise ValueError("is nested too deeply")
    if isinstance(value, dict):
        return {key: plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str):
        return str.__str__(value)
    return value


def _plain_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _Breach(f"{what} is {_describe(value)}, not a str")
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Breach(f"{what} holds a lone surrogate at character {error.start}") from None
    return text


def _reward(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise _Breach(f"reward is {_describe(value)}, not a number")
    number = float(value)
    if number - number != 0.0:
        raise _Breach(f"reward is {number!r}, not finite")
    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise _Breach(f"{name} is {_describe(value)}, not a bool")
    return bool(value)


def _describe(value: Any) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}" if value is not None else "None"


def _one_line(text: str) -> str:
    line = " ".join(str(text).split())
    return line.encode("utf-8", "replace").decode()[:_MAX_MESSAGE]


def _own_lines(error: BaseException) -> str:
    lines, entry, frames = execution_lines(), error.__traceback__, 0
    found: list[str] = []
    while entry is not None and frames < 2000:
        code = entry.tb_frame.f_code
        if code.co_filename == FILENAME:
            number = entry.tb_lineno
            text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            found.append(f"line {number} in {code.co_name}: {text[:200]}")
        entry, frames = entry.tb_next, frames + 1
    if isinstance(error, SyntaxError) and error.lineno:
        found.append(f"line {error.lineno}: {(error.text or '').strip()[:200]}")
    if len(found) > 20:
        found = [*found[:10], "...", *found[-10:]]
    return "\n".join(found).encode("utf-8", "replace").decode()[:_MAX_TRACEBACK]


def execution_lines() -> list[str]:
    """Return the lines of the environment's source."""
    from spade_envs.sandbox import execution

    return execution.source_lines


def _seed_global(seed: int) -> None:
    _seed_python(seed)
    _seed_numpy(seed & 0xFFFFFFFF)


def _global_state() -> Any:
    return _get_python(), _get_numpy()


def _restore_global(state: Any) -> None:
    _set_python(state[0])
    _set_numpy(state[1])


def _never(_: int) -> float:
    return math.inf
