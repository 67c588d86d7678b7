"""From what a person writes to an embedder."""

from __future__ import annotations

from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.memory.embedders.base import Embedder
from spade_envs.memory.embedders.hashed import HashedEmbedder

DEFAULT = "hashed"
FORMS = "hashed, minilm, sentence:FOLDER, http://HOST:PORT/v1#MODEL or openai:MODEL"


def make_embedder(text: str = DEFAULT) -> Embedder:
    """Return the embedder that `text` names.

    Args:
        text: `hashed` (hashed n-grams, needs nothing), `hashed:DIMENSION`, `minilm` (the model of
            the extra `embed`), `sentence:FOLDER` (a local model), `http://HOST:PORT/v1#MODEL` or
            `openai:MODEL` (a server; `#MODEL@REVISION` tells versions of a model apart).

    Raises:
        ConfigError: no embedder is called so.
        MissingExtra: it needs what is not installed.
        ClientError: the server does not answer.
    """
    kind, _, rest = text.partition(":")
    if text == "hashed":
        return HashedEmbedder()
    if kind == "hashed" and rest.isascii() and rest.isdigit() and len(rest) < 8:
        return HashedEmbedder(int(rest))
    if text == "minilm":
        from spade_envs.memory.embedders.sentence import bundled

        return bundled()
    if kind == "sentence" and rest:
        from spade_envs.memory.embedders.sentence import SentenceEmbedder

        return SentenceEmbedder(Path(rest).expanduser())
    if kind in ("http", "https", "openai") and rest:
        return _endpoint(text)
    raise ConfigError(f"no embedder {text!r}; there are {FORMS}")


def _endpoint(text: str) -> Embedder:
    from spade_envs.memory.embedders.endpoint import EndpointEmbedder

    if text.startswith("openai:"):
        url, named = None, text.removeprefix("openai:")
    else:
        url, _, named = text.partition("#")
    model, _, revision = named.partition("@")
    return EndpointEmbedder(model, url, revision=revision or "unknown")
