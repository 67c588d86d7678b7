"""Planting defects: a mutant counts only if its witness has shown the defect."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.defects.baselines import Baselines, judge
from benchmarks.defects.bench import Bench, NotLoadedError, Side
from benchmarks.defects.body import Body
from benchmarks.defects.operators import BY_ID
from benchmarks.defects.operators.base import Operator
from benchmarks.defects.sources import Sound, load_sound
from spade_envs.sandbox import Sandbox, default_sandbox, open_sandbox

MAX_CANDIDATES = 8
"""Ways to plant one operator in one environment that are tried at most."""


@dataclass(frozen=True)
class Planted:
    """One operator in one environment: an effective mutant, or why there is none."""

    operator: str
    environment: str
    sha256: str = ""
    candidate: int = -1
    """Which of the operator's candidates it is."""
    witness: str = ""
    """What was seen of the defect."""
    dropped: str = ""
    """Why there is no mutant."""
    published: bool = False
    published_guess: bool = False
    check_env: bool = False


@functools.cache
def sound() -> dict[str, Sound]:
    """Return the sound environments by name."""
    return {one.name: one for one in load_sound()}


def order(operator: Operator) -> list[str]:
    """Return the environments that an operator may fit, in an order of its own."""
    names = [name for name, one in sound().items() if one.kind in operator.kinds]
    return sorted(names, key=lambda name: hashlib.sha256(f"{operator.id}/{name}".encode()).digest())


def code_of(planted: Planted) -> str:
    """Return the source of a mutant."""
    base = Body(sound()[planted.environment].code)
    for index, body in enumerate(BY_ID[planted.operator].mutate(base)):
        if index == planted.candidate:
            return body.code()
    raise LookupError(f"{planted.operator} has no candidate {planted.candidate} any more")


def is_current(planted: Planted) -> bool:
    """Whether a mutant is still what today's environments and operators make."""
    try:
        code = code_of(planted)
    except LookupError:
        return False
    return hashlib.sha256(code.encode()).hexdigest() == planted.sha256


def plant_again(planted: Planted) -> Planted:
    """Plant an operator in an environment that was changed since."""
    return plant_in(BY_ID[planted.operator], sound()[planted.environment])


def plant(operator_id: str, wanted: int) -> Iterator[Planted]:
    """Plant one operator until so many mutants are effective or no environments are left."""
    operator = BY_ID[operator_id]
    found = 0
    for name in order(operator):
        planted = plant_in(operator, sound()[name])
        found += planted.witness != ""
        yield planted
        if found >= wanted:
            return


def plant_in(operator: Operator, base: Sound) -> Planted:
    """Return the first candidate whose witness shows the defect."""
    reason = "does not apply"
    original = _original(base.name)
    for index, body in enumerate(operator.mutate(Body(base.code))):
        if index >= MAX_CANDIDATES:
            break
        code = body.code()
        try:
            mutant = Side(default_sandbox(), code)
        except NotLoadedError as error:
            reason = f"does not load: {error}"
            continue
        try:
            seen = operator.witness(Bench(base, original, mutant, elsewhere))
            if seen:
                said = judge(mutant)
                return _planted(operator, base, code, index, seen, said)
            reason = "no witness"
        finally:
            mutant.close()
    return Planted(operator.id, base.name, dropped=reason)


def _planted(
    operator: Operator, base: Sound, code: str, index: int, seen: str, said: Baselines
) -> Planted:
    return Planted(
        operator.id,
        base.name,
        hashlib.sha256(code.encode()).hexdigest(),
        index,
        seen,
        published=said.published,
        published_guess=said.published_guess,
        check_env=said.check_env,
    )


@functools.lru_cache(maxsize=40)
def _original(name: str) -> Side:
    return Side(default_sandbox(), sound()[name].code)


_lock = threading.Lock()
_other: list[Sandbox] = []


def elsewhere() -> Sandbox:
    with _lock:
        if not _other:
            _other.append(open_sandbox(hash_seed=77))
        return _other[0]
