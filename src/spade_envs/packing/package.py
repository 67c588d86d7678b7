"""A set of environments as an ordinary Python package that registers itself in Gymnasium.

The package holds a format-1 store and four lines of code. It needs gymnasium and spade-envs alone,
its environments run in the sandbox like those of any store, and it writes nothing when it is used.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from spade_envs._version import __version__
from spade_envs.errors import ConfigError, IdError
from spade_envs.ids import NAMESPACE, EnvId, check_name
from spade_envs.manifest.canonical import FORMAT, canonical_json
from spade_envs.packing import licences
from spade_envs.packing.card import Sheet, render_card, sheet_of
from spade_envs.packing.chosen import Chosen, read_all
from spade_envs.packing.wheel import build_wheel
from spade_envs.store import EnvStore
from spade_envs.store.catalog import render
from spade_envs.store.discovery import PACKED
from spade_envs.store.index import IndexLine, encode, line_of
from spade_envs.store.layout import CATALOG, INDEX, MARKER, version_path
from spade_envs.store.outside import check_new, new_folder
from spade_envs.types import Record

_OURS = frozenset({NAMESPACE, "spade-envs", "spade-train", "gymnasium"})


@dataclass(frozen=True, slots=True)
class PackName:
    """The name of a package: `our-envs` to pip and Gymnasium, `our_envs` to Python.

    Raises:
        ConfigError: it is no name, or it would hide something that Python or this installation has.
    """

    text: str
    version: str = "0.1.0"

    def __post_init__(self) -> None:
        try:
            check_name(self.text)
        except IdError as error:
            near = "-".join(re.findall("[a-z0-9]+", self.text.lower()))[:60] or "our-envs"
            told = f"write lower-case letters, digits and hyphens, such as {near}"
            why = error if near == self.text else told
            raise ConfigError(f"--name {self.text!r} is no name of a package: {why}") from None
        if "." in self.text or not self.module.isidentifier() or keyword.iskeyword(self.module):
            raise ConfigError(f"--name {self.text}: {self.module!r} is no name of a Python module")
        if self.text in _OURS or self.module in sys.stdlib_module_names | {"test"}:
            raise ConfigError(
                f"--name {self.text} is taken; choose another, such as my-{self.text}"
            )
        if stranger := _imported_by(self.module):
            told = f"{self.module!r} is how {stranger} is imported; choose another"
            raise ConfigError(f"--name {self.text}: {told}")
        try:
            version = str(Version(self.version))
        except InvalidVersion:
            raise ConfigError(
                f"--version {self.version} is no version; write such as 0.1.0"
            ) from None
        object.__setattr__(self, "version", version)

    @property
    def module(self) -> str:
        """What is imported."""
        return self.text.replace("-", "_")

    def env_id(self, stored: str) -> str:
        """Return what Gymnasium calls a stored version: `our-envs/maze-v0` for `spade/maze-v0`."""
        return f"{self.text}/{stored.removeprefix(f'{NAMESPACE}/')}"


def _imported_by(module: str) -> str:
    """Return what is installed here and imported by this name, unless we made it; else nothing."""
    if importlib.util.find_spec(module) is None:
        return ""
    owners = importlib.metadata.packages_distributions().get(module, [])
    return next((owner for owner in owners if not _is_pack(owner, module)), "")


def _is_pack(distribution: str, module: str) -> bool:
    """Whether an installed distribution is an earlier package of ours."""
    files = importlib.metadata.distribution(distribution).files or ()
    return any(file.as_posix() == f"{module}/{PACKED}/{MARKER}" for file in files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A package that was made."""

    project: Path
    wheel: Path | None
    ids: tuple[str, ...]
    """What `gym.make` calls the environments."""
    licence: str
    """SPDX expression over all of them; empty if one is unknown."""


