"""Walks the values that outlive an episode: all that an environment's own code can reach.

The code may be hostile, so nothing that it defines is called: attributes, items and types are read
through the descriptors of the interpreter. The walk goes by breadth, sees each object once, and
ends after `MAX_PLACES`.
"""

from __future__ import annotations

import builtins
import functools
import gc
import re
import sys
import threading
import weakref
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from spade_envs.sandbox.execution import MODULE_NAME

MAX_PLACES = 20_000
MAX_NAME = 100
MAX_KEY = 60
_KEPT = 60
ATOMS = frozenset(
    {int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range}
)
_ATOM_IDS = frozenset(id(kind) for kind in ATOMS)
_HEAP_TYPE = 1 << 9
_NAME_DEPTH = 5
_MAX_FLAT = 50
_OPAQUE = (
    CodeType, FrameType, GetSetDescriptorType, MemberDescriptorType,
    MethodDescriptorType, MethodWrapperType, WrapperDescriptorType, re.Pattern,
)  # fmt: skip
LRU = type(functools.lru_cache(lambda: None))
GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
SEQUENCES = (list, tuple, deque, set, frozenset)
_dict_of: Any = type.__dict__["__dict__"]
_mro_of: Any = type.__dict__["__mro__"]
_bases_of: Any = type.__dict__["__bases__"]
_module_of: Any = type.__dict__["__module__"]
_qualname_of: Any = type.__dict__["__qualname__"]
_flags_of: Any = type.__dict__["__flags__"]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A value, where it was found, and how to put another one there, None if it cannot be."""

    name: str
    value: Any
    put: Callable[[Any], object] | None = None


def places(env: Any) -> tuple[list[Place], bool]:
    """Return what outlives an episode, nearest first, and whether that is all."""
    queue = deque(_roots(env))
    found: list[Place] = []
    used: Counter[str] = Counter()
    seen: set[int] = {id(env)}
    while queue:
        place = queue.popleft()
        if not atom(place.value):
            # What was seen stays alive in `found`, so its identity is nobody else's.
            if id(place.value) in seen or opaque(place.value):
                continue
            seen.add(id(place.value))
        if len(found) >= MAX_PLACES:
            return found, False
        # A cache that counts its calls is no news by itself: functions that are pure have such.
        name = f"{place.name}.cache_info()" if type(place.value) is LRU else place.name
        if len(name) > MAX_NAME:
            name = f"{name[:_KEPT]}...{zlib.adler32(name.encode('utf-8', 'replace')):x}"
        used[name] += 1
        if used[name] > 1:
            name = f"{name}'{used[name]}"
        found.append(Place(name, place.value, place.put))
        if not atom(place.value):
            queue.extend(_inside(name, place.value))
    return found, True


def base_of(value: Any, kinds: tuple[type, ...]) -> type | None:
    """Return the first of the kinds that the value's type derives from, as the type has it."""
    lineage = set(map(id, _mro_of.__get__(type(value))))
    return next((kind for kind in kinds if id(kind) in lineage), None)


def exactly(value: Any, kinds: Iterable[type]) -> bool:
    """Whether a value's type is one of the kinds; metaclasses may compare and hash as they like."""
    kind = type(value)
    return any(kind is each for each in kinds)


def atom(value: Any) -> bool:
    """Whether a value is a constant of the language."""
    return id(type(value)) in _ATOM_IDS


def kind_name(kind: type) -> str:
    """Return the name of a type, without asking its metaclass."""
    return f"{_text(_module_of.__get__(kind))}.{_qualname_of.__get__(kind)}"


def _text(name: Any) -> str:
    return name if type(name) is str else "?"


def defined(kind: type, name: str) -> Any:
    """Return the entry that a type has under a name, itself or from a base; None without."""
    for cls in _mro_of.__get__(kind):
        if name in _dict_of.__get__(cls):
            return _dict_of.__get__(cls)[name]
    return None


def flat(value: Any) -> bool:
    """Whether a value cannot change: an atom, or a short tuple or frozen set of atoms."""
    if atom(value):
        return True
    small = exactly(value, (tuple, frozenset)) and len(value) <= _MAX_FLAT
    return small and all(atom(item) for item in value)


def opaque(value: Any) -> bool:
    """Whether a value is the interpreter's or a library's code and holds nothing of its own."""
    kind = type(value)
    if value is vars(builtins) or _is_imported(value):
        return True
    if exactly(value, _OPAQUE) or kind_name(kind) == "_abc._abc_data":
        return True
    if base_of(value, (type,)):
        return _of_library(value)
    if kind is FunctionType:
        home = _home(value)
        return (
            home is not None
            and home is not sys.modules.get(MODULE_NAME)
            and (not value.__closure__)
        )
    return kind is BuiltinFunctionType and exactly(value.__self__, (ModuleType, type(None)))


