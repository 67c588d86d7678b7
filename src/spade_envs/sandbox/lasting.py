"""What outlives an episode: values that the environment's own code can reach.

A gate reads them between episodes, and sets counters forward to see whether a later episode would
be another one.
"""

from __future__ import annotations

import array
import contextlib
import functools
import gc
import hashlib
import itertools
import operator
import random
import time
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import WrapperDescriptorType
from typing import Any

import numpy as np

from spade_envs.sandbox import reach
from spade_envs.sandbox.reach import GENERATORS, LRU, SEQUENCES, Place, base_of

MAX_GROWN = 100_000
MAX_COUNTERS = 10
FAR = 1_000_000_007
"""Distance of a made-up number from one that is in use."""
MAX_MISSES = 10_000
SOLVED_EVERY = 8
"""Solutions may take longer than all the rest, so they are asked for now and then."""
MAX_ANSWER = 1_500_000
"""Characters of all places; a worker's reply has to be short."""
MAX_BYTES = 4096
MAX_SHOWN = 20_000
MAX_KEYS = 200
MORE = "\0more"
"""Stands among the places if there is more than was looked through."""
_SCALARS = (bool, int, float, complex, str, bytes)
_NAMED = ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s")
_COUNTED = (itertools.count, itertools.repeat)
_SOME: tuple[Iterable[Any], ...] = (range(0), range(1 << 80), [], (), "", b"", {}, {}.values())
_QUICK = frozenset(type(iter(some)) for some in _SOME) | {itertools.count, itertools.repeat}
_HASH_BYTES = 8
_HASHES = frozenset(type(hashlib.new(name, usedforsecurity=False)) for name in _NAMED)
_COMPRESSOR = type(zlib.compressobj())
_MOVED = (dict, list, deque, set, bytearray, array.array, np.ndarray, random.Random)


def digests(env: Any) -> dict[str, str]:
    """Return, by place, a short text for every value that outlives an episode.

    A place behind a zero character is an entry or the length of the container before it.
    """
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places, whole = reach.places(env)
        names = {id(place.value): place.name for place in places}
        room = MAX_ANSWER
        for place in places:
            told = {place.name: _short(_digest(place.value, names))}
            told.update((f"{place.name}\0{key}", text) for key, text in _entries(place.value))
            room -= sum(len(name) + 4 * _HASH_BYTES for name in told)
            if room < 0:
                break
            found.update(told)
    if not whole or room < 0:
        found[MORE] = ""
    return found


def advance(env: Any, places: list[str], by: int) -> list[str]:
    """Set the counters at these places forward and let the containers there grow.

    With a negative `by` the counters go back, and containers stay as they are. Returns the places
    that could be moved.
    """
    changed = set(places)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = reach.places(env)
        moved = []
        for place in found:
            if place.name in changed and _advance(place, changed, by):
                moved.append(place.name)
    return moved


@dataclass(frozen=True, slots=True)
class Life:
    """What is played again and again."""

    seed: int
    scripts: Sequence[Sequence[str]]
    asks: Sequence[str]
    """Methods that are called once an episode that is not compared has begun."""
    rounds: int
    seconds: float


def live_on(env: Any, make: Callable[[], object], life: Life) -> dict[str, int]:
    """Play the same few episodes again and again, others between them, and compare them.

    Other objects are made by `make` as well. What the environment raises comes through.

    Returns:
        `episodes`, how many were played; and, if one was not as before, which of the scripts
        it followed as `script`.
    """
    firsts: dict[int, tuple[object, ...]] = {}
    until = time.monotonic() + life.seconds
    played = 0
    for number in range(life.rounds):
        if time.monotonic() > until:
            break
        make()
        # Others, since a set of seeds grows by new ones alone, and not as many each time,
        # since what comes every tenth time could always fall on them.
        for _ in range(1 if number % 7 else 2):
            played += 1
            asks = [name for name in life.asks if name == "hint" or not number % SOLVED_EVERY]
            _episode(env, life.seed + played, life.scripts[-1], asks)
        played += 1
        which = number % len(life.scripts)
        found = _episode(env, life.seed, life.scripts[which])
        if firsts.setdefault(which, found) != found:
            return {"episodes": played, "script": which}
    return {"episodes": played}


