"""Checking many targets with one progress bar, for `check` and `import`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from spade_envs.gates.subject import Depth
    from spade_envs.interop import Checked

F = TypeVar("F", bound=Callable[..., Any])


def run_options(command: F) -> F:
    """Add `--seeds`, `--deadline` and `--jobs`."""
    options = (
        click.option("--seeds", type=click.IntRange(3, 1000), default=20, show_default=True),
        click.option(
            "--deadline",
            "deadline_s",
            type=click.FloatRange(1),
            default=120.0,
            show_default=True,
            help="Seconds for one target; gates left over are skipped.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1, 64),
            default=2,
            show_default=True,
            help="Targets that are checked at a time.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_many(
    names: Sequence[str],
    store: str | None,
    *,
    jobs: int,
    depth: Depth,
    seeds: int,
    deadline_s: float,
    show: Callable[[Checked], None] | None = None,
) -> list[Checked]:
    """Resolve every name, check what it stands for, and return it all in the order of the names.

    Args:
        names: what the user typed.
        store: the only store to look ids up in, or None for every discovered one.
        jobs: targets that are checked at a time.
        depth: see `gates.check`.
        seeds: see `gates.check`.
        deadline_s: for each target.
        show: called with each result as it is known, if there are few.

    Raises:
        NotFound: a name stands for nothing.
    """
    from spade_envs.cli.output import progress
    from spade_envs.cli.stores import readable_stores
    from spade_envs.interop import check_all, resolve

    targets = [item for name in names for item in resolve(name, lambda: readable_stores(store))]
    settings: Any = {"jobs": jobs, "depth": depth, "seeds": seeds, "deadline_s": deadline_s}
    found: dict[int, Checked] = {}
    with progress(len(targets), "checking") as bar:
        for position, checked in check_all(targets, **settings):
            found[position] = checked
            bar.advance(bar.task_ids[0])
            if show is not None and len(targets) <= FEW:
                bar.stop()
                show(checked)
                bar.start()
    return [found[position] for position in range(len(targets))]


FEW = 5
"""Up to so many targets every report is printed; beyond, one table."""


def as_json(checked: Checked) -> dict[str, Any]:
    """Return one result as plain JSON."""
    from spade_envs.gates import report_to_json

    library = checked.target.library
    return {
        "target": checked.target.label,
        "accepted": checked.accepted,
        "verdict": word(checked),
        "error": checked.error or None,
        "library": f"{library.name} {library.version}".strip() if library else None,
        "weakened": checked.weakened,
        "report": None if checked.report is None else report_to_json(checked.report),
    }


def word(checked: Checked) -> str:
    """Return `accepted`, `passes`, `refused` or `not checked`."""
    from spade_envs.cli.verdicts import verdict

    return "not checked" if checked.report is None else verdict(checked.report)


def print_one(checked: Checked, *, every: bool) -> None:
    """Print one result in full."""
    from spade_envs.cli.output import clean
    from spade_envs.cli.verdicts import print_report

    if checked.report is None:
        click.echo(f"{clean(checked.target.label)}: not checked: {clean(checked.error)}")
        return
    print_report(checked.target.label, checked.report, every=every)
    if checked.weakened:
        click.echo(f"isolation: {checked.report.layers[-1]}")


def print_summary(results: Sequence[Checked]) -> None:
    """Print one row for each result, and the count."""
    from spade_envs.cli.output import print_table

    if len(results) > FEW:
        rows = [(item.target.label, *_row(item)) for item in results]
        print_table("", ("target", "verdict", "gates", "what was found", "seconds"), rows)
    words = [word(item) for item in results]
    shown = [w for w in ("accepted", "passes", "refused", "not checked") if w in words]
    counts = ", ".join(f"{words.count(w)} {w}" for w in shown)
    click.echo(f"{len(results)} targets: {counts}")


def _row(checked: Checked) -> tuple[str, str, str, str]:
    report = checked.report
    if report is None:
        return "not checked", "", checked.error, ""
    passed = sum(result.outcome == "pass" for result in report.results)
    found = next((f"{r.gate} {r.message}" for r in report.failures), "")
    if not found and word(checked) == "refused":
        found = "the gates did not all run"
    return word(checked), f"{passed}/{len(report.results)}", found[:300], f"{report.elapsed_s:.1f}"
