"""From a worker's replies to outcomes: the last checks on what came out of foreign code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from spade_envs.sandbox.channel import Broken
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.protocol import (
    FaultData,
    Mark,
    OneOfMany,
    Reply,
    StepReplies,
    Value,
    check_json,
)
from spade_envs.types import Fault, Json, Limits, ResetOutcome, StepOutcome

Op: TypeAlias = Literal["load", "create", "reset", "step", "hint", "solution", "probe"]

_INFINITY = float("inf")
_decode_info = msgspec.msgpack.Decoder(dict[str, Any]).decode

_REMEMBERED, _REMEMBERED_BYTES = 512, 16_384
_sound_infos: dict[bytes, dict[str, Json] | None] = {}
"""Infos that were found to be plain JSON, with what they hold if it is flat: most steps bring one
that was seen before."""

Answer: TypeAlias = str | StepOutcome
"""The observation of a step that brought nothing else but a reward, or what it brought."""


def accept_steps(replies: StepReplies, limits: Limits) -> list[Answer]:
    """Return one answer per row of a frame of replies to a step.

    Raises:
        Broken: the worker passed on what it should have refused.
    """
    observations, rewards = replies.observations, replies.rewards
    most = limits.max_observation_chars
    if len("".join(observations)) > most and max(map(len, observations)) > most:
        raise Broken("protocol", "an observation over the limit")
    if not -_INFINITY < sum(rewards) < _INFINITY and not all(map(math.isfinite, rewards)):
        raise Broken("protocol", "a reward that is not finite")
    answers: list[Answer] = observations  # type: ignore[assignment]
    last = -1
    for mark in replies.marks:
        if not last < mark.row < len(observations):
            raise Broken("protocol", f"a mark at row {mark.row} out of turn")
        last = mark.row
        answers[last] = _marked(mark, observations[last], rewards[last], limits)
    return answers


def _marked(mark: Mark, observation: str, reward: float, limits: Limits) -> StepOutcome:
    if mark.fault is not None:
        return StepOutcome(truncated=True, fault=fault_from(mark.fault, "step"))
    return StepOutcome(
        observation=observation,
        reward=reward,
        terminated=mark.terminated,
        truncated=mark.truncated,
        info=decode_info(mark.info, limits.max_info_bytes) if mark.info else {},
        observation_cut=mark.cut,
    )


def accept_resets(
    replies: Sequence[Reply],
    positions: Sequence[int],
    items: Sequence[tuple[int, int, dict[str, Json] | None]],
    instances: Sequence[Instance],
    outcomes: list[Any],
    limits: Limits,
) -> None:
    """Turn replies to resets into outcomes at `positions`, and note them in the records.

    Raises:
        Broken: a reply is out of turn, or the worker passed on what it should have refused.
    """
    for position, reply in zip(positions, replies, strict=False):
        number, seed, options = items[position]
        if reply.instance != number:
            raise Broken("protocol", f"a reply of instance {reply.instance} out of turn")
        if reply.fault is not None:
            outcomes[position] = faulted("reset", fault_from(reply.fault, "reset"))
            continue
        if len(reply.observation) > limits.max_observation_chars:
            raise Broken("protocol", "an observation over the limit")
        info = decode_info(reply.info, limits.max_info_bytes) if reply.info else {}
        instances[position].begin(seed, options, reply.observation)
        outcomes[position] = ResetOutcome(
            observation=reply.observation, info=info, observation_cut=reply.cut
        )


def decode_info(data: bytes, most_bytes: int) -> dict[str, Json]:
    """Return an info that is plain JSON.

    Raises:
        Broken: it is too long, too deep, or something else.
    """
    if len(data) > most_bytes:
        raise Broken("protocol", f"an info of {len(data)} bytes, more than {most_bytes}")
    known = _sound_infos.get(data)
    if known is not None:
        return known.copy()
    try:
        info: dict[str, Json] = _decode_info(data)
        if data not in _sound_infos:
            check_json(info)
            if len(data) <= _REMEMBERED_BYTES:
                if len(_sound_infos) >= _REMEMBERED:
                    _sound_infos.clear()
                flat = not any(type(item) is dict or type(item) is list for item in info.values())
                _sound_infos[data] = info.copy() if flat else None
    except (ValueError, RecursionError) as error:
        raise Broken("protocol", f"the info {str(error)[:200]}") from None
    return info


def decode_value(raw: msgspec.Raw) -> Json:
    """Return the value of an answer, as plain JSON.

    Raises:
        Broken: it is something else.
    """
    try:
        return check_json(msgspec.msgpack.decode(memoryview(raw)))
    except (ValueError, RecursionError) as error:
        raise Broken("protocol", f"the answer {str(error)[:200]}") from None


_decode_many = msgspec.msgpack.Decoder(list[OneOfMany]).decode


def decode_values(value: Value, count: int, op: Op) -> list[Json | Fault]:
    """Return the values or faults of `count` answers in one.

    Raises:
        Broken: it is something else.
    """
    if value.fault is not None:
        raise Broken("protocol", value.fault.message)
    try:
        answers = _decode_many(memoryview(value.value))
    except (ValueError, RecursionError) as error:
        raise Broken("protocol", f"the answers {str(error)[:200]}") from None
    if len(answers) != count:
        raise Broken("protocol", f"{len(answers)} answers where {count} are due")
    return [
        decode_value(answer.value) if answer.fault is None else fault_from(answer.fault, op)
        for answer in answers
    ]


def faulted(op: Op, fault: Fault) -> ResetOutcome | StepOutcome:
    """Return the outcome that carries a fault."""
    if op == "reset":
        return ResetOutcome(fault=fault)
    return StepOutcome(truncated=True, fault=fault)


def fault_from(data: FaultData, op: Op) -> Fault:
    """Return the fault that a worker reported."""
    return Fault(kind=data.kind, op=op, message=data.message, traceback=data.traceback)


def renamed(fault: Fault, op: Op) -> Fault:
    """Return the fault as one of another operation."""
    return Fault(kind=fault.kind, op=op, message=fault.message, traceback=fault.traceback)
