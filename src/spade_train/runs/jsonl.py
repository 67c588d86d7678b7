"""A file of JSON lines that only grows: each line is whole or absent, whenever the writer died."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from spade_envs.types import Json
from spade_train.errors import StateError

_BLOCK = 1 << 16


class JsonLines:
    """An append-only file of JSON objects, opened by its one writer.

    Opening it cuts off a last line that a kill has torn. A line goes out in one write, so a reader
    sees whole lines, and at most one torn one at the end, which it must pass over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)
        os.ftruncate(self._file, _whole_bytes(self._file))

    def append(self, record: Mapping[str, Json]) -> None:
        """Write one line; a kill of this process no longer loses it (see `sync` for power cuts).

        Numbers that are not finite become null, for JSON has none.

        Raises:
            StateError: the disk took only a part of the line.
        """
        data = json.dumps(_plain(record), ensure_ascii=True, allow_nan=False).encode() + b"\n"
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
        except OSError as error:
            raise StateError(f"cannot write to {self.path}: {error.strerror}") from error
        if written < len(data):
            os.ftruncate(self._file, before)
            raise StateError(f"cannot write to {self.path}: the disk is full")

    def keep_through(self, update: int) -> int:
        """Drop the lines from the first one on whose `update` is greater; give their number.

        Raises:
            StateError: a line before that is no record.
        """
        kept = dropped = 0
        for end, record in _records(self.path):
            if dropped or record["update"] > update:
                dropped += 1
            else:
                kept = end
        if dropped:
            os.ftruncate(self._file, kept)
            os.fsync(self._file)
        return dropped

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        os.fsync(self._file)

    def close(self) -> None:
        """Sync and close; further writes fail."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1


def read_lines(path: Path) -> Iterator[dict[str, Json]]:
    """Give the records of a file, which may be growing; nothing if there is no file.

    A last line that is not whole yet is passed over.

    Raises:
        StateError: a whole line is no JSON object with an `update`.
    """
    return (record for _, record in _records(path))


def _records(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Give each record with the place in the file where its line ends."""
    end = 0
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict) or type(record.get("update")) is not int:
                raise StateError(f"{path}: line {number} is no record; cut the file there")
            yield end, record


def _whole_bytes(file: int) -> int:
    """Return the length of the file up to the end of its last whole line."""
    end = os.fstat(file).st_size
    while end:
        start = max(0, end - _BLOCK)
        place = os.pread(file, end - start, start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()  # a scalar of numpy or torch
    return None if isinstance(value, float) and not math.isfinite(value) else value
