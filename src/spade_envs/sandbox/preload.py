"""What the zygote imports before it forks: in a worker, nothing else exists."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from spade_envs.api import published_tools
from spade_envs.sandbox import names

STDLIB = (
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "calendar", "cmath",
    "collections", "collections.abc", "colorsys", "contextlib", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "hmac",
    "html", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "linecache", "locale",
    "math", "numbers", "operator", "pprint", "queue", "random", "re", "secrets", "statistics",
    "string", "struct", "textwrap", "time", "tokenize", "traceback", "types", "typing",
    "unicodedata", "uuid", "warnings", "weakref", "zlib",
)  # fmt: skip
THIRD_PARTY = (
    "numpy", "numpy.linalg", "numpy.random", "numpy.fft", "numpy.polynomial", "msgspec",
    "gymnasium", "gymnasium.spaces", "gymnasium.utils.env_checker",
    "docstring_parser", "RestrictedPython",
)  # fmt: skip
LATE = (
    # imported by the modules above only when they are first used
    "_strptime", "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.punycode",
    "encodings.unicode_escape", "encodings.utf_16", "encodings.utf_32", "numpy._core._methods",
    "numpy._core._dtype_ctypes", "numpy.lib.recfunctions", "numpy.ma", "stringprep",
    "html.entities",
)  # fmt: skip
OURS = (
    "spade_envs.api", "spade_envs.api.loading", "spade_envs.api.published_names",
    "spade_envs.api.published_tools", "spade_envs.sandbox.restricted",
)  # fmt: skip


def preload(libraries: Sequence[str] = ()) -> None:
    """Import everything that environments may use, and warm what is slow the first time.

    Args:
        libraries: trusted modules that this zygote's sources may import besides the usual ones.
    """
    for name in (*STDLIB, *THIRD_PARTY, *OURS, *libraries):
        importlib.import_module(name)
    names.ALLOWED_MODULES |= frozenset(libraries)
    sys.modules[published_tools.MODULE] = published_tools
    for name in LATE:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # differs between versions; absence is not an error
    _warm()


def _warm() -> None:
    """Do once what is slow the first time, or leaves a table behind, so that no worker has to."""
    import base64
    import re

    import numpy as np

    from spade_envs.api.tools import tool, tools_of

    np.random.default_rng(0).permutation(3)
    re.compile("a")
    for code in ("a85", "b85", "b32", "b32hex"):
        getattr(base64, f"{code}decode")(getattr(base64, f"{code}encode")(b"abcd"))
    str(np.arange(3)), repr(np.float64(0.5))

    class Sample:
        @tool
        def look(self, place: str, times: int = 1, every: list[str] | None = None) -> str:
            """Look somewhere.

            Args:
                place: where.
                times: how often.
                every: what for.
            """
            return place

    tools_of(Sample)


def library_folders(libraries: Sequence[str], extra_path: Sequence[str]) -> list[str]:
    """Return the folders that a library reads its modules and data from: code, no user files."""
    found = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *extra_path]
    found += [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    for name in libraries:
        found += list(getattr(sys.modules[name.partition(".")[0]], "__path__", ()))
    found += ["/usr/lib", "/lib", "/lib64"]
    return list(dict.fromkeys(folder for folder in found if Path(folder).is_dir()))


_HIDDEN = (
    "socket", "_socket", "subprocess", "_posixsubprocess", "ctypes", "ctypes.util", "_ctypes",
    "mmap", "select", "fcntl", "pyseccomp", "multiprocessing", "shutil", "tempfile", "pathlib",
    "urllib", "urllib.parse", "logging",
)  # fmt: skip


def hide_modules() -> None:
    """Make what the zygote needed but no environment does impossible to import by name."""
    for name in _HIDDEN:
        sys.modules.pop(name, None)


def forget_paths() -> None:
    """Make every import of a module that is not loaded a plain ModuleNotFoundError."""
    sys.path[:] = []
    sys.path_importer_cache.clear()
    sys.path_hooks[:] = []
