"""A store of 50,000 environments: `list` and `verify --quick`, beside reading and hashing alone.

`python -m benchmarks.large_store DIR --count 50000` makes one to try other things with. It holds
copies of the starter environments, each with a line of its own in its source, and so with a digest,
a report, a manifest and a seal of its own; nothing in it was checked by a gate under its new name.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave
from spade_envs.manifest.canonical import sealed
from spade_envs.store import index, open_store, starter_path
from spade_envs.store.catalog import render
from spade_envs.store.files import now_ns, replace_file
from spade_envs.store.layout import CATALOG, ENVS, MANIFEST, REPORT, SOURCE

BAR_S = 10.0
"""Seconds by the clock, and for `list` those of the processor as well."""

_HASH_ALL = """\
import hashlib, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            hashlib.sha256(file.read()).hexdigest()
"""


def run(scale: Scale) -> Result:
    """Measure the seconds of each command, in fresh processes that take turns."""
    clock: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "store"
        fill(root, scale.versions)
        ours = (sys.executable, "-m", "spade_envs")
        commands = {
            "list": (*ours, "list", "--store", str(root)),
            "list --json": (*ours, "list", "--json", "--store", str(root)),
            "verify --quick": (*ours, "verify", "--quick", "--store", str(root)),
            "read and hash": (sys.executable, "-c", _HASH_ALL, str(root / ENVS)),
        }
        contenders = {
            name: _command(command, clock.setdefault(name, []))
            for name, command in commands.items()
        }
        taken = interleave(scale.at_most(3), contenders)
    series = [Series(name, "processor s", samples) for name, samples in taken.items()]
    medians = {each.name: each.median for each in series}
    claims = [
        Claim(
            f"{name}, {scale.versions} environments: processor seconds", medians[name], BAR_S, False
        )
        for name in ("list", "list --json")
    ]
    for name in ("list", "list --json", "verify --quick"):
        series.append(Series(f"{name}, by the clock", "s", tuple(clock[name])))
        claims.append(Claim(f"{name}: seconds by the clock", series[-1].median, BAR_S, False))
    times = medians["verify --quick"] / medians["read and hash"]
    note = (
        f"verify --quick shares its work out to the processors there are; it takes {times:.2f} "
        "times the processor time of reading and hashing the files"
    )
    return Result("large-store", tuple(series), tuple(claims), (note,))


def _command(command: Sequence[str], clock: list[float]) -> Measure:
    def measure() -> float:
        before, start = _children_s(), time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
        clock.append(time.perf_counter() - start)
        return _children_s() - before

    return measure


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class _Template:
    """One starter environment, and what changes in its copies."""

    name: str
    manifest: bytes
    source: bytes
    report: bytes
    line: index.IndexLine
    source_sha: bytes
    report_sha: bytes
    seal: bytes

    def copy(self, number: int, version: int) -> tuple[index.IndexLine, dict[str, bytes]]:
        """Return a copy's line of the index and its files."""
        env_id = f"spade/{self.name}-{number:06d}-v{version}"
        source = self.source + b"# copy %d, version %d\n" % (number, version)
        source_sha = hashlib.sha256(source).hexdigest().encode()
        report = self.report.replace(self.source_sha, source_sha)
        manifest = (
            self.manifest.replace(self.line.id.encode(), env_id.encode())
            .replace(self.source_sha, source_sha)
            .replace(b'"size": %d' % len(self.source), b'"size": %d' % len(source))
            .replace(self.report_sha, hashlib.sha256(report).hexdigest().encode())
            .replace(self.seal, b"0" * 64)
        )
        files, after = manifest.index(b'\n  "files": '), manifest.index(b'\n  "id": ')
        interface, end = manifest.index(b'\n  "interface": '), manifest.index(b',\n  "licence": ')
        identity = b"{" + manifest[files:after] + manifest[interface:end] + b"\n}\n"
        digest = f"sha256:{hashlib.sha256(identity).hexdigest()}"
        manifest = sealed(manifest.replace(self.line.digest.encode(), digest.encode()))
        values = {each: getattr(self.line, each) for each in index.IndexLine.__struct_fields__}
        line = index.IndexLine(**{**values, "id": env_id, "digest": digest})
        return line, {MANIFEST: manifest, SOURCE: source, REPORT: report}


def _templates() -> list[_Template]:
    root = starter_path()
    if root is None:
        raise RuntimeError("there is no starter store")
    found = []
    for line in index.load(root):
        name, _, version = line.id.removeprefix("spade/").rpartition("-v")
        folder = root / ENVS / name / f"v{version}"
        source, report = (folder / SOURCE).read_bytes(), (folder / REPORT).read_bytes()
        manifest = (folder / MANIFEST).read_bytes()
        seal = manifest.partition(b'\n  "seal": "')[2][:64]
        hashes = (hashlib.sha256(data).hexdigest().encode() for data in (source, report))
        found.append(_Template(name, manifest, source, report, line, *hashes, seal))
    return found


def fill(root: Path, count: int) -> None:
    """Make a store of so many environments, fast: nothing is synced."""
    open_store(root, create=True)
    begun_ns = now_ns(root)
    lines = place(root, range(count), version=0)
    index.write_index(root, lines, scanned_at_ns=begun_ns)
    replace_file(root, root / CATALOG, render(lines), sync=False)


def place(root: Path, numbers: Iterable[int], *, version: int) -> list[index.IndexLine]:
    """Write one version of each of these copies into a store, and return their lines, sorted."""
    templates = _templates()
    lines = []
    for number in numbers:
        line, files = templates[number % len(templates)].copy(number, version)
        name = line.id.removeprefix("spade/").removesuffix(f"-v{version}")
        folder = f"{root}/{ENVS}/{name}/v{version}"
        os.makedirs(folder)
        for file_name, data in files.items():
            with open(f"{folder}/{file_name}", "wb") as file:
                file.write(data)
        lines.append(line)
    return sorted(lines, key=index.order)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--count", type=click.IntRange(1), default=50_000, show_default=True)
def main(folder: Path, count: int) -> None:
    """Make a large store in FOLDER, which must not exist yet or be empty."""
    fill(folder.absolute(), count)
    click.echo(f"{count} environments in {folder}")


if __name__ == "__main__":
    main()
