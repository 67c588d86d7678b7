"""Single files, read with a limit and never from a pipe or a device."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from spade_envs.interop.target import Target
from spade_envs.packing.adapter import without_adapter
from spade_envs.types import EnvSource

MAX_BYTES = 4_000_000
"""Greatest size of a file that is read at all; the gates refuse far smaller ones."""


def of_file(path: Path, *, label: str = "", sha256: str | None = None) -> Target:
    """Return the target of one Python file; what is wrong with it is the target's `error`.

    The adapter that `export` puts after a source is taken off.

    Args:
        path: the file.
        label: what to call it; the path by default.
        sha256: checksum that its bytes must have, in hexadecimal.
    """
    label = label or str(path)
    try:
        data = read_bounded(path)
    except OSError as error:
        return Target(label=label, error=f"the file cannot be read: {error.strerror or error}")
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256.lower():
        return Target(label=label, error="the file does not have the checksum that the pool lists")
    try:
        code = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Target(label=label, error=f"the file is not UTF-8 text: {error.reason}")
    return Target(label=label, source=EnvSource(code=without_adapter(code), origin=label))


def read_bounded(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of an ordinary file of at most `max_bytes`.

    Raises:
        OSError: it is a pipe, a device or too large, or cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not an ordinary file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(max_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > max_bytes:
        raise OSError(f"it is larger than {max_bytes} bytes")
    return data
