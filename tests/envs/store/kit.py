"""Small certified sources for the store's tests, and a file system that dies on demand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spade_envs.store import files
from spade_envs.types import EnvSource, GateResult, Interface, Report

PROVENANCE = {"method": "hand-written", "created": "2026-01-02T03:04:05Z", "tool": "a test"}


def source_of(number: int = 0) -> EnvSource:
    return EnvSource(code=f"class MazeEnv:\n    number = {number}\n")


def report_of(source: EnvSource, **changes: Any) -> Report:
    interface = Interface(
        entry="MazeEnv", kind="text", levels=4, has_solution=True, summary="Find the way out."
    )
    result = GateResult(
        gate="L3.1",
        title="reference policy",
        outcome="pass",
        message="40 of 40 won",
        evidence={"floor": 0.0, "ceiling": 1.0, "seeds": [0, 1]},
    )
    fields: dict[str, Any] = {
        "source_sha256": source.sha256,
        "gates_version": "1",
        "interface": interface,
        "results": (result,),
        "layers": ("seccomp",),
    }
    return Report(**{**fields, **changes})


def add(store: Any, number: int = 0, **options: Any) -> Any:
    source = source_of(number)
    return store.add(source, report_of(source), PROVENANCE, **options)


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the writer may catch it."""


class _Dying:
    """The `os` module, except that a chosen call of a writing function never returns."""

    WATCHED = ("open", "mkdir", "makedirs", "fsync", "rename", "link", "replace")

    def __init__(self, survive: int, meanwhile: Callable[[], None] | None) -> None:
        self.left, self.meanwhile, self.dead = survive, meanwhile, False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.WATCHED:
            return real

        def watched(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise Killed
            if name == "open" and not args[1] & os.O_CREAT:
                return real(*args, **kwargs)
            if self.left == 0:
                if self.meanwhile is not None:
                    meanwhile, self.meanwhile, self.left = self.meanwhile, None, -1
                    meanwhile()
                else:
                    self.dead = True
                    raise Killed
            self.left -= 1
            return real(*args, **kwargs)

        return watched


class _NoCleaning:
    """The `shutil` module of a dead process: it removes nothing."""

    def __init__(self, dying: _Dying) -> None:
        self.dying = dying

    def rmtree(self, path: Any, ignore_errors: bool = False) -> None:
        if not self.dying.dead:
            shutil.rmtree(path, ignore_errors=ignore_errors)


@contextmanager
def interrupted(survive: int, meanwhile: Callable[[], None] | None = None) -> Iterator[_Dying]:
    """Let the store's `survive` next file operations pass, then kill it or run `meanwhile`."""
    dying = _Dying(survive, meanwhile)
    files.os, files.shutil = dying, _NoCleaning(dying)  # type: ignore[assignment]
    try:
        yield dying
    finally:
        files.os, files.shutil = os, shutil
