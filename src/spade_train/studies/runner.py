"""Runs the runs of a study as processes of their own, some at a time; it can be taken up again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from spade_envs.store.files import replace_file
from spade_train.config import Config, to_toml
from spade_train.config.learning import Budget
from spade_train.errors import StateError
from spade_train.launch.signals import Interrupts
from spade_train.reports import read
from spade_train.runs import read_metrics
from spade_train.studies.arms import arm_config
from spade_train.studies.outcome import finished, spent
from spade_train.studies.plan import Job, Study, fixed_budget, jobs

State: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]
_POLL_S = 1.0
_TAIL_LINES = 3

Show: TypeAlias = Callable[[Sequence["Progress"]], None]
"""Called now and then with every run of the study."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one run is."""

    job: Job
    state: State = "waiting"
    updates: int = 0
    last: Mapping[str, float] = field(default_factory=dict)
    """The newest numbers of the run."""
    note: str = ""
    """Why it failed."""


Command: TypeAlias = Callable[[Path, Path], Sequence[str]]
"""From a configuration file and a run's folder to the command that trains it."""


def training(file: Path, folder: Path) -> Sequence[str]:
    """Return the command that trains a run, or goes on with it."""
    how = "--resume" if (folder / "run.json").is_file() else "--out"
    return (sys.executable, "-m", "spade_train", "run", str(file), how, str(folder), "--quiet")


def run_study(
    study: Study,
    out: Path,
    *,
    held_out: str = "",
    at_once: int = 1,
    show: Show | None = None,
    command: Command = training,
) -> tuple[Progress, ...]:
    """Run what is not finished yet, and return how every run ended.

    On SIGTERM or SIGINT the runs under way finish their update and save; calling it again goes on.

    Args:
        study: what to run.
        out: its folder.
        held_out: store of held-out environments for every run; empty leaves it to each.
        at_once: runs at the same time, >= 1.
        show: told now and then how far everything is.
        command: what trains one run.
    """
    runs = {job: Progress(job=job) for job in jobs(study)}
    live: dict[Job, subprocess.Popen[bytes]] = {}
    for job in runs:
        if _is_finished(job.folder(out)):
            runs[job] = _read(replace(runs[job], state="done"), out)
    with Interrupts() as interrupts, ExitStack() as stack:
        while not interrupts.reason():
            _settle(runs, live, out)
            for job, budget in _ready(study, out, runs, at_once - len(live)):
                config = _config(study, job, budget, held_out)
                live[job] = _launch(job.folder(out), config, command, stack)
                runs[job] = replace(runs[job], state="running")
            if show is not None:
                show(tuple(runs.values()))
            if not live:
                break
            time.sleep(_POLL_S)
        _stop(runs, live, out)
    if show is not None:
        show(tuple(runs.values()))
    return tuple(runs.values())


def _ready(
    study: Study, out: Path, runs: dict[Job, Progress], most: int
) -> list[tuple[Job, Budget | None]]:
    """Return at most so many waiting runs whose budget is known, with it."""
    found: list[tuple[Job, Budget | None]] = []
    for job, progress in runs.items():
        if progress.state != "waiting" or len(found) >= most:
            continue
        known, budget = _budget(study, job, out, runs)
        if known and budget is None and job.arm.name != study.arms[0]:
            runs[job] = replace(progress, state="failed", note="the first arm left no budget")
        elif known:
            found.append((job, budget))
    return found


def _budget(
    study: Study, job: Job, out: Path, runs: Mapping[Job, Progress]
) -> tuple[bool, Budget | None]:
    """Return whether a run's budget is known yet, and the budget; None is that of the preset."""
    fixed = fixed_budget(study)
    if fixed is not None:
        return True, fixed
    if job.arm.name == study.arms[0]:
        asked = Budget(agent_episodes=study.budget_episodes, generated_tokens=study.budget_tokens)
        return True, asked if study.budget_episodes or study.budget_tokens else None
    first = next(each for each in runs if each.arm.name == study.arms[0] and each.seed == job.seed)
    if runs[first].state == "done":
        return True, spent(first.folder(out))
    return runs[first].state in ("failed", "stopped"), None


def _config(study: Study, job: Job, budget: Budget | None, held_out: str) -> Config:
    return arm_config(
        study.preset,
        job.arm,
        seed=job.seed,
        settings=study.settings,
        budget=budget,
        held_out=held_out,
    )


def _launch(
    folder: Path, config: Config, command: Command, stack: ExitStack
) -> subprocess.Popen[bytes]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name}.toml"
    replace_file(file.parent, file, to_toml(config, comments=False).encode())
    log = stack.enter_context((folder.parent / f"{folder.name}.log").open("ab"))
    # Its own session: Ctrl-C reaches this process alone, which then asks each run to stop.
    return subprocess.Popen(
        command(file, folder),
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def _settle(runs: dict[Job, Progress], live: dict[Job, subprocess.Popen[bytes]], out: Path) -> None:
    """Take note of the runs that have ended, and of how far the others are."""
    for job, process in list(live.items()):
        runs[job] = _read(runs[job], out)
        if process.poll() is None:
            continue
        del live[job]
        if process.returncode == 0 and _is_finished(job.folder(out)):
            runs[job] = replace(runs[job], state="done")
        else:
            note = _tail(job.folder(out)) or f"exit code {process.returncode}"
            runs[job] = replace(runs[job], state="failed", note=note)


def _stop(runs: dict[Job, Progress], live: dict[Job, subprocess.Popen[bytes]], out: Path) -> None:
    for process in live.values():
        process.terminate()
    for job, process in live.items():
        process.wait()
        runs[job] = replace(_read(runs[job], out), state="stopped")


def _read(progress: Progress, out: Path) -> Progress:
    folder = progress.job.folder(out)
    if not (folder / "run.json").is_file():
        return progress
    try:
        lines = read_metrics(folder / "metrics.jsonl")
    except StateError:
        return progress  # the report says which line is damaged
    last: dict[str, float] = {}
    for line in lines:
        last |= {key: value for key, value in line.items() if value is not None}
    return replace(progress, updates=sum("train/loss" in line for line in lines), last=last)


def _is_finished(folder: Path) -> bool:
    return (folder / "run.json").is_file() and finished(read(folder))


def _tail(folder: Path) -> str:
    """Return the end of what a run said."""
    log = folder.parent / f"{folder.name}.log"
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.is_file() else []
    return " ".join(lines[-_TAIL_LINES:])[-400:]
