"""Certify the hand-written environments and keep them in the starter store.

    scripts/build_starter.py FOLDER         add every FOLDER/<name>.py that starter.toml lists
    scripts/build_starter.py FOLDER NAME... only these
    scripts/build_starter.py --recertify    run the gates again on what the store holds

`starter.toml`, beside this script, gives titles and skills. The source of truth for code is
`envstore/envs/<name>/v<N>/env.py`; changed code becomes a new version, unchanged code keeps its
version and its report. `--recertify` writes new manifests and reports, for a new version of the
gates; it refuses to change a digest. Whatever the gates refuse is left out, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from spade_envs.gates import check
from spade_envs.ids import EnvId
from spade_envs.store import EnvStore, open_store
from spade_envs.types import EnvSource, Record, Report

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_name("starter.toml")


def certify(name: str, source: EnvSource) -> Report | None:
    """Run the gates; return the report if it accepts the source, else say why not."""
    report = check(source)
    verdict = "certified" if report.accepted else "REFUSED"
    sys.stdout.write(
        f"{name}: {verdict} by {len(report.results)} gates, {report.elapsed_s:.1f} s\n"
    )
    for result in report.results:
        if result.outcome in ("fail", "warn"):
            sys.stdout.write(f"  {result.gate} {result.outcome}: {result.message}\n")
    sys.stdout.flush()
    return report if report.accepted else None


def build(store: EnvStore, folder: Path, names: list[str]) -> bool:
    """Add sources from a folder to the store; return whether all of them were certified."""
    table: dict[str, dict[str, Any]] = tomllib.loads(TABLE.read_text("utf-8"))
    fine = True
    for name in names or sorted(table):
        path = folder / f"{name}.py"
        if not path.is_file() and not names:
            continue
        source = EnvSource(code=path.read_text("utf-8"), origin=str(path))
        report = certify(name, source)
        fine = fine and report is not None
        if report is not None:
            record = store.add(source, report, origin(), name=name, **table[name])
            sys.stdout.write(f"  {record.id} {record.digest}\n")
    return fine


def origin() -> dict[str, Any]:
    """Return the provenance of what is written by hand here."""
    return {"method": "hand-written", "author": "spade-envs maintainers"}


def recertify(store: EnvStore) -> bool:
    """Check every version again and renew its manifest and report; return whether all passed."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = open_store(Path(folder) / "store", create=True)
        fine = True
        for record in sorted(store.records(), key=lambda record: EnvId.parse(record.id)):
            again = renew(store, record, fresh)
            fine = fine and again is not None
            if again is not None:
                place = (
                    Path("envs")
                    / EnvId.parse(record.id).name
                    / f"v{EnvId.parse(record.id).version}"
                )
                shutil.copytree(fresh.root / place, store.root / place, dirs_exist_ok=True)
    store.reindex()
    return fine


def renew(store: EnvStore, record: Record, fresh: EnvStore) -> Record | None:
    """Certify one version again into another store, under the same id and digest."""
    source = store.source(record)
    report = certify(record.id, source)
    if report is None:
        return None
    manifest = store.manifest(record)
    again = fresh.add(
        source,
        report,
        manifest.provenance,
        name=EnvId.parse(record.id).name,
        skills=record.skills,
        title=record.title,
        licence=record.licence,
    )
    if (again.id, again.digest) != (record.id, record.digest):
        sys.stdout.write(f"  its identity would change to {again.id} {again.digest}: left alone\n")
        return None
    return again


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="folder of sources, <name>.py each")
    parser.add_argument("names", nargs="*", help="names of starter.toml; all by default")
    parser.add_argument("--store", type=Path, default=ROOT / "envstore")
    parser.add_argument("--recertify", action="store_true")
    options = parser.parse_args()
    if options.recertify == (options.folder is not None):
        parser.error("give either a folder of sources or --recertify")
    store = open_store(options.store, create=not options.recertify)
    fine = recertify(store) if options.recertify else build(store, options.folder, options.names)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
