"""Embeddings from any server that speaks the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spade_envs.design.clients.base import asked_at_once
from spade_envs.design.clients.connect import broken_replies, connect
from spade_envs.design.clients.replies import WRONG_URL, NoReply, reading, told
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.memory.embedders.base import MAX_DIMENSION, Vectors

if TYPE_CHECKING:
    import openai


class EndpointEmbedder:
    """Asks a server for embeddings, in batches; the SDK retries what is worth retrying.

    A server does not say which weights it serves: name another `revision` when they change.

    Args:
        model: what to ask for.
        base_url: such as `http://localhost:8000/v1`; None for the SDK's own server.
        revision: of the model.
        dimension: length of the vectors; None asks the server for one vector to see it.
        api_key: the SDK reads OPENAI_API_KEY if None; a server at `base_url` may need none.
        batch: texts in one request, >= 1.
        concurrency: requests in flight at once, >= 1.
        timeout_s: limit for one reply, from its request to the last byte, > 0.
        max_retries: SDK retries per request, >= 0.
        max_chars: longer texts are cut, >= 1.
        client: a ready SDK client, to be used as it is.

    Raises:
        MissingExtra: the `openai` SDK is not installed.
        ConfigError: no server and no key is named, the URL is none, or a number is out of range.
        ClientError: the dimension was asked for in vain.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        revision: str = "unknown",
        dimension: int | None = None,
        api_key: str | None = None,
        batch: int = 64,
        concurrency: int = 4,
        timeout_s: float = 120.0,
        max_retries: int = 5,
        max_chars: int = 8000,
        client: openai.OpenAI | None = None,
    ) -> None:
        if min(batch, concurrency, max_chars) < 1:
            raise ConfigError("batch, concurrency and max_chars must be >= 1")
        if not model:
            raise ConfigError("name the embedding model, as in http://localhost:8000/v1#MODEL")
        self._sdk = _sdk()
        self._model, self._revision = model, revision
        self._where = base_url or "the OpenAI server"
        self._batch, self._concurrency, self._max_chars = batch, concurrency, max_chars
        self._client = client or connect(
            self._sdk, base_url, api_key, timeout_s=timeout_s, max_retries=max_retries
        )
        self._dimension = dimension or 0  # 0 until it is known
        self._dimension = self._dimension or self._ask(["dimension"]).shape[1]

    @property
    def name(self) -> str:
        """Model that is asked."""
        return self._model

    @property
    def revision(self) -> str:
        """What the caller said."""
        return self._revision

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32 of shape (texts, dimension).

        Raises:
            ClientError: the server refused, failed, did not answer in time, or answered with
                something other than one vector of finite numbers per text.
        """
        plain = [text[: self._max_chars].encode("utf-8", "replace").decode() for text in texts]
        starts = range(0, len(plain), self._batch)
        batches = [plain[start : start + self._batch] for start in starts]
        if not batches:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return np.concatenate(asked_at_once(self._ask, batches, self._concurrency))

    def _ask(self, texts: Sequence[str]) -> Vectors:
        asked = [text or " " for text in texts]  # servers refuse an empty text
        try:
            with reading():
                answer = self._client.embeddings.create(
                    model=self._model, input=asked, encoding_format="float"
                )
                return _rows(answer, len(asked), self._dimension)
        except (self._sdk.OpenAIError, *broken_replies()) as error:
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> ClientError:
        if isinstance(error.__cause__, NoReply):
            error = error.__cause__
        if isinstance(error, ValueError | RecursionError):
            error = NoReply(f"it answered with something other than embeddings; {WRONG_URL}")
        kind = "" if isinstance(error, NoReply) else f"{type(error).__name__}: "
        return ClientError(f"{self._where}: {kind}{told(error)}")


def _rows(answer: Any, count: int, dimension: int) -> Vectors:
    """Return the vectors in an answer of the SDK, which checks nothing, in order of the texts.

    Args:
        answer: of the SDK.
        count: texts that were asked about.
        dimension: numbers in a vector; 0 if that is not known yet.

    Raises:
        NoReply: it holds anything but one finite vector of that length per text.
    """
    data = getattr(answer, "data", None)
    if not isinstance(data, list):
        raise NoReply(f"it answered with no embeddings; {WRONG_URL}")
    if len(data) != count:
        raise NoReply(f"it gave {len(data)} vectors for {count} texts")
    places = [getattr(item, "index", None) for item in data]
    if not all(type(place) is int for place in places) or set(places) != set(range(count)):
        raise NoReply("it numbers its vectors otherwise than the texts")
    found = dict(zip(places, (getattr(item, "embedding", None) for item in data), strict=True))
    try:
        rows = np.array([found[place] for place in range(count)])
    except (ValueError, TypeError):
        raise NoReply("it gave vectors of different lengths") from None
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise NoReply("it gave something other than vectors of numbers")
    length = rows.shape[1]
    if dimension and length != dimension:
        mend = "if its model is another now, name another revision, as in #MODEL@REVISION"
        raise NoReply(f"it gave vectors of {length} numbers, not {dimension}; {mend}")
    if not 1 <= length <= MAX_DIMENSION:
        raise NoReply(f"it gave vectors of {length} numbers; 1 to {MAX_DIMENSION} can be")
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32)
    if not np.isfinite(rows).all():
        raise NoReply("it gave numbers that are not finite")
    return rows


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtra("openai", "client") from None
    return openai
