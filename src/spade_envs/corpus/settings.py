"""What a corpus is made of and how it is drawn from, as values or as a TOML file."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from spade_envs.errors import CorpusError

DEFAULT_WORDS = 400
BUILT_IN = "pydoc"
HUB = "hf:"
_MOST_SHARES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place that documents come from."""

    path: str
    """A folder, a file, `pydoc` for the built-in corpus, or `hf:NAME` for a dataset."""
    weight: float | None = None
    """Share of the draws, relative to the other sources; if no source has one, every passage of
    the corpus is drawn equally often; else those that have none count as 1."""
    licence: str | None = None
    """SPDX identifier of documents that name none."""
    text_key: str | None = None
    """Key or column of a row's text; by default `text`, or else `orig_doc`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which passages are left out; by default none."""

    languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the languages to keep, such as `en`; needs the extra `data`."""
    min_words: int = 0
    """Shortest passage, in words."""
    max_words: int | None = None
    """Longest passage, in words."""
    boilerplate: bool = False
    """Leave out menus, tables of links, notices about cookies and rights, and repetitions."""
    near_duplicates: float | None = None
    """Leave out a passage whose 5-word runs are, in this share, those of an earlier one (Jaccard
    similarity, in [0.4, 1]; 0.8 is usual); needs the extra `data`."""

    def __post_init__(self) -> None:
        if self.min_words < 0:
            raise CorpusError(f"min_words must be >= 0, not {self.min_words}")
        if self.max_words is not None and self.max_words < max(1, self.min_words):
            raise CorpusError(f"max_words must be >= 1 and >= min_words, not {self.max_words}")
        if self.near_duplicates is not None and not 0.4 <= self.near_duplicates <= 1:
            raise CorpusError(f"near_duplicates must be in [0.4, 1], not {self.near_duplicates}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSettings:
    """Sources, passages, filters and sampling of a corpus."""

    sources: tuple[Source, ...]
    words: int | None = None
    """Words per passage, >= 1; by default what the caller asks for, or 400."""
    replacement: bool = False
    """Draw every passage anew from all of them, instead of each once before any twice."""
    filters: Filters = Filters()

    def __post_init__(self) -> None:
        if not self.sources:
            raise CorpusError("a corpus needs at least one source")
        if self.words is not None and self.words < 1:
            raise CorpusError(f"words per passage must be >= 1, not {self.words}")
        self.shares()

    def shares(self) -> tuple[int, ...]:
        """Return how many draws of a round go to each source; empty if none has a weight.

        Raises:
            CorpusError: a weight is not positive, or they differ too much.
        """
        if all(source.weight is None for source in self.sources):
            return ()
        weights = []
        for source in self.sources:
            weight = 1.0 if source.weight is None else source.weight
            if not (math.isfinite(weight) and weight > 0):
                raise CorpusError(f"the weight of {source.path} must be positive, not {weight}")
            weights.append(Fraction(str(weight)).limit_denominator(1000))
        common = math.lcm(*(weight.denominator for weight in weights))
        counts = [int(weight * common) for weight in weights]
        divisor = math.gcd(*counts) or 1
        shares = tuple(count // divisor for count in counts)
        if min(shares) < 1 or sum(shares) > _MOST_SHARES:
            raise CorpusError(f"weights need the proportions {shares}; use rounder ones")
        return shares


def is_settings(path: Path) -> bool:
    """Whether a path names a file of settings."""
    return path.suffix.lower() == ".toml" and path.is_file()


def read_settings(path: Path) -> CorpusSettings:
    """Read settings from a TOML file; paths in it start at its folder.

    Raises:
        CorpusError: it is not TOML, or has unknown, missing or wrong keys.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    try:
        if "sources" in data:
            raise CorpusError("unknown key 'sources'; write [[source]] before each source")
        data["sources"] = data.pop("source", [])
        _refuse_unknown(CorpusSettings, data, "")
        settings = msgspec.convert(data, CorpusSettings)
    except (msgspec.ValidationError, CorpusError) as error:
        text = str(error).replace("$.sources[", "$.source[")
        raise CorpusError(f"{path}: {text}") from error
    base = path.resolve().parent
    sources = tuple(replace(one, path=_placed(one.path, base)) for one in settings.sources)
    return replace(settings, sources=sources)


def _placed(path: str, base: Path) -> str:
    if path == BUILT_IN:
        return path
    if path.startswith(HUB):
        name, mark, rest = path.removeprefix(HUB).partition("#")
        local = (base / Path(name).expanduser()).exists()
        return f"{HUB}{base / Path(name).expanduser()}{mark}{rest}" if local else path
    return str(base / Path(path).expanduser())


def _refuse_unknown(form: type, data: Any, where: str) -> None:
    if not isinstance(data, dict):
        return
    known = [entry.name for entry in fields(form)]
    for key, value in data.items():
        if key not in known:
            names = ", ".join("[[source]]" if name == "sources" else name for name in known)
            raise CorpusError(f"unknown key {where + key!r}; there are {names}")
        if key == "sources" and isinstance(value, list):
            for entry in value:
                _refuse_unknown(Source, entry, "source.")
        elif key == "filters":
            _refuse_unknown(Filters, value, "filters.")
