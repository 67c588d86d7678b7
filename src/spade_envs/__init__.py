"""Gymnasium environments written by language models, admitted by executed gates.

    import gymnasium as gym
    import spade_envs                     # registers the default store and the starter store

    env = gym.make("spade/<name>-v0", level=2)

Importing reads the index files of those stores and nothing more; every other public name is loaded
on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spade_envs._version import __version__
from spade_envs.registration import register_discovered, register_store

if TYPE_CHECKING:
    from spade_envs.api import TextEnv, ToolEnv, tool
    from spade_envs.design.parse import parse
    from spade_envs.gates.check import check
    from spade_envs.pipeline.generate import generate
    from spade_envs.play import reference
    from spade_envs.spaces import AnyText
    from spade_envs.store import EnvStore, open_store
    from spade_envs.types import (
        EnvSource,
        Episode,
        Fault,
        Limits,
        Record,
        Rejection,
        Report,
        Skill,
    )

__all__ = [
    "AnyText",
    "EnvSource",
    "EnvStore",
    "Episode",
    "Fault",
    "Limits",
    "Record",
    "Rejection",
    "Report",
    "Skill",
    "TextEnv",
    "ToolEnv",
    "__version__",
    "check",
    "generate",
    "open_store",
    "parse",
    "reference",
    "register_store",
    "tool",
]

_HOMES = {
    "AnyText": "spaces",
    "EnvSource": "types",
    "EnvStore": "store",
    "Episode": "types",
    "Fault": "types",
    "Limits": "types",
    "Record": "types",
    "Rejection": "types",
    "Report": "types",
    "Skill": "types",
    "TextEnv": "api",
    "ToolEnv": "api",
    "check": "gates",
    "generate": "pipeline.generate",
    "open_store": "store",
    "parse": "design.parse",
    "reference": "play",
    "tool": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_discovered()
