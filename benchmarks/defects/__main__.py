"""`python -m benchmarks.defects`: plant defects, check, print recall; exit 1 if a bar is missed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.defects import figures as counting
from benchmarks.defects import suite
from benchmarks.defects.figures import Figures
from benchmarks.defects.operators import BY_ID, OPERATORS
from benchmarks.defects.planting import Planted, code_of
from spade_envs.gates import GATES_VERSION


@click.command()
@click.option("--operators", help="Names of operators, separated by commas; all by default.")
@click.option("--environments", help="Names of environments, separated by commas.")
@click.option("--per-operator", default=10, help="Effective mutants wanted of each operator.")
@click.option("--jobs", default=2, help="Processes.")
@click.option(
    "--state",
    default="runs/defects",
    type=click.Path(path_type=Path),
    help="Folder in which planted mutants and verdicts are kept.",
)
@click.option(
    "--again",
    type=click.Choice(["no", "missed", "changed", "all"]),
    default="no",
    help="Which kept verdicts to repeat.",
)
@click.option(
    "--variants",
    type=click.Choice(["none", "some", "all"]),
    default="some",
    help="Sound variants to judge.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write figures there.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table there.")
@click.option("--save-missed", type=click.Path(path_type=Path), help="Write missed mutants there.")
def main(
    operators: str | None,
    environments: str | None,
    per_operator: int,
    jobs: int,
    state: Path,
    again: str,
    variants: str,
    json_file: Path | None,
    markdown: Path | None,
    save_missed: Path | None,
) -> None:
    """Measure the gates on planted defects and on harmless rewrites."""
    names = operators.split(",") if operators else [operator.id for operator in OPERATORS]
    unknown = [name for name in names if name not in BY_ID]
    if unknown:
        raise click.UsageError(f"no such operators: {', '.join(unknown)}")
    chosen = set(environments.split(",")) if environments else None
    console = Console(stderr=True)
    planted = suite.plant_all(names, per_operator, state, jobs, progress(console))
    planted = [one for one in planted if chosen is None or one.environment in chosen]
    verdicts = suite.judge_all(planted, state, jobs, progress(console), again=repeated(again))
    pairs = suite.variants(variants == "all") if variants != "none" else []
    pairs = [pair for pair in pairs if chosen is None or pair[1] in chosen]
    said = suite.judge_variants(pairs, state, jobs, progress(console), again=accused(again))
    found = counting.figures(planted, verdicts, said)
    show(Console(), found)
    if markdown is not None:
        markdown.write_text(counting.markdown(found) + "\n", encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(found), indent=2) + "\n", encoding="utf-8")
    if save_missed is not None:
        save(planted, verdicts, save_missed)
    sys.exit(1 if found.misses() else 0)


def progress(console: Console) -> suite.Progress:
    """Return what shows how far a run is: a line that is written over, on a terminal only."""

    def tell(label: str, done: int, total: int) -> None:
        if console.is_terminal or done == total or done % 50 == 0:
            console.print(f"{label}: {done} of {total}", end="\r" if done < total else "\n")

    return tell


def repeated(again: str):  # type: ignore[no-untyped-def]
    """Return which kept verdicts on mutants to repeat."""
    return lambda row: (
        again == "all"
        or (again != "no" and not row["failed"])
        or (again == "changed" and row.get("judges") != suite.judges())
    )


def accused(again: str):  # type: ignore[no-untyped-def]
    """Return which kept verdicts on sound variants to repeat."""
    return lambda row: (
        again == "all"
        or (again != "no" and bool(row.get("failed")))
        or (again == "changed" and row.get("judges") != suite.judges())
    )


def show(console: Console, found: Figures) -> None:
    """Print the figures."""
    table = Table(title=f"Planted defects, gates {GATES_VERSION}", title_justify="left")
    for heading in ("operator", "effective", "caught", "first gates", "published", "check_env"):
        table.add_column(heading)
    for line in found.lines:
        style = "red" if line.recall < counting.MIN_OPERATOR_RECALL else None
        gates = " ".join(f"{gate}:{count}" for gate, count in line.gates[:3])
        table.add_row(
            line.operator,
            str(line.effective),
            str(line.caught),
            gates,
            str(line.published),
            str(line.check_env),
            style=style,
        )
    console.print(table)
    dropped = sum(line.dropped for line in found.lines)
    console.print(
        f"{found.caught} of {found.effective} effective mutants caught "
        f"({found.recall:.1%}); {dropped} dropped for want of a witness"
    )
    for text, refused, healthy in (
        ("published rules", "published", found.sound_published),
        ("published rules with random guesses", "published_guess", found.sound_guess),
        ("Gymnasium's check_env", "check_env", found.sound_check_env),
    ):
        count = sum(getattr(line, refused) for line in found.lines)
        console.print(
            f"  {text}: {count} of {found.effective} "
            f"({count / max(1, found.effective):.1%}); accuses {healthy} of "
            f"{found.sound} sound variants"
        )
    console.print(
        f"{len(found.accused)} of {found.sound} sound variants accused "
        f"({found.false_rate:.1%}); {found.seconds:.0f} s of checking"
    )
    for text in found.accused:
        console.print(f"  {text}", soft_wrap=True, markup=False)
    for text in found.misses():
        console.print(f"MISS  {text}", style="bold red")


def as_json(found: Figures) -> dict[str, Any]:
    """Return the figures as plain JSON."""
    return {
        "gates_version": GATES_VERSION,
        **asdict(found),
        "effective": found.effective,
        "caught": found.caught,
        "recall": found.recall,
        "false_rate": found.false_rate,
    }


def save(planted: list[Planted], verdicts: Mapping[str, suite.Verdict], folder: Path) -> None:
    """Write the sources of the mutants that no gate failed."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in planted:
        if one.witness and not verdicts[one.sha256].failed:
            path = folder / f"{one.operator}--{one.environment}.py"
            path.write_text(f"# {one.witness}\n{code_of(one)}", encoding="utf-8")


if __name__ == "__main__":
    main()
