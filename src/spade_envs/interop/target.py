"""What a name on the command line stands for: a source, and the library that it runs."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib import metadata

from spade_envs.types import EnvSource, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Installed code that a wrapped source plays; the user trusts it by having installed it."""

    name: str
    """Name of the distribution, such as `reasoning-gym`, or of the checkout."""
    modules: tuple[str, ...]
    """Modules that the source imports, to be imported before the sandbox locks itself."""
    extra_path: tuple[str, ...] = ()
    """Folders to find them in, besides `sys.path`."""
    licence: str = "unknown"

    @property
    def version(self) -> str:
        """Installed version, or an empty text if it is no installed distribution."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return ""

    def missing(self) -> str:
        """Return what to do if the library is not installed, else an empty text."""
        if self.extra_path:
            return ""
        for module in self.modules:
            top = module.partition(".")[0]
            if importlib.util.find_spec(top) is None:
                return f"{top} is not installed; run: pip install {self.name}"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One thing to check. Either `source` or `error` is set."""

    label: str
    """What the user would type to get exactly this one."""
    source: EnvSource | None = None
    error: str = ""
    """Why there is no source: a broken checksum, an unreadable file, a missing library."""
    unknown: bool = False
    """Whether nothing is called that: a mistake of the user, not of a source."""
    library: Library | None = None
    may_weaken: bool = True
    """Whether the library may run in a weaker worker; never for what comes from a store."""
    licence: str = "unknown"
    """SPDX identifier, as far as known."""
    name: str | None = None
    """Name to register it under; None makes one of class name and digest."""
    title: str | None = None
    skills: tuple[str, ...] = ()
    digest: str | None = None
    """Of the environment where it comes from, as its pool says."""
    certificate: Report | None = None
    """The report that admitted it to its store, if it comes from one."""
