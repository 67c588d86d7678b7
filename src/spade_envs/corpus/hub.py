"""Hugging Face datasets, row by row from disk; the only door to `datasets`, loaded on first use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from spade_envs.corpus.decode import TEXT_KEYS
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.corpus.parquet import row_of_cells
from spade_envs.errors import CorpusError, MissingExtra

PREFIX = "hf:"
_ROWS = 64
_SAVED = ("state.json", "dataset_dict.json")
"""Files that `save_to_disk` leaves."""


def open_dataset(name: str) -> Any:
    """Return one split of a dataset, memory-mapped.

    Args:
        name: `NAME`, `NAME@CONFIG`, `NAME#SPLIT` or `NAME@CONFIG#SPLIT`; NAME is a folder that
            `save_to_disk` wrote, or whatever `datasets.load_dataset` takes. Without a split it
            is `train`, or else the only one.

    Raises:
        MissingExtra: `datasets` is not installed.
        CorpusError: there is no such dataset, configuration or split.
    """
    return _opened(name)


def signature(name: str) -> tuple[int, int, str]:
    """Return (rows, bytes on disk, fingerprint) of a dataset.

    Raises:
        MissingExtra, CorpusError: as of `open_dataset`.
    """
    data = open_dataset(name)
    return data.num_rows, int(data.data.nbytes), str(getattr(data, "_fingerprint", ""))


def licence_of(name: str) -> str | None:
    """Return the licence that a dataset names, if any."""
    return str(getattr(open_dataset(name).info, "license", "") or "").strip()[:200] or None


def scan_dataset(
    name: str, source: str, text_key: str | None = None
) -> Iterator[tuple[Place, Document | Unreadable]]:
    """Yield every row's document, titles and metadata left out, with its place.

    Raises:
        MissingExtra, CorpusError: as of `open_dataset`.
        Unreadable: it has no column of text.
    """
    data = open_dataset(name)
    keys = TEXT_KEYS if text_key is None else (text_key,)
    columns = [key for key in keys if key in data.column_names]
    if not columns:
        wanted = " or ".join(f"`{key}`" for key in keys)
        raise Unreadable(f"has no column of text named {wanted}", "no text")
    texts = data.select_columns(columns).with_format("arrow")
    for first in range(0, data.num_rows, _ROWS):
        cells = texts[first : first + _ROWS]
        for step in range(min(_ROWS, data.num_rows - first)):
            row = first + step
            place = _place(name, source, row, text_key)
            try:
                document = row_of_cells(place, {key: cells[key][step] for key in columns})
            except Unreadable as error:
                yield place, error
            else:
                yield place, document


def read_dataset(place: Place) -> Document:
    """Read one row again, with title and metadata.

    Raises:
        Unreadable: the dataset no longer holds it.
    """
    import datasets

    data = open_dataset(str(place.path))
    if place.start >= data.num_rows:
        raise Unreadable("no longer holds this row")
    flat = [name for name, kind in data.features.items() if isinstance(kind, datasets.Value)]
    row = data.select_columns(flat).with_format("arrow")[place.start]
    return row_of_cells(place, {name: row[name][0] for name in flat})


def _place(name: str, source: str, row: int, text_key: str | None) -> Place:
    return Place(
        path=Path(name),
        kind="hub",
        source=f"{source}#{row + 1}",
        start=row,
        length=0,
        number=row + 1,
        text_key=text_key,
    )


@lru_cache(maxsize=4)
def _opened(spec: str) -> Any:
    rest, _, split = spec.partition("#")
    name, _, config = rest.partition("@")
    if not name:
        raise CorpusError(f"write {PREFIX}NAME, with the name or folder of a dataset")
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "data") from None
    try:
        path = Path(name).expanduser()
        if any((path / mark).is_file() for mark in _SAVED):
            found = datasets.load_from_disk(str(path))
        else:
            found = datasets.load_dataset(name, config or None, split=split or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        first = str(error).strip().split("\n", 1)[0][:300]
        raise CorpusError(f"the dataset {name!r} cannot be loaded: {first}") from error
    if isinstance(found, datasets.Dataset):
        return found
    known = list(found)
    wanted = split or ("train" if "train" in known else known[0] if len(known) == 1 else "")
    if wanted not in known:
        raise CorpusError(f"the dataset {name!r} has the splits {', '.join(known)}; add #SPLIT")
    return found[wanted]
