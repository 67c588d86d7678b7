"""Files of questions that users bring: JSONL, JSON or CSV, read strictly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.types import Json

MAX_BYTES = 1 << 30
"""Of a file that is read as a whole."""


def read_rows(path: str | Path) -> list[Mapping[str, Json]]:
    """Return the rows of a `.jsonl`, `.json` (one list) or `.csv` file.

    Raises:
        ConfigError: it cannot be read, is empty, or a row is no object; the message tells where.
    """
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{file} is larger than {MAX_BYTES >> 20} MiB")
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    rows = _rows(file, text)
    if not rows:
        raise ConfigError(f"{file} holds no questions")
    return rows


def _rows(file: Path, text: str) -> list[Mapping[str, Json]]:
    kind = file.suffix.lower()
    if kind == ".csv":
        try:
            return [dict(row) for row in csv.DictReader(io.StringIO(text))]
        except csv.Error as error:
            raise ConfigError(f"{file} is not CSV: {error}") from error
    if kind == ".json":
        found = _parsed(text, str(file))
        if not isinstance(found, list):
            raise ConfigError(f"{file} must hold a list of objects")
        numbered = list(enumerate(found, 1))
    elif kind == ".jsonl":
        lines = enumerate(text.split("\n"), 1)
        numbered = [(n, _parsed(line, f"{file}:{n}")) for n, line in lines if line.strip()]
    else:
        raise ConfigError(f"{file} must end with .jsonl, .json or .csv")
    for number, row in numbered:
        if not isinstance(row, dict):
            raise ConfigError(f"{file}:{number}: a row must be an object")
    return [row for _, row in numbered]


def _parsed(text: str, where: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error


def text_of(row: Mapping[str, Json], names: Sequence[str], where: str) -> str:
    """Return the first of some fields that a row has, as stripped text.

    Raises:
        ConfigError: it has none, or an empty one.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            if text := str(value).strip():
                return text
            break
    raise ConfigError(f"{where}: needs {' or '.join(names)}")


def listed(given: Json, name: str) -> list[str]:
    """Return the names in a setting: a list of texts, or one text with commas between them.

    Args:
        given: its value.
        name: of the setting, for the error.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(given, str):
        return given.split(",")
    if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given):
        return list(given)
    raise ConfigError(f"{name} must be names with commas between them, not {given!r}")


def unique(names: Sequence[str], where: str) -> None:
    """Check that no two rows have one name.

    Raises:
        ConfigError: two have.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ConfigError(f"{where}: two rows are called {name!r}")
        seen.add(name)