def pack(
    store: EnvStore,
    records: Sequence[Record],
    name: PackName,
    out: Path,
    *,
    wheel: bool = True,
    unknown_licences: bool = False,
) -> Packed:
    """Write a package with these versions into the folder `out`, whole or not at all.

    Args:
        store: where the versions are.
        records: what to pack; at least one.
        name: of the package.
        out: folder of the project, which is new or empty.
        wheel: build the wheel too, into `dist/` in it: the same bytes for the same environments.
        unknown_licences: let environments in whose licence is unknown.

    Raises:
        ConfigError: `out` holds something, or a licence is unknown.
        Corrupt: a version is not what was published.
        StorageError: nothing can be written there.
        MissingExtra: the wheel cannot be built here.
    """
    check_new(out)
    known = {record.id: record.licence for record in records}
    if unknown_licences and any(licences.spdx(each) is None for each in known.values()):
        licence = ""
    else:
        licence = licences.whole(known)
    with new_folder(out) as stage:
        sheet = _write(stage, name, licence, read_all(store, records))
        built = build_wheel(stage, stage / "dist") if wheel else None
    return Packed(
        project=out,
        wheel=None if built is None else out / "dist" / built.name,
        ids=tuple(row[0] for row in sheet.rows),
        licence=licence,
    )


def _write(project: Path, name: PackName, licence: str, chosen: Iterator[Chosen]) -> Sheet:
    package = project / "src" / name.module
    lines: list[IndexLine] = []

    def written() -> Iterator[Chosen]:
        for one in chosen:
            folder = package / PACKED / version_path(EnvId.parse(one.record.id))
            folder.mkdir(parents=True)
            for file, data in one.files.items():
                (folder / file).write_bytes(data)
            lines.append(line_of(one.record))
            yield one

    found = sheet_of(written())
    sheet = replace(found, rows=tuple((name.env_id(row[0]), *row[1:]) for row in found.rows))
    marker = canonical_json({"format": FORMAT, "namespace": NAMESPACE})
    for file, data in {MARKER: marker, INDEX: encode(lines), CATALOG: render(lines)}.items():
        (package / PACKED / file).write_bytes(data)
    texts: Mapping[Path, str] = {
        project / "pyproject.toml": _pyproject(name, licence, len(lines)),
        project / "README.md": _readme(name, sheet),
        package / "__init__.py": _module(name, len(lines)),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return sheet


def _counted(number: int) -> str:
    return f"{number} environment{'' if number == 1 else 's'}"


def _pyproject(name: PackName, licence: str, number: int) -> str:
    licensed = f'license = "{licence}"\n' if licence else ""
    return f"""[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "{name.text}"
version = "{name.version}"
description = "{_counted(number)} in text for Gymnasium, certified by spade-envs."
readme = "README.md"
requires-python = ">=3.11"
{licensed}keywords = ["reinforcement-learning", "gymnasium", "environments"]
dependencies = ["gymnasium>=1.1", "spade-envs>={__version__}"]

[project.entry-points."gymnasium.envs"]
{name.text} = "{name.module}:register"

[tool.hatch.build]
ignore-vcs = true

[tool.hatch.build.targets.wheel]
packages = ["src/{name.module}"]
"""


def _module(name: PackName, number: int) -> str:
    return f'''"""{_counted(number)} for Gymnasium; `import {name.module}` registers them."""

from pathlib import Path

from spade_envs import register_store

__version__ = "{name.version}"
STORE = Path(__file__).parent / "{PACKED}"


def register() -> int:
    """Let `gym.make("{name.text}/...")` find the environments; gives how many there are."""
    return register_store(STORE, namespace="{name.text}")


register()
'''


def _readme(name: PackName, sheet: Sheet) -> str:
    first = sheet.rows[0][0]
    make = f"""import gymnasium as gym

env = gym.make("{name.module}:{first}", level=0)  # or: import {name.module}, then "{first}"
observation, info = env.reset(seed=0)
"""
    wheel = f"{name.module}-{name.version}-py3-none-any.whl"
    install = (
        f"pip install path/to/spade-envs  # once; it is on no index yet\npip install {wheel}\n"
    )
    return render_card(sheet, title=name.text, form="package", install=install, make=make)