def _episode(
    env: Any, seed: int, actions: Sequence[str], asks: Sequence[str] = ()
) -> tuple[object, ...]:
    shown: list[object] = [str(env.reset(seed=seed)[0])]
    for name in asks:
        getattr(env, name)()
    for action in actions:
        text, reward, terminated, truncated, _ = env.step(action)
        shown += [str(text), repr(float(reward)), bool(terminated), bool(truncated)]  # of NaN, too
        if terminated or truncated:
            break
    return tuple(shown)


def _advance(place: Place, changed: set[str], by: int) -> bool:
    value, name = place.value, place.name
    base = base_of(value, _MOVED)
    if type(value) is LRU:
        _fill(value, by)
    elif base is dict:
        _grow(value, name, changed, by)
    elif base in (list, deque):
        _lengthen(base, value, name, changed, by)
    elif base is set:
        set.update(value, _likes(set.__iter__(value), _more(by)))
    elif base is bytearray and f"{name}\0length" in changed:
        bytearray.extend(value, bytearray(_more(by)))
    elif base is array.array:
        _lengthen(base, value, name, changed, by)
    elif base is np.ndarray:
        return _raise(value, by)
    elif base is random.Random:
        for _ in range(_more(by)):
            random.Random.random(value)
    elif place.put is not None and (after := _later(value, by)) is not None:
        place.put(after)
    else:
        return _skip(value, by) or _raise_bytes(value, by)
    return True


def _grow(value: dict[Any, Any], name: str, changed: set[str], by: int) -> None:
    items = list(dict.items(value))
    for key, item in items[:MAX_KEYS]:
        text = reach.key_text(key)
        if text and f"{name}\0{text}" in changed:
            after = _later(item, by)
            if after is not None:
                dict.__setitem__(value, key, after)
    if items and f"{name}\0length" in changed:
        filler = items[0][1]
        for key in _likes((key for key, _ in items), _more(by)):
            dict.__setitem__(value, key, filler)


def _likes(keys: Iterable[Any], count: int) -> list[Any]:
    """Return new keys of the same kind as one that is there, since code may count its own alone."""
    like = next((key for key in keys if reach.atom(key) or reach.flat(key)), "")
    return [_another(like, index + 1) for index in range(count)]


def _another(key: Any, by: int) -> Any:
    """Return a key that differs from the given one, of the same kind if that has others."""
    if reach.exactly(key, (int, float)):
        return key + FAR + by
    if type(key) is tuple and key:
        return (*key[:-1], _another(key[-1], by))
    if type(key) is frozenset:
        return key | {f"\0{by}"}
    return f"{key}\0{by}" if type(key) is str else f"\0{by}"


def _lengthen(base: Any, value: Any, name: str, changed: set[str], by: int) -> None:
    for index, item in enumerate(list(itertools.islice(base.__iter__(value), MAX_COUNTERS))):
        after = _later(item, by) if f"{name}\0{index}" in changed else None
        if after is not None:
            base.__setitem__(value, index, after)
    if f"{name}\0length" in changed and base.__len__(value):
        base.extend(value, [base.__getitem__(value, -1)] * _more(by))


