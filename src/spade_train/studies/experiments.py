"""Several comparisons over one set of runs: what their TOML files ask for, and how they are run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from spade_envs.errors import ConfigError
from spade_envs.store.files import replace_file
from spade_envs.types import Json
from spade_train.config import overlays
from spade_train.errors import DataError
from spade_train.studies.arms import COEVOLUTION, Arm
from spade_train.studies.document import document
from spade_train.studies.plan import Study, study_of
from spade_train.studies.runner import Progress, Show
from spade_train.studies.study import Finished, begin, conduct, gather, write_study_page
from spade_train.studies.tables import LEGEND, markdown

COMMON = "common.toml"
"""Name of the file that the others of a folder share."""
_POLL_S = 0.5
_TAKEN = frozenset({"study"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


_Positive = Annotated[int, msgspec.Meta(ge=1)]


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tiny model that is made before the runs: an arm of its name starts from it."""

    layers: _Positive
    inner: _Positive
    steps: _Positive = 2300
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0


class Common(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all experiments of a folder share."""

    preset: str
    first: str
    """The arm that the others are compared with, and whose cost is their budget."""
    seeds: _Positive
    settings: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One experiment, as its file says it."""

    title: str
    question: str
    arms: tuple[str, ...]
    """Beside the first one."""
    sizes: dict[str, Size] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One comparison."""

    name: str
    """Of its file, without the suffix."""
    title: str
    question: str
    study: Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Experiments and the one study that holds all of their runs."""

    experiments: tuple[Experiment, ...]
    study: Study
    sizes: tuple[tuple[str, Size], ...]
    """Models to make, by the name of their arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an experiment came to."""

    experiment: Experiment
    found: Finished


Bootstrap = Callable[[Size, Path], Sequence[str]]
"""From a size and a folder to the command that makes the model."""


def read_plan(
    files: Sequence[Path],
    out: Path,
    *,
    seeds: int | None = None,
    settings: Sequence[str] = (),
) -> Plan:
    """Return the experiments of TOML files, whose folder holds what they share.

    Args:
        files: experiments, or one folder, which stands for all in it.
        out: folder of the runs; models that are made lie in it.
        seeds: in place of the common number.
        settings: of all arms, after the common ones.

    Raises:
        ConfigError: a file cannot be read, or names something that does not exist.
    """
    files = [each for file in files for each in (_in(file) if file.is_dir() else [file])]
    if not files or len({file.parent.resolve() for file in files}) > 1:
        raise ConfigError("name experiments of one folder, or the folder itself")
    common = _read(files[0].parent / COMMON, Common)
    asked = {file.stem: _read(file, Asked) for file in files}
    if taken := sorted(_TAKEN & asked.keys()):
        raise ConfigError(f"{taken[0]}.toml: the folder of the runs has a file of that name")
    sizes = _sizes(asked)
    own = tuple(_sized(name, size, out) for name, size in sizes.items())

    def study(arms: Sequence[str]) -> Study:
        return study_of(
            common.preset,
            (common.first, *dict.fromkeys(arms)),
            tuple(range(seeds or common.seeds)),
            settings=(*common.settings, *settings),
            own=own,
        )

    experiments = tuple(
        Experiment(name=name, title=each.title, question=each.question, study=study(each.arms))
        for name, each in asked.items()
    )
    arms = [name for each in asked.values() for name in each.arms]
    return Plan(experiments=experiments, study=study(arms), sizes=tuple(sizes.items()))


def run_plan(
    plan: Plan,
    out: Path,
    *,
    at_once: int = 1,
    show: Show | None = None,
    say: Callable[[str], None] | None = None,
    command: Bootstrap | None = None,
) -> tuple[Result, ...]:
    """Run what is not done yet, each run once however many experiments want it.

    Args:
        plan: what to run.
        out: folder of models, runs and tables.
        at_once: runs at the same time, >= 1.
        show: told now and then how far every run is.
        say: told in words what is being made before the runs.
        command: what makes a model.

    Raises:
        ConfigError: the folder holds something else, or an arm cannot be configured.
        DataError: a model could not be made.
    """
    out = out.absolute()
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is no folder; name another")
    begin(plan.study, out)
    _make(plan.sizes, out, at_once, say, command or bootstrap)
    whole = conduct(plan.study, out, at_once=at_once, show=show)
    return tuple(
        Result(experiment=each, found=gather(each.study, out, _of(each, whole.ended)))
        for each in plan.experiments
    )


def bootstrap(size: Size, folder: Path) -> Sequence[str]:
    """Return the command that makes a tiny model of a size."""
    told = {"steps": size.steps, "layers": size.layers, "inner": size.inner, "seed": size.seed}
    options = [text for key, value in told.items() for text in (f"--{key}", str(value))]
    what = ("nano", "bootstrap", "--out", str(folder), "--samples", "0", "--episodes", "0")
    return (sys.executable, "-m", "spade_train", *what, *options)


def _sizes(asked: Mapping[str, Asked]) -> dict[str, Size]:
    """Return the models of all files by name.

    Raises:
        ConfigError: a name is no plain one, is an arm's, or stands for two models.
    """
    found: dict[str, Size] = {}
    for file, each in asked.items():
        for name, size in each.sizes.items():
            if not _PLAIN.fullmatch(name):
                raise ConfigError(
                    f"{file}.toml: a size is named by letters, digits and ._-, not {name!r}"
                )
            if name in (COEVOLUTION, "lr0", *overlays()):
                raise ConfigError(f"{file}.toml: there is an arm {name!r}; name the size otherwise")
            if found.setdefault(name, size) != size:
                raise ConfigError(f"{file}.toml: the size {name!r} is another one elsewhere")
    return found


def _in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.toml") if file.name != COMMON)


_T = TypeVar("_T")


def _read(file: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.toml.decode(file.read_bytes(), type=kind)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _sized(name: str, size: Size, out: Path) -> Arm:
    about = f"Co-evolution from a model of {size.layers} layers of inner width {size.inner}."
    return Arm(name=name, about=about, settings=(f"model.path={_model(name, out)}",))


def _model(name: str, out: Path) -> Path:
    return out.absolute() / "models" / name


def _make(
    sizes: Sequence[tuple[str, Size]],
    out: Path,
    at_once: int,
    say: Callable[[str], None] | None,
    command: Bootstrap,
) -> None:
    """Make the models that are not there yet, some at a time."""
    waiting = [(name, size) for name, size in sizes if not _made(_model(name, out), size)]
    live: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as stack:
        while waiting or live:
            while waiting and len(live) < at_once:
                name, size = waiting.pop(0)
                folder = _model(name, out)
                folder.mkdir(parents=True, exist_ok=True)
                log = stack.enter_context((folder.parent / f"{name}.log").open("ab"))
                if say is not None:
                    say(f"making the model {name}")
                live[name] = stack.enter_context(
                    subprocess.Popen(command(size, folder), stdout=log, stderr=log)
                )
                stack.callback(live[name].terminate)
            time.sleep(_POLL_S)
            for name in [name for name, process in live.items() if process.poll() is not None]:
                if live.pop(name).returncode:
                    raise DataError(f"the model {name} could not be made; see models/{name}.log")


def _made(folder: Path, size: Size) -> bool:
    """Return whether a model of a size lies in a folder.

    Raises:
        ConfigError: it was made with other settings, or its settings cannot be read.
    """
    file = folder / "bootstrap.json"
    if not file.is_file():
        return False
    wanted = msgspec.structs.asdict(size)
    try:
        told = json.loads(file.read_bytes())["settings"]
        found = {key: told.get(key) for key in wanted}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ConfigError(
            f"{file} is damaged; remove the folder {folder}, so that the model is made anew"
        ) from None
    if found != wanted:
        raise ConfigError(f"{folder} holds a model of other settings; name a new folder")
    return True


def _of(experiment: Experiment, ended: Sequence[Progress]) -> list[Progress]:
    return [each for each in ended if each.job.arm.name in experiment.study.arms]


def plain_result(result: Result) -> dict[str, Json]:
    """Return an experiment as JSON values: its words, and the document of its comparison."""
    asked = result.experiment
    told = document(result.found.comparison, result.found.outcomes)
    return {"name": asked.name, "title": asked.title, "question": asked.question, **told}


def write_results(results: Sequence[Result], out: Path, *, made_at: str) -> str:
    """Write `tables.md`, and `NAME.json` and `NAME.html` of each experiment; return the tables.

    Args:
        results: of all experiments.
        out: folder of the experiments.
        made_at: when this is, as text for people.
    """
    sections = []
    for each in results:
        asked, found = each.experiment, each.found
        sections.append(markdown(found.comparison, title=asked.title, question=asked.question))
        told = json.dumps(plain_result(each), indent=1)
        replace_file(out, out / f"{asked.name}.json", told.encode())
        write_study_page(found, out / f"{asked.name}.html", made_at=made_at, title=asked.title)
    text = "\n".join((*sections, LEGEND + "\n"))
    replace_file(out, out / "tables.md", text.encode())
    return text