def _is_imported(value: Any) -> bool:
    """Whether a value is a module of a library; changes there are looked for elsewhere."""
    if type(value) is not ModuleType or value is sys.modules.get(MODULE_NAME):
        return False
    name = _text(value.__dict__.get("__name__"))
    known = type(value.__dict__.get("__spec__")) is ModuleSpec
    return known and sys.modules.get(name) is value


def _home(function: FunctionType) -> ModuleType | None:
    """Return the module that a function's globals are, None if they are no module's."""
    names = function.__globals__
    home = sys.modules.get(_text(dict.get(names, "__name__")))
    return home if type(home) is ModuleType and home.__dict__ is names else None


def _of_library(kind: type) -> bool:
    if not _flags_of.__get__(kind) & _HEAP_TYPE:
        return True
    home = sys.modules.get(_text(_module_of.__get__(kind)))
    if type(home) is not ModuleType or home is sys.modules.get(MODULE_NAME):
        return False
    found: Any = home
    for part in _qualname_of.__get__(kind).split(".")[:_NAME_DEPTH]:
        names = found.__dict__ if type(found) is ModuleType else _dict_of.__get__(found)
        found = names.get(part)
        if not base_of(found, (type,)):
            return False
    return found is kind


def _roots(env: Any) -> Iterator[Place]:
    module = sys.modules.get(MODULE_NAME)
    if type(module) is ModuleType:
        yield from _names("", module.__dict__)
    for owner in (env, _attributes(env).get("inner")):
        if owner is not None:
            yield from _instance("self", owner)
            # Where the code took its module from the table, the class leads to its globals.
            yield Place("self's class", type(owner))


def _names(
    prefix: str, names: Any, put: Callable[[str, Any], object] | None = None
) -> Iterator[Place]:
    """Yield the entries of a namespace; constants too, since they may be set anew."""
    for key, value in list(names.items()):
        if exactly(value, (staticmethod, classmethod)):
            value = value.__func__
        if type(key) is str and not _of_copying(key, value):
            setter = functools.partial(put or functools.partial(dict.__setitem__, names), key)
            yield Place(f"{prefix}{key}", value, setter)


def _of_copying(key: str, value: Any) -> bool:
    """Whether an entry is the list of slots that copying notes on a class."""
    return key == "__slotnames__" and type(value) is list and flat(tuple(value))


def _attributes(value: Any) -> dict[str, Any]:
    """Return the instance's own dictionary, empty if it has none."""
    if base_of(value, (threading.local,)):
        here: dict[str, Any] = threading.local.__getattribute__(value, "__dict__")
        return here
    for cls in _mro_of.__get__(type(value)):
        descriptor = _dict_of.__get__(cls).get("__dict__")
        if type(descriptor) is GetSetDescriptorType:
            found = descriptor.__get__(value)
            return found if base_of(found, (dict,)) else {}
    return {}


def _instance(name: str, value: Any) -> Iterator[Place]:
    """Yield what an instance holds by name, in its dictionary and its slots."""
    yield from _names(f"{name}.", _attributes(value))
    for cls in _mro_of.__get__(type(value)):
        for key, descriptor in list(_dict_of.__get__(cls).items()):
            if type(descriptor) is MemberDescriptorType:
                try:
                    item = descriptor.__get__(value)
                except AttributeError:  # the slot is empty
                    continue
                yield Place(f"{name}.{key}", item, functools.partial(descriptor.__set__, value))


def _inside(name: str, value: Any) -> Iterable[Place]:
    kind = type(value)
    if base_of(value, (type,)):
        return _class(name, value)
    if kind is FunctionType:
        return _function(name, value)
    if kind is CellType:
        return _cell(name, value)
    if kind is ContextVar:
        return [Place(f"{name}.get()", value.get(None), value.set)]
    if kind is LRU:
        return _cache(name, value)
    if exactly(value, GENERATORS):
        return _generator(name, value)
    return _parts(name, value, base_of(value, (dict, *SEQUENCES, weakref.ref)))


def _parts(name: str, value: Any, base: type | None) -> Iterator[Place]:
    if not exactly(value, (list, dict, tuple, set, frozenset)):
        yield from _instance(name, value)
    if base is dict:
        for index, (key, item) in enumerate(list(dict.items(value))):
            if not flat(item):
                yield Place(f"{name}[{key_text(key) or index}]", item)
            if not flat(key):
                yield Place(f"key {index} of {name}", key)
    elif base is weakref.ref:
        yield from _listed(name, [weakref.ref.__call__(value)])
    elif base:
        yield from _listed(name, list(base.__iter__(value)))  # type: ignore[attr-defined]
    if base_of(value, (np.ndarray,)) and value.dtype.hasobject:
        yield from _listed(name, elements(value))
    if base is None or hidden(type(value)):
        yield from _listed(name, referents(value))
        for index, part in enumerate(reduced(value)):
            yield from _listed(f"{name}.state{index}", part if type(part) is tuple else (part,))


