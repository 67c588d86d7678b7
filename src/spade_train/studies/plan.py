"""A study: which arms with which seeds, where their runs lie, and what each may spend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spade_envs.errors import ConfigError
from spade_envs.store.files import replace_file
from spade_train.config.learning import Budget
from spade_train.runs.directory import make_folder
from spade_train.studies.arms import Arm, arm

FORMAT = 1
_FILE = "study.json"
_GROWS = ("arms", "seeds", "baselines", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is compared. The first arm is the one that the others are baselines of."""

    preset: str
    arms: tuple[str, ...]
    """At least one; the first one's cost is the budget of the others."""
    baselines: tuple[str, ...]
    """Arms that the first one is judged against; controls are not among them."""
    seeds: tuple[int, ...]
    settings: tuple[str, ...] = ()
    """Of all arms."""
    budget_episodes: int = 0
    """Agent episodes of every run; 0 takes what the first arm's plan comes to."""
    budget_tokens: int = 0
    """Sampled tokens of every run; 0 takes what the first arm has spent with the same seed."""
    own: tuple[Arm, ...] = ()
    """Arms that are no overlays, such as another model."""

    def arm(self, name: str) -> Arm:
        """Return one of the arms.

        Raises:
            ConfigError: there is none of this name.
        """
        return next((each for each in self.own if each.name == name), None) or arm(name)


@dataclass(frozen=True, slots=True)
class Job:
    """One run of a study."""

    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """Such as `fixed-pool, seed 3`."""
        return f"{self.arm.name}, seed {self.seed}"

    def folder(self, out: Path) -> Path:
        """Return where the run lies in the folder of the study."""
        return out / "runs" / self.arm.name / f"seed-{self.seed}"


def study_of(
    preset: str,
    arms: tuple[str, ...],
    seeds: tuple[int, ...],
    *,
    controls: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    budget_episodes: int = 0,
    budget_tokens: int = 0,
    own: tuple[Arm, ...] = (),
) -> Study:
    """Return a checked study.

    Raises:
        ConfigError: an arm is unknown or named twice, or there is no seed.
    """
    names = (*arms, *controls)
    if not arms or len(set(names)) < len(names):
        raise ConfigError(f"name each arm once: {', '.join(names) or 'none is named'}")
    if not seeds:
        raise ConfigError("a study needs at least one seed")
    study = Study(
        preset=preset,
        arms=names,
        baselines=arms[1:],
        seeds=seeds,
        settings=settings,
        budget_episodes=budget_episodes,
        budget_tokens=budget_tokens,
        own=tuple(each for each in own if each.name in names),
    )
    for name in names:
        study.arm(name)
    return study


def jobs(study: Study) -> Iterator[Job]:
    """Give the runs in the order in which they are best started: the first arm's first."""
    for name in study.arms[:1]:
        yield from (Job(study.arm(name), seed) for seed in study.seeds)
    for seed in study.seeds:
        yield from (Job(study.arm(name), seed) for name in study.arms[1:])


def open_study(study: Study, out: Path) -> Study:
    """Take a folder for a study, or go on with the one in it; arms and seeds may be added.

    Raises:
        ConfigError: the folder holds a study that differs in more, or something else.
    """
    file = out / _FILE
    if file.is_file():
        old = read_study(out)
        fixed = {key: getattr(old, key) for key in _GROWS}
        same = all(each in study.own for each in old.own if each.name in study.arms)
        if replace(study, **fixed) != old or old.arms[0] != study.arms[0] or not same:
            raise ConfigError(
                f"{out} holds a study with another preset, first arm, budget or settings; name a "
                "new folder"
            )
        study = _with(study, old)
    elif out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty and holds no study; name a new folder")
    make_folder(out)
    values = {"format": FORMAT, **asdict(study)}
    replace_file(out, file, json.dumps(values, indent=1).encode())
    return study


def _with(study: Study, old: Study) -> Study:
    """Return a study with the own arms of the one before, whose runs lie in the folder."""
    kept = (each for each in old.own if each not in study.own)
    return replace(study, own=(*study.own, *kept))


def read_study(out: Path) -> Study:
    """Return the study in a folder.

    Raises:
        ConfigError: there is none, or it cannot be read.
    """
    try:
        values = json.loads((out / _FILE).read_bytes())
        if values.pop("format") != FORMAT:
            raise ConfigError(f"{out / _FILE} has another format than {FORMAT}")
        own = tuple(_arm(each) for each in values.pop("own", ()))
        lists = {key: tuple(item) for key, item in values.items() if isinstance(item, list)}
        return Study(**{**values, **lists}, own=own)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{out} holds no study that can be read: {error}") from None


def _arm(values: dict[str, Any]) -> Arm:
    lists = {key: tuple(values[key]) for key in ("overlays", "settings")}
    return Arm(**{**values, **lists})


def fixed_budget(study: Study) -> Budget | None:
    """Return the budget that is the same for every run; None if the first arm's cost decides."""
    if study.budget_episodes and study.budget_tokens:
        return Budget(agent_episodes=study.budget_episodes, generated_tokens=study.budget_tokens)
    return None