def _later(value: Any, by: int) -> Any:
    """Return the value as much later, None for one that does not count."""
    kind, more = type(value), _more(by)
    if reach.exactly(value, (int, float)):
        return value + by
    if reach.exactly(value, (str, bytes)):
        if value.isdigit() and len(value) <= MAX_COUNTERS:
            counted = str(max(0, int(value) + by))
            return counted if kind is str else counted.encode()
        return value + value[-1:] * more
    if kind is tuple:
        head = [
            item + by if reach.exactly(item, (int, float)) else item
            for item in value[:MAX_COUNTERS]
        ]
        return (*head, *value[MAX_COUNTERS:])
    if kind is frozenset:
        return value | set(_likes(value, more))
    if base_of(value, (np.integer, np.floating)) and reach.opaque(kind):
        return _numpy_later(value, kind, by)
    if reach.kind_name(kind) in ("fractions.Fraction", "decimal.Decimal") and reach.opaque(kind):
        return value + by
    return None


def _more(by: int) -> int:
    return max(0, min(by, MAX_GROWN))


def _numpy_later(value: Any, kind: Any, by: int) -> Any:
    if base_of(value, (np.floating,)):
        return kind(float(value) + by)
    ends = np.iinfo(kind)
    return kind(min(max(int(value) + by, int(ends.min)), int(ends.max)))


def _raise(value: Any, by: int) -> bool:
    """Add to every number of an array; whether it holds such."""
    if value.dtype.kind not in "iuf" or not value.flags.writeable:
        return False
    np.ndarray.__iadd__(value, np.asarray(by).astype(value.dtype))
    return True


def _raise_bytes(value: Any, by: int) -> bool:
    """Add to the first bytes of a buffer, each to 127 at most; whether the value is one."""
    if not _buffer(value):
        return False
    try:
        with memoryview(value) as view, view.cast("B") as data:
            for index, byte in enumerate(data[:MAX_BYTES]):
                data[index] = max(byte, min(byte + by, 127))
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _skip(value: Any, by: int) -> bool:
    """Take as many items from an iterator; whether the value is one."""
    kind = type(value)
    taken = reach.defined(kind, "__next__")
    if type(taken) is not WrapperDescriptorType or reach.kind_name(kind).startswith("_io."):
        return False
    if by <= 0:
        return True
    count = by if reach.exactly(value, _QUICK) else min(by, MAX_GROWN)
    # The code of a generator may raise anything; then it has ended.
    with contextlib.suppress(Exception):
        next(itertools.islice(value, count, count), None)
    return True


def _fill(cache: Any, by: int) -> None:
    """Add entries that nobody asks for, hits and misses, without a call of the function itself."""
    info = LRU.cache_info(cache)
    held: dict[Any, Any] = next(
        (item for item in gc.get_referents(cache) if reach.is_cache_of(item, cache)), {}
    )
    asked = next((key for key in held if reach.flat(key)), None)
    room = by if info.maxsize is None else info.maxsize - info.currsize
    for _ in range(min(by, room, MAX_GROWN)):
        held[object()] = None
    for index in range(min(by, MAX_MISSES)):
        with contextlib.suppress(Exception):
            cache(**{"\0": index})
    if asked is not None:
        with contextlib.suppress(Exception):
            for _ in range(_more(by)):
                cache(*asked if type(asked) is tuple else (asked,))


def _entries(value: Any) -> Iterable[tuple[str, str]]:
    """Yield the length and the first counters of a container that can grow."""
    base: Any = base_of(value, (dict, list, deque, bytearray, array.array))
    if base is None:
        return
    yield "length", str(base.__len__(value))
    if base is dict:
        for key, item in itertools.islice(list(dict.items(value)), MAX_KEYS):
            text = reach.key_text(key)
            if text and reach.atom(item):
                yield text, _short(_atom(item))
        return
    for index, item in enumerate(itertools.islice(base.__iter__(value), MAX_COUNTERS)):
        if reach.atom(item):
            yield str(index), _short(_atom(item))


def _short(text: str) -> str:
    data = text.encode("utf-8", "backslashreplace")
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).hexdigest()


def _atom(value: Any) -> str:
    # Decimal digits of huge integers are refused.
    return hex(value) if type(value) is int else repr(value)


