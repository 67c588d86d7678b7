"""A place in the endless sequence of draws from a corpus."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from spade_envs.corpus.order import shuffled
from spade_envs.errors import CorpusError
from spade_envs.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where the next passage comes from: a pure value, to be stored as JSON.

    What is drawn depends on the seed, the position and the corpus, and on nothing else of the
    process.
    """

    seed: int = 0
    position: int = 0
    """Passages drawn so far, >= 0, counted over all epochs."""
    corpus: str = ""
    """Fingerprint of the corpus it was used with; empty before the first draw."""

    def __post_init__(self) -> None:
        if self.position < 0:
            raise CorpusError(f"cursor position must be >= 0, not {self.position}")

    def passage_index(self, count: int) -> int:
        """Return the index in [0, count) of the passage at this place of a corpus without weights.

        Every epoch runs once through all passages in an order of its own.
        """
        epoch, place = divmod(self.position, count)
        return shuffled(str(self.seed), epoch, count, place)

    def as_json(self) -> dict[str, Json]:
        """Return the cursor as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> Cursor:
        """Read a cursor back.

        Raises:
            CorpusError: the data is not a cursor.
        """
        expected = {"seed": int, "position": int, "corpus": str}
        if (
            not isinstance(data, dict)
            or data.keys() != expected.keys()
            or any(type(data[key]) is not kind for key, kind in expected.items())
        ):
            raise CorpusError(f"not a cursor (seed, position, corpus): {str(data)[:120]}")
        return cls(**data)
