"""What host and worker say to each other: length-prefixed msgpack frames, typed on both sides.

A frame is a 4-byte little-endian length and a msgpack array `[request, ...]`. The host draws a
fresh random request id for every request; a reply that carries another id is a protocol fault.
Replies to a reset are `Reply`s, replies to a step are columns (`StepReplies`), one row for each
instance in the order asked for; a worker may send them in several frames. Nothing is ever
unpickled.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from spade_envs.types import FaultKind, Json

HEADER_BYTES = 4
MAX_VALUE_BYTES = 4 << 20
"""Greatest answer to a request that is not a reset or a step."""
MAX_DEPTH = 16
EMPTY_INFO = b""
"""Stands for an empty info."""

Mode: TypeAlias = Literal["plain", "restricted"]
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
ShortText = Annotated[str, msgspec.Meta(max_length=4000)]
LongText = Annotated[str, msgspec.Meta(max_length=20_000)]


class Load(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Execute the source; the first request to every worker."""

    request: int
    code: str
    mode: Mode
    poison: bool
    max_observation_chars: int
    max_info_bytes: int
    spin: bool = True
    """Wait for requests without sleeping for a moment: quick answers for more processor time."""


class Create(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Construct one instance."""

    request: int
    instance: int
    level: int


class Reset(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Start an episode in each `(instance, seed, options)`; seeds are never None here."""

    request: int
    items: list[tuple[int, int, dict[str, Any] | None]]


class Step(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Take one step in each instance; both lists are of equal length."""

    request: int
    instances: list[int]
    actions: list[str]


class Ask(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """Ask an instance for its hint or its solution."""

    request: int
    instance: int
    what: Literal["hint", "solution"]


class Probe(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Run one of the worker's own examinations (see `probes`)."""

    request: int
    instance: int
    kind: str
    args: dict[str, Any]


class Replay(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """Rebuild an instance in a fresh worker; answered by one `Reply`."""

    request: int
    instance: int
    level: int
    seed: int
    options: dict[str, Any] | None
    actions: list[str]


class Discard(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """Forget instances."""

    request: int
    instances: list[int]


class Many(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """Several requests in one message; the answer is a list of `[value, fault]`."""

    request: int
    items: list[Create | Ask | Probe]


Request: TypeAlias = Load | Create | Reset | Step | Ask | Probe | Replay | Discard | Many


class FaultData(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A fault as the worker reports it; the host adds the operation."""

    kind: FaultKind
    message: ShortText
    traceback: LongText = ""


class Reply(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What one instance answered; `info` is msgpack, undecoded until the host has seen its size."""

    instance: Index
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    cut: bool
    info: bytes
    fault: FaultData | None


class Replies(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """One frame of replies to a reset or replay."""

    request: int
    replies: list[Reply]


class Mark(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What a step brought besides its observation and its reward."""

    row: Index
    terminated: bool
    truncated: bool
    cut: bool
    info: bytes
    fault: FaultData | None


class StepReplies(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """One frame of replies to a step, as columns: most steps bring a text and a number only."""

    request: int
    observations: list[str]
    rewards: list[float]
    marks: list[Mark]
    """In ascending order of their rows, each row at most once."""


class Value(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """The answer to any other request."""

    request: int
    value: msgspec.Raw
    fault: FaultData | None


class OneOfMany(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """The answer to one of many requests."""

    value: msgspec.Raw
    fault: FaultData | None


_SCALARS = frozenset({str, int, bool, type(None)})


def is_json(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether `check_json` lets a dict or list pass; quicker, since scalars cost no call."""
    kind = type(value)
    if depth <= 0 or (kind is not dict and kind is not list):
        return False
    items = value
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        items = value.values()
    for item in items:
        kind = type(item)
        if kind in _SCALARS:
            continue
        if not (item - item == 0.0 if kind is float else is_json(item, depth - 1)):
            return False
    return True


def check_json(value: Json, depth: int = MAX_DEPTH) -> Json:
    """Return `value` if it consists of plain JSON types only, nested at most `depth` deep.

    Raises:
        ValueError: it holds another type, a non-finite number or a key that is not text.
    """
    kind = type(value)
    if kind in _SCALARS or is_json(value, depth):
        return value
    if kind is float:
        if value - value != 0.0:
            raise ValueError(f"holds the number {value!r}")
        return value
    if depth <= 0:
        raise ValueError("is nested too deeply")
    if kind is list:
        for item in value:
            check_json(item, depth - 1)
        return value
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise ValueError(f"holds the key {key!r}, which is not text")
            check_json(item, depth - 1)
        return value
    raise ValueError(f"holds a {kind.__name__}")
