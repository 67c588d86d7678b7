"""What an evaluation came to: means with intervals over tasks and over samples, faults apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from spade_envs.intervals import Interval, mean_interval, wilson
from spade_envs.types import Json
from spade_train.evaluate.records import Header, Record, read_header, read_records
from spade_train.suites.base import UNANSWERED

INTERVALS = (
    "95 % over tasks: Wilson's, with the number of attempts that the spread between tasks is worth"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Attempts at some tasks, summed up. Faults are in `faults` alone."""

    tasks: int
    """Tasks with at least one result."""
    attempts: int
    """Results."""
    success: float | None
    """Mean over tasks of the share of attempts that succeeded; None without results."""
    low: float | None
    high: float | None
    """Ends of the interval over tasks."""
    sample_deviation: float | None = None
    """Standard deviation of the success of one sample of every task; None below two samples."""
    sample_low: float | None = None
    sample_high: float | None = None
    """Ends of the interval of the mean over samples, the tasks taken as given."""
    any_success: float | None = None
    """Share of tasks that succeeded at least once (pass at the number of samples)."""
    all_success: float | None = None
    """Share of tasks that succeeded every time."""
    value: float | None = None
    """Mean over tasks of the mean score, partial credit included."""
    faults: int = 0
    unanswered: int = 0
    """Of the faults, those that are only a task without a reference, where the oracle played."""
    stopped: int = 0
    """Attempts that were broken off at the limit of turns or of context."""
    cut: int = 0
    """Attempts with a reply that was broken off at its greatest length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One evaluation, summed up."""

    header: Header
    overall: Figures
    groups: Mapping[str, Figures]
    """In the order of the suite; those of which nothing was played are missing."""
    macro: float | None
    """Mean of the groups' success, each counted once."""
    faults: Mapping[str, int]
    """How often, by place and reason, the most frequent first."""
    unanswered: tuple[str, ...] = ()
    """Tasks for which the suite has no reference, if the oracle played."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    elapsed_s: float = 0.0
    """Longest attempt."""

    def as_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        return {**asdict(self), "intervals": INTERVALS, "digest": self.header.digest}


def summarize(header: Header, records: Sequence[Record]) -> Summary:
    """Return what some records of one evaluation came to.

    Args:
        header: of the evaluation.
        records: one per attempt.
    """
    groups = {
        group: figures([each for each in records if each.group == group])
        for group in dict.fromkeys([*header.group_tasks, *(each.group for each in records)])
    }
    played = {group: found for group, found in groups.items() if found.attempts or found.faults}
    rates = [found.success for found in played.values() if found.success is not None]
    faults: dict[str, int] = {}
    for record in records:
        if record.fault is not None:
            text = f"{record.fault.where}: {record.fault.reason}"
            faults[text] = faults.get(text, 0) + 1
    reference = [r.task for r in records if r.fault == UNANSWERED]
    return Summary(
        header=header,
        overall=figures(records),
        groups=played,
        macro=sum(rates) / len(rates) if rates else None,
        faults=dict(sorted(faults.items(), key=lambda item: -item[1])),
        unanswered=tuple(dict.fromkeys(reference)),
        tokens={
            "prompt": sum(each.prompt_tokens for each in records),
            "completion": sum(each.completion_tokens for each in records),
        },
        elapsed_s=max((each.elapsed_s for each in records), default=0.0),
    )


def read_summary(folder: Path) -> Summary:
    """Return what the evaluation in a folder came to: the samples and tasks asked for last.

    Raises:
        ConfigError: it is no folder of an evaluation.
        StateError: its records are damaged.
    """
    header = read_header(folder)
    return summarize(header, asked_records(folder, header))


def asked_records(folder: Path, header: Header) -> list[Record]:
    """Return the records in a folder of the samples asked for last.

    Raises:
        StateError: they are damaged.
    """
    return [each for each in read_records(folder) if each.sample < header.samples]


def figures(records: Sequence[Record]) -> Figures:
    """Return the figures of some records."""
    fair = [each for each in records if each.fault is None and each.success is not None]
    rates = task_rates(fair)
    means = list(rates.values())
    success = sum(means) / len(means) if means else None
    interval = _over_tasks(means, len(fair)) if success is not None else (None, None)
    by_sample: dict[int, list[float]] = {}
    values: dict[str, list[float]] = {}
    for each in fair:
        by_sample.setdefault(each.sample, []).append(float(bool(each.success)))
        values.setdefault(each.task, []).append(each.value or 0.0)
    samples = [_mean(wins) for wins in by_sample.values()]
    deviation, spread = _over_samples(samples)
    return Figures(
        tasks=len(means),
        attempts=len(fair),
        success=success,
        low=interval[0],
        high=interval[1],
        sample_deviation=deviation,
        sample_low=spread[0] if spread else None,
        sample_high=spread[1] if spread else None,
        any_success=_mean([float(rate > 0) for rate in means]),
        all_success=_mean([float(rate == 1) for rate in means]),
        value=_mean([_mean(each) or 0.0 for each in values.values()]),
        faults=len(records) - len(fair),
        unanswered=sum(each.fault == UNANSWERED for each in records),
        stopped=sum(bool(each.stopped) for each in fair),
        cut=sum(each.cut > 0 for each in fair),
    )


def task_rates(records: Sequence[Record]) -> dict[str, float]:
    """Return the share of successful attempts by task; faults are left out."""
    wins: dict[str, list[float]] = {}
    for each in records:
        if each.fault is None and each.success is not None:
            wins.setdefault(each.task, []).append(float(each.success))
    return {task: sum(found) / len(found) for task, found in wins.items()}


def _over_tasks(means: Sequence[float], attempts: int) -> Interval:
    """Return Wilson's interval with the effective number of attempts.

    Attempts at one task are alike, so they are worth between one per task and all of them: as many
    as would give the variance that is seen between tasks.

    Source: N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3 (2015), 484-503.
    """
    tasks = len(means)
    rate = sum(means) / tasks
    worth = float(tasks)
    if tasks > 1 and 0.0 < rate < 1.0:
        variance = sum((mean - rate) ** 2 for mean in means) / (tasks - 1) / tasks
        worth = rate * (1.0 - rate) / variance if variance > 0 else float(attempts)
    trials = round(min(float(attempts), max(float(tasks), worth)))
    return wilson(rate * trials, trials)


def _over_samples(samples: Sequence[float | None]) -> tuple[float | None, Interval | None]:
    rates = [each for each in samples if each is not None]
    if len(rates) < 2:
        return None, None
    mean = sum(rates) / len(rates)
    deviation = (sum((each - mean) ** 2 for each in rates) / (len(rates) - 1)) ** 0.5
    return deviation, mean_interval(sum(rates), sum(r * r for r in rates), len(rates))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
