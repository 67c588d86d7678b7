"""What one run of a study came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spade_train.config.learning import Budget
from spade_train.reports import RunRecord, read
from spade_train.reports.figures import Figures, figures
from spade_train.reports.series import curve, family_of

DONE = ("updates", "budget")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished run."""

    arm: str
    seed: int
    held_out: float
    """Success on the held-out instances after the last update."""
    held_out_first: float | None
    """The same before the first update; None if it was not measured there."""
    held_out_episodes: int | None
    groups: Mapping[str, float] = field(default_factory=dict)
    """Held-out success after the last update by level (`level-3`) and by group."""
    pool_families: tuple[str, ...] = ()
    """Families of the programs in a fixed pool that the designer wrote, sorted; empty if the run
    had none, or their families are not known."""
    figures: Figures


def finished(record: RunRecord) -> bool:
    """Whether a run came to its own end, by its updates or by its budget."""
    return record.stopped.partition(":")[0] in DONE


def outcome(record: RunRecord, arm: str, seed: int) -> Outcome | None:
    """Return what a run came to; None if it is not finished or was never evaluated."""
    found = figures(record)
    if not finished(record) or found.held_out is None:
        return None
    groups = family_of(record.metrics, "eval/success/")
    episodes = curve(record.metrics, "eval/episodes", "episodes")
    held = found.held_out
    return Outcome(
        arm=arm,
        seed=seed,
        held_out=held.last,
        held_out_first=held.first if held.first_update == 0 and held.evaluations > 1 else None,
        held_out_episodes=int(episodes.values[-1]) if episodes else None,
        groups={group.name: float(group.values[-1]) for group in groups},
        pool_families=pool_families(record),
        figures=found,
    )


def pool_families(record: RunRecord) -> tuple[str, ...]:
    """Return the families of the programs that the designer wrote for a fixed pool, sorted."""
    if record.config.pool.source != "designer":
        return ()
    written = (event for event in record.of_kind("designed") if event["update"] < 0)
    found = {event.get("family") for event in written if isinstance(event.get("env"), str)}
    return tuple(sorted(name for name in found if isinstance(name, str) and name))


def spent(path: Path) -> Budget | None:
    """Return the budget under which another run may spend what a finished one has spent."""
    record = read(path)
    found = figures(record)
    if not finished(record) or not found.agent_episodes or not found.generated_tokens:
        return None
    return Budget(agent_episodes=found.agent_episodes, generated_tokens=found.generated_tokens)
