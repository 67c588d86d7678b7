"""A whole study: held-out environments, runs, table, page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spade_envs.store.files import replace_file
from spade_train.config import Config
from spade_train.launch import look_for, write_heldout
from spade_train.reports import RunRecord, read, write_page
from spade_train.studies.arms import arm_config
from spade_train.studies.comparison import Comparison, compare
from spade_train.studies.document import document
from spade_train.studies.outcome import Outcome, outcome
from spade_train.studies.page import render
from spade_train.studies.plan import Study, jobs, open_study
from spade_train.studies.runner import Progress, Show, run_study


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A study that was run, as far as it came."""

    comparison: Comparison
    outcomes: tuple[Outcome, ...]
    records: Mapping[str, Sequence[RunRecord]]
    """The finished runs of every arm."""
    ended: tuple[Progress, ...] = ()
    """How every run ended, if they were run just now."""
    interrupted: bool = False


def conduct(study: Study, out: Path, *, at_once: int = 1, show: Show | None = None) -> Finished:
    """Run a study, or what is left of it, and write `compare.json`.

    Args:
        study: what is compared.
        out: its folder; the held-out environments and all runs lie in it.
        at_once: runs at the same time, >= 1.
        show: told now and then how far everything is.

    Raises:
        ConfigError: the folder holds something else, or an arm cannot be configured.
    """
    out = out.absolute()
    first = begin(study, out)
    evaluation = first.evaluation
    held_out = ""
    if evaluation.source == "nano" and evaluation.episodes:
        # Written once for all runs.
        held_out = str(out / "heldout")
        write_heldout(
            Path(held_out),
            count=evaluation.environments,
            seed=evaluation.seed,
            setting=first.setting,
        )
    ended = run_study(study, out, held_out=held_out, at_once=at_once, show=show)
    found = gather(study, out, ended)
    written = json.dumps(document(found.comparison, found.outcomes), indent=1)
    replace_file(out, out / "compare.json", written.encode())
    return found


def begin(study: Study, out: Path) -> Config:
    """Take a folder for a study, and return the configuration of its first run.

    Every configuration is made, and the stores and benchmarks that new runs need are looked for,
    before anything is started, so that mistakes show at once.

    Raises:
        ConfigError: the folder holds something else, or an arm cannot be configured.
    """
    configs: list[Config] = []
    seen: set[str] = set()
    for job in jobs(study):
        configs.append(arm_config(study.preset, job.arm, seed=job.seed, settings=study.settings))
        new = not (job.folder(out) / "run.json").is_file()
        if new and job.arm.name not in seen:  # an arm's seeds need the same
            seen.add(job.arm.name)
            look_for(configs[-1])
    open_study(study, out)
    return configs[0]


def gather(study: Study, out: Path, ended: Sequence[Progress] = ()) -> Finished:
    """Return the table of a study from the runs in its folder.

    Args:
        study: what is compared.
        out: its folder.
        ended: how the runs ended, for those that are not finished.
    """
    outcomes: list[Outcome] = []
    records: dict[str, list[RunRecord]] = {name: [] for name in study.arms}
    for job in jobs(study):
        if not (job.folder(out) / "run.json").is_file():
            continue
        record = read(job.folder(out))
        found = outcome(record, job.arm.name, job.seed)
        if found is not None:
            outcomes.append(found)
            records[job.arm.name].append(record)
    failures = [
        f"{progress.job.name} {_unfinished(progress)}"
        for progress in ended
        if progress.state != "done"
    ]
    comparison = compare(
        study,
        outcomes,
        abouts={name: study.arm(name).about for name in study.arms},
        failures=failures,
    )
    stopped = any(progress.state in ("stopped", "waiting") for progress in ended)
    return Finished(
        comparison=comparison,
        outcomes=tuple(outcomes),
        records=records,
        ended=tuple(ended),
        interrupted=stopped,
    )


def _unfinished(progress: Progress) -> str:
    if progress.state == "failed":
        return f"failed: {progress.note}"
    return "was interrupted" if progress.state == "stopped" else "was not started"


def write_study_page(found: Finished, file: Path, *, made_at: str, title: str = "") -> None:
    """Write the page of a study; without a title it names the arms."""
    arms = found.comparison.study.arms
    title = title or f"spade-train compare: {arms[0]} against {', '.join(arms[1:]) or 'nothing'}"
    write_page(file, render(found.comparison, found.records, title=title, made_at=made_at))
