"""What a disk refuses while weights are written, told as for any other file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Let an error of safetensors in the block be an `OSError` that names the folder.

    Args:
        folder: in which the block writes.

    Raises:
        OSError: weights cannot be written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(f"cannot write weights to {folder}: {error}") from error
