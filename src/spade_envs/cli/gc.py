"""`gc`."""

from __future__ import annotations

from pathlib import Path

import click

from spade_envs.cli.stores import Finite, existing_store, json_option, store_option


@click.command("gc")
@store_option
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@click.option(
    "--older-than",
    "hours",
    type=Finite(0),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Age of half-written, empty and cached things that go.",
)
@click.option("--caches", is_flag=True, help="Also caches of other embedders and releases.")
@click.option("--rejected", type=Finite(0), metavar="DAYS", help="Also refused designs so old.")
@click.option(
    "--quarantine", type=Finite(0), metavar="DAYS", help="Also what was pulled and failed, so old."
)
@json_option
def gc_command(
    store: str | None,
    dry_run: bool,
    hours: float,
    caches: bool,
    rejected: float | None,
    quarantine: float | None,
    as_json: bool,
) -> None:
    """Remove what nothing can reach, such as what killed writers left behind.

    No version, tombstone or ledger is ever removed. Others may read and write meanwhile.
    """
    from spade_envs.cli.output import counted, echo_json, print_table, say
    from spade_envs.errors import StoreError
    from spade_envs.store.gc import DAY_S, Policy, collect, find_waste

    opened = existing_store(store)
    if opened.read_only and not dry_run:
        raise StoreError(f"{opened.root} is read-only; nothing can be removed from it")
    policy = Policy(
        staging_s=hours * 3600,
        caches=caches_in_use(opened.root) if caches else None,
        rejected_s=None if rejected is None else rejected * DAY_S,
        quarantine_s=None if quarantine is None else quarantine * DAY_S,
    )
    found = find_waste(opened.root, policy) if dry_run else collect(opened.root, policy)
    size = sum(each.size for each in found)
    if as_json:
        items = [
            {"kind": each.kind, "path": each.path, "bytes": each.size, "age_s": each.age_s}
            for each in found
        ]
        echo_json({"store": opened.root, "removed": not dry_run, "bytes": size, "items": items})
        return
    if found:
        columns = ("kind", "path", "KiB", "hours old")
        rows = [(w.kind, w.path, -(-w.size // 1024), f"{w.age_s / 3600:.1f}") for w in found]
        print_table("", columns, rows)
    verb = "would be removed" if dry_run else "removed"
    say(f"{counted(len(found), 'thing')} {verb}, {size / (1 << 20):.1f} MiB")


def caches_in_use(root: Path) -> frozenset[str]:
    """Return what this release reads in the `.cache/` of a store, as paths in it."""
    from spade_envs.interop.fingerprints import CACHE_FILE
    from spade_envs.memory.vectors import CURRENT, FOLDER, read_current
    from spade_envs.novelty.kept import CACHE_FILES

    current = read_current(root)
    memory = () if current is None else (f"{FOLDER}/{CURRENT}", f"{FOLDER}/{current.folder}")
    return frozenset({CACHE_FILE, *CACHE_FILES, *memory})