def _show(value: Any, names: dict[int, str]) -> str:
    """Return a text for a part of a value; what is a place itself stands there by its name."""
    if reach.atom(value):
        return _atom(value)
    if reach.flat(value):
        texts = [_atom(item) for item in value]
        return f"({', '.join(texts if type(value) is tuple else sorted(texts))})"
    return f"<{reach.kind_name(type(value))} {names.get(id(value), '')}>"


def _digest(value: Any, names: dict[int, str]) -> str:
    """Return a text that changes with the value, but not with the places inside it."""
    kind = type(value)
    show = functools.partial(_show, names=names)
    text = f"{reach.kind_name(kind)} "
    if reach.hidden(kind):
        text += ", ".join(show(item) for item in reach.referents(value))
    if reach.atom(value) or reach.flat(value):
        return text + show(value)
    if kind is LRU:
        return text + repr(tuple(LRU.cache_info(value)))
    if reach.exactly(value, GENERATORS):
        return text + reach.position(value)
    base: Any = base_of(value, (dict, *SEQUENCES, *_SCALARS))
    if base in _SCALARS:
        return text + (hex(int.__int__(value)) if base is int else base.__repr__(value))
    if base is dict:
        pairs = itertools.islice(list(dict.items(value)), MAX_SHOWN)
        shown = [f"{show(key)}: {show(item)}" for key, item in pairs]
        return f"{text}{dict.__len__(value)} {', '.join(shown)}"
    if base is not None:
        items = list(base.__iter__(value))
        shown = [show(item) for item in (*items[:MAX_SHOWN], *items[MAX_SHOWN:][-MAX_SHOWN:])]
        ordered = shown if base in (list, tuple, deque) else sorted(shown)
        return f"{text}{len(items)} {', '.join(ordered)}"
    if base_of(value, (type,)):
        return text
    return text + _native(value, names)


def _native(value: Any, names: dict[int, str]) -> str:
    """Return what values of a C type tell of themselves without a call of the code."""
    kind: Any = type(value)
    if base_of(value, (np.ndarray,)):
        if value.dtype.hasobject:
            return ", ".join(_show(item, names) for item in reach.elements(value))
        data = hashlib.blake2b(np.ndarray.tobytes(value)).hexdigest()
        return f"{value.dtype} {value.shape} {data}"
    if base_of(value, (random.Random,)):
        return repr(random.Random.getstate(value))
    if base_of(value, (np.random.Generator,)):
        return repr(value.bit_generator.state)
    if base_of(value, (np.random.RandomState,)):
        return repr(np.random.RandomState.get_state(value, legacy=False))
    if base_of(value, (np.random.BitGenerator,)) and reach.opaque(kind):
        return repr(value.state)
    if reach.exactly(value, _HASHES):
        return str(value.hexdigest())
    if kind is _COMPRESSOR:
        return hashlib.blake2b(value.copy().flush()).hexdigest()
    if reach.exactly(value, _COUNTED) and all(reach.atom(item) for item in gc.get_referents(value)):
        return repr(value)
    parts = [hashlib.blake2b(data).hexdigest() for data in _buffer(value)]
    for part in reach.reduced(value):
        parts += [_show(item, names) for item in (part if type(part) is tuple else (part,))]
    if type(reach.defined(kind, "__next__")) is WrapperDescriptorType:
        with contextlib.suppress(TypeError, ValueError):
            parts.append(str(operator.length_hint(value)))
    return ", ".join([*parts, *(_show(item, names) for item in reach.referents(value))])


def _buffer(value: Any) -> list[bytes]:
    """Return the bytes of an array or the like, in a list that is empty for other values."""
    defined = reach.defined(type(value), "__buffer__")
    if defined is not None and type(defined) is not WrapperDescriptorType:
        return []
    try:
        with memoryview(value) as view:
            return [view.tobytes()]
    except (TypeError, BufferError, ValueError, NotImplementedError):
        return []
