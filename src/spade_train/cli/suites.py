"""`spade-train suites`: which benchmarks there are, and installing what they need."""

from __future__ import annotations

import json
import subprocess
import sys

import click


@click.group("suites", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.pass_context
def suites_command(ctx: click.Context, as_json: bool) -> None:
    """List the benchmarks that `spade-train eval` knows, and whether each can be played here.

    `ready` is played as it is, `needs path` with `--set path=...`, `missing` must be installed.
    """
    from spade_train.suites.registry import SUITES, readiness

    if ctx.invoked_subcommand is not None:
        return
    rows = []
    for name, entry in SUITES.items():
        found = readiness(name)
        rows.append(
            {
                "name": name,
                "ready": found.ready,
                "state": found.state,
                "about": entry.about,
                "mend": found.mend,
                "settings": dict(entry.settings),
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width, wide = (max(len(str(row[key])) for row in rows) for key in ("name", "state"))
    for row in rows:
        click.echo(f"{row['name']:<{width}}  {row['state']:<{wide}}  {row['about']}")
        if row["mend"]:
            click.echo(f"{'':<{width}}  {'':<{wide}}  {row['mend']}")
    click.echo("Settings of one: spade-train suites show NAME", err=True)


@suites_command.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show what a benchmark needs and what can be set."""
    from spade_train.suites.registry import entry_of, packages_of, readiness

    entry, found = entry_of(name), readiness(name)
    click.echo(f"{name}: {entry.about}")
    if entry.modules:
        click.echo(f"needs {', '.join(entry.modules)}, here or in {packages_of(name)}")
    for key, text in entry.settings.items():
        click.echo(f"  --set {key}=...  {text}")
    if found.mend:
        click.echo(found.mend)


@suites_command.command("install")
@click.argument("name")
def install(name: str) -> None:
    """Install what a benchmark needs into a folder of its own, apart from your environment.

    Exit code 0 if it is there now, 2 for wrong usage, 3 if pip failed.
    """
    from spade_train.cli import MACHINERY
    from spade_train.suites.registry import entry_of, packages_of

    entry = entry_of(name)
    if not entry.pip:
        click.echo(f"{name} needs nothing that pip could install", err=True)
        return
    folder = packages_of(name)
    for arguments in entry.pip:
        line = [sys.executable, "-m", "pip", "install", "--upgrade", "--target", str(folder)]
        click.echo(" ".join([*line[1:], *arguments]), err=True)
        if subprocess.run([*line, *arguments], check=False, stdout=sys.stderr).returncode:
            click.echo("error: pip failed; see above", err=True)
            sys.exit(MACHINERY)
    click.echo(str(folder))


@suites_command.command("contamination")
@click.argument("name")
@click.option(
    "--store", metavar="DIR", help="Envstore to look through, or `starter`. [default: yours]"
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of the benchmark.")
@click.option("--limit", type=click.IntRange(1), help="The first so many tasks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
def contamination(
    name: str, store: str | None, settings: tuple[str, ...], limit: int | None, as_json: bool
) -> None:
    """Look for a benchmark's tasks in the environments of a store.

    Exit code 0 if none holds one, 1 if some do, or environments or tasks could not be looked at, 2
    for wrong usage, 3 if the machinery failed.
    """
    from spade_envs.store import open_store, starter_path
    from spade_train.cli import MACHINERY
    from spade_train.errors import SuiteError
    from spade_train.evaluate.contamination import contaminations, openings
    from spade_train.suites.registry import open_suite, read_settings

    opened = open_store(starter_path() if store == "starter" else store)
    try:
        suite = open_suite(name, read_settings(settings))
    except SuiteError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    try:
        asked = openings(suite, limit=limit)
    except SuiteError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(MACHINERY)
    finally:
        suite.close()
    if asked.unopened:
        click.echo(f"{asked.unopened} tasks cannot be opened: nothing is known of them", err=True)
    if asked.short:
        click.echo(
            f"{asked.short} tasks begin with too few words to be compared: "
            "nothing is known of them",
            err=True,
        )
    texts = asked.texts
    rows = [
        {"id": record.id, "outcome": found.outcome, "message": found.message}
        for record, found in contaminations(opened, texts)
    ]
    if as_json:
        left_out = {"unopened": asked.unopened, "short": asked.short}
        told = {"texts": len(texts), **left_out, "environments": rows}
        click.echo(json.dumps(told, indent=2))
    else:
        for row in rows:
            if row["outcome"] != "pass":
                click.echo(f"{row['id']}  {row['outcome']}  {row['message']}")
        click.echo(f"{len(texts)} tasks, {len(rows)} environments", err=True)
    unknown = asked.unopened or asked.short
    sys.exit(1 if unknown or any(row["outcome"] != "pass" for row in rows) else 0)
