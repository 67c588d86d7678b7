"""Make process-wide generators and clocks raise, to find the environments that use them.

Only names that are looked up after `install` are caught, so it runs before the source does.
"""

from __future__ import annotations

import datetime
import os
import random
import secrets
import time
import uuid
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

_CLOCKS = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
    "process_time", "process_time_ns", "thread_time", "thread_time_ns", "clock_gettime",
    "clock_gettime_ns", "sleep",
)  # fmt: skip
_CLOCK_DEFAULTS = ("localtime", "gmtime", "ctime", "asctime")
_UNSEEDED_OK = ("Generator", "RandomState", "SeedSequence", "BitGenerator")
_GENERATORS = ("default_rng", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class Poisoned(RuntimeError):
    """Raised where an environment asks the process for randomness or for the time."""


def install() -> None:
    """Replace the functions; cannot be undone in this process."""
    for name in dir(random):
        if name.islower() and not name.startswith("_") and callable(getattr(random, name)):
            _poison(random, name)
    _replace(random, "Random", _SeededRandom)
    _poison(random, "SystemRandom")
    for name in dir(np.random):
        value = getattr(np.random, name)
        public = name.islower() and not name.startswith("_") and name not in _GENERATORS
        if public and callable(value):
            _poison(np.random, name)
    for name in _GENERATORS:
        _needs_argument(np.random, name)
    for name in _CLOCKS:
        _poison(time, name)
    for name in _CLOCK_DEFAULTS:
        _needs_argument(time, name)
    for name in ("uuid1", "uuid4", "getnode"):
        _poison(uuid, name)
    for name in ("token_bytes", "token_hex", "token_urlsafe", "randbits", "choice", "randbelow"):
        _poison(secrets, name)
    _poison(os, "urandom")
    _replace(datetime, "datetime", _Datetime)
    _replace(datetime, "date", _Date)


def _poison(module: ModuleType, name: str) -> None:
    called = f"{module.__name__}.{name}"

    def poisoned(*_: Any, **__: Any) -> NoReturn:
        _refuse(called)

    _replace(module, name, poisoned)


def _needs_argument(module: ModuleType, name: str) -> None:
    original: Callable[..., Any] = getattr(module, name)
    called = f"{module.__name__}.{name}"

    def checked(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if not values or values[0] is None:
            _refuse(called)
        return original(*args, **kwargs)

    _replace(module, name, checked)


def _replace(module: ModuleType, name: str, value: Any) -> None:
    if hasattr(module, name):
        setattr(module, name, value)


def _refuse(called: str) -> NoReturn:
    raise Poisoned(f"poisoned: {called}() was called")


class _SeededRandom(random.Random):
    def __new__(cls, *args: Any, **kwargs: Any) -> _SeededRandom:
        values = (*args, *kwargs.values())
        if not values or values[0] is None:
            _refuse("random.Random")
        return super().__new__(cls, *args, **kwargs)


class _Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz: Any = None) -> NoReturn:
        _refuse("datetime.datetime.now")

    @classmethod
    def utcnow(cls) -> NoReturn:
        _refuse("datetime.datetime.utcnow")

    @classmethod
    def today(cls) -> NoReturn:
        _refuse("datetime.datetime.today")


class _Date(datetime.date):
    @classmethod
    def today(cls) -> NoReturn:
        _refuse("datetime.date.today")
