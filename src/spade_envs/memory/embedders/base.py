"""What an embedder is, and what its vectors are kept under."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spade_envs.errors import ClientError, ConfigError
from spade_envs.manifest.canonical import canonical_json

Vectors = NDArray[np.float32]

MAX_DIMENSION = 16_384


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors; near texts into near vectors.

    Vectors of two embedders can only be compared if name, revision and dimension are the same.
    """

    @property
    def name(self) -> str:
        """What made the vectors, such as a model's name; no secrets, no addresses."""
        ...

    @property
    def revision(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32 of shape (texts, dimension).

        Raises:
            ClientError: there are no vectors; the message says what to do.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What vectors are kept under: those of two fingerprints are never mixed."""

    name: str
    revision: str
    dimension: int
    """In [1, 16384]."""
    text: int
    """Version of the rule by which an environment becomes a text."""

    def __str__(self) -> str:
        return f"{self.name} (revision {self.revision}, {self.dimension} dimensions)"

    @property
    def folder(self) -> str:
        """Name of the folder that holds the vectors."""
        stem = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[-40:].strip("-")
        return f"{stem or 'embedder'}-{self.sha256[:12]}"

    @property
    def sha256(self) -> str:
        """Hexadecimal digits that no other fingerprint has."""
        return hashlib.sha256(canonical_json(asdict(self))).hexdigest()


def fingerprint(embedder: Embedder, *, text: int) -> Fingerprint:
    """Return what the vectors of an embedder are kept under.

    Raises:
        ConfigError: the embedder does not say what it is.
    """
    if not 1 <= embedder.dimension <= MAX_DIMENSION:
        raise ConfigError(f"{embedder.name} has {embedder.dimension} dimensions; 1 to 16384 can be")
    for what in (embedder.name, embedder.revision):
        if not 1 <= len(what) <= 200 or not what.isprintable():
            raise ConfigError(f"an embedder's name and revision are short lines, not {what!r}")
    return Fingerprint(
        name=embedder.name, revision=embedder.revision, dimension=embedder.dimension, text=text
    )


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return unit vectors of some texts; a text of which the embedder makes nothing gets zeros.

    Raises:
        ClientError: the embedder failed, or gave something else than one finite row per text.
    """
    if not texts:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)
    wanted = (len(texts), embedder.dimension)
    if rows.shape != wanted:
        raise ClientError(f"{embedder.name} gave vectors of shape {rows.shape}, not {wanted}")
    return unit(rows, embedder.name)


def unit(rows: Vectors, whose: str) -> Vectors:
    """Return rows scaled to length 1; rows of zeros stay.

    Raises:
        ClientError: a number is not finite.
    """
    if not np.isfinite(rows).all():
        raise ClientError(f"{whose} gave numbers that are not finite")
    peaks = np.abs(rows).max(axis=1, keepdims=True)  # squares of great numbers overflow
    scaled = rows / np.where(peaks > 0, peaks, 1)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1), dtype=np.float32)