def elements(array: Any) -> list[Any]:
    """Return what an array of objects holds."""
    return list(np.ndarray.tolist(np.ndarray.flatten(array)))


def hidden(kind: type) -> bool:
    """Whether a type has an entry of its own where its instances' dictionary would be read."""
    return not exactly(defined(kind, "__dict__"), (GetSetDescriptorType, type(None)))


def referents(value: Any) -> list[Any]:
    """Return what a value refers to, without its type and its dictionary."""
    own = _attributes(value)
    return [item for item in gc.get_referents(value) if item is not own and item is not type(value)]


def key_text(key: Any) -> str:
    """Return how a key of a dictionary is named, empty if it is not a short constant."""
    if not atom(key) or (type(key) is int and abs(key) > sys.maxsize):
        return ""
    if exactly(key, (str, bytes)) and len(key) > MAX_KEY:
        return ""
    return repr(key)


def _listed(name: str, items: Iterable[Any]) -> Iterator[Place]:
    for index, item in enumerate(items):
        if not flat(item) and not base_of(item, (type,)):
            yield Place(f"{name}[{index}]", item)


def _class(name: str, value: Any) -> Iterator[Place]:
    yield from _names(f"{name}.", _dict_of.__get__(value), functools.partial(_put_on, value))
    for index, base in enumerate((*_bases_of.__get__(value), type(value))):
        yield Place(f"base {index} of {name}", base)


def _put_on(cls: type, key: str, value: Any) -> None:
    type.__setattr__(cls, key, value)


def _function(name: str, value: FunctionType) -> Iterator[Place]:
    for index, item in enumerate(value.__defaults__ or ()):
        yield Place(f"a default of {name}", item, functools.partial(_put_default, value, index))
    yield from _names(f"{name}'s default ", value.__kwdefaults__ or {})
    yield from _names(f"{name}.", value.__dict__)
    for key, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
        yield from _cell(f"{key} in {name}", cell)
    if _home(value) is None:
        yield Place(f"globals of {name}", value.__globals__)


def _put_default(function: FunctionType, index: int, value: Any) -> None:
    found = list(function.__defaults__ or ())
    function.__defaults__ = (*found[:index], value, *found[index + 1 :])


def _cell(name: str, cell: CellType) -> Iterator[Place]:
    try:
        yield Place(name, cell.cell_contents, functools.partial(_fill, cell))
    except ValueError:  # the cell is empty
        return


def _fill(cell: CellType, value: Any) -> None:
    cell.cell_contents = value


def _cache(name: str, value: Any) -> Iterator[Place]:
    yield from _names(f"{name}.", _attributes(value))
    # The results are read from the cache itself, which is not a place: its entries are true.
    held = referents(value)
    caches = [item for item in held if is_cache_of(item, value)]
    results = [item for cache in caches for item in cache.values()]
    yield from _listed(name, [item for item in held if not is_cache_of(item, value)] + results)


def is_cache_of(held: Any, cache: Any) -> bool:
    """Whether an object that a cached function refers to holds its results."""
    return type(held) is dict and held is not _attributes(cache)


def _generator(name: str, value: Any) -> Iterator[Place]:
    frame, waits = _frame(value)
    if frame is not None:
        for key, item in list(frame.f_locals.items()):
            if not flat(item):
                yield Place(f"{key} in {name}", item)
    if waits is not None:
        yield Place(f"{name}'s source", waits)


def _frame(value: Any) -> tuple[Any, Any]:
    prefix = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}[type(value)]
    waits = "ag_await" if prefix == "ag" else "cr_await" if prefix == "cr" else "gi_yieldfrom"
    return getattr(value, f"{prefix}_frame"), getattr(value, waits)


def position(value: Any) -> str:
    """Return where a generator stands, with the constants among its variables."""
    frame, _ = _frame(value)
    if frame is None:
        return "ended"
    kept = [(key, item) for key, item in frame.f_locals.items() if atom(item)]
    return f"{frame.f_lasti} {kept!r}"


def reduced(value: Any) -> tuple[Any, ...]:
    """Return what a value of a C type says of its own state, empty if it says nothing."""
    method = defined(type(value), "__reduce__")
    if type(method) is not MethodDescriptorType or method.__objclass__ is object:
        return ()
    try:
        found = method(value)
    except (TypeError, ValueError, NotImplementedError):
        return ()
    return found[1:] if type(found) is tuple else ()
