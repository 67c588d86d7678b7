"""The SDK's client for a server, with bounds on whatever the server sends."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from spade_envs.design.clients.bounds import Bounds
from spade_envs.design.clients.replies import NoReply
from spade_envs.errors import ConfigError

if TYPE_CHECKING:
    import openai

_CONNECT_TIMEOUT_S = 15.0


def connect(
    sdk: Any,
    base_url: str | None,
    api_key: str | None,
    *,
    timeout_s: float,
    silence_s: float | None = None,
    max_retries: int = 0,
) -> openai.OpenAI:
    """Return a client whose answers are bounded in size and time (`Bounds`).

    Args:
        sdk: the module `openai`.
        base_url: such as `http://localhost:8000/v1`; None for the SDK's own server.
        api_key: the SDK reads OPENAI_API_KEY if None; a server at `base_url` may need none.
        timeout_s: from a request to the last byte of its answer, > 0.
        silence_s: longest silence within an answer, its beginning included, > 0; `timeout_s` if
            None.
        max_retries: further tries by the SDK itself, >= 0.

    Raises:
        ConfigError: the URL is none, or neither server nor key is named.
    """
    if base_url is not None and not _is_url(base_url):
        raise ConfigError(f"{base_url!r} is no URL of a server, such as http://HOST:PORT/v1")
    silence_s = timeout_s if silence_s is None else silence_s
    settings: dict[str, Any] = {
        "base_url": base_url,
        "timeout": sdk.Timeout(silence_s, connect=min(_CONNECT_TIMEOUT_S, silence_s)),
        "max_retries": max_retries,
        "default_headers": {"Accept-Encoding": "identity"},
        "http_client": sdk.DefaultHttpxClient(event_hooks=Bounds(timeout_s).hooks),
    }
    made: openai.OpenAI
    try:
        made = sdk.OpenAI(api_key=api_key, **settings)
    except sdk.OpenAIError:
        if base_url is None:
            mend = "no API key; set OPENAI_API_KEY or give the URL of a server"
            raise ConfigError(mend) from None
        made = sdk.OpenAI(api_key="none", **settings)
    return made


def broken_replies() -> tuple[type[Exception], ...]:
    """Return what a reply raises that breaks off while it is read; the SDK wraps no such error."""
    # ValueError: no JSON, no UTF-8, or a number of more digits than Python reads.
    found: list[type[Exception]] = [NoReply, ValueError]
    found += [RecursionError, OverflowError]  # of JSON without an end, and of such a number in it
    for transport in ("httpx2", "httpx"):  # the former since version 3 of the SDK
        with contextlib.suppress(ImportError):
            found.append(importlib.import_module(transport).RequestError)
    return tuple(found)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:  # of the port or of brackets
        return False
