"""Embeddings from any server that speaks the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.memory.embedders.base import Vectors

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
        timeout_s: limit for one request, > 0.
        max_retries: SDK retries per request, >= 0.
        max_chars: longer texts are cut, >= 1.
        client: a ready SDK client, to be used as it is.

    Raises:
        MissingExtra: the `openai` SDK is not installed.
        ConfigError: no server and no key is named, or a number is out of range.
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
        self._client = client or self._connect(base_url, api_key, timeout_s, max_retries)
        self._dimension = dimension or self._ask(["dimension"]).shape[1]

    def _connect(
        self, base_url: str | None, api_key: str | None, timeout_s: float, max_retries: int
    ) -> openai.OpenAI:
        def made(key: str | None) -> Any:
            return self._sdk.OpenAI(
                base_url=base_url, api_key=key, timeout=timeout_s, max_retries=max_retries
            )

        try:
            client: openai.OpenAI = made(api_key)
        except self._sdk.OpenAIError:
            if base_url is None:
                mend = "no API key; set OPENAI_API_KEY or give the URL of a server"
                raise ConfigError(mend) from None
            client = made("none")
        return client

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
            ClientError: the server refused, failed or did not answer in time.
        """
        plain = [text[: self._max_chars].encode("utf-8", "replace").decode() for text in texts]
        starts = range(0, len(plain), self._batch)
        batches = [plain[start : start + self._batch] for start in starts]
        if not batches:
            return np.zeros((0, self._dimension), dtype=np.float32)
        with ThreadPoolExecutor(min(self._concurrency, len(batches))) as pool:
            return np.concatenate(list(pool.map(self._ask, batches)))

    def _ask(self, texts: Sequence[str]) -> Vectors:
        asked = [text or " " for text in texts]  # servers refuse an empty text
        try:
            answer = self._client.embeddings.create(
                model=self._model, input=asked, encoding_format="float"
            )
        except self._sdk.OpenAIError as error:
            text = " ".join(str(error).split())[:300]
            raise ClientError(f"{self._where}: {type(error).__name__}: {text}") from error
        rows: dict[int, list[float]] = {item.index: item.embedding for item in answer.data}
        if sorted(rows) != list(range(len(asked))):
            raise ClientError(f"{self._where} gave {len(rows)} vectors for {len(asked)} texts")
        try:
            return np.array([rows[place] for place in range(len(asked))], dtype=np.float32)
        except (ValueError, TypeError):
            raise ClientError(f"{self._where} gave vectors of different lengths") from None


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtra("openai", "client") from None
    return openai
