"""Any server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from spade_envs.design.clients.base import CompletionRequest, asked_at_once, complete_one
from spade_envs.design.clients.connect import broken_replies, connect
from spade_envs.design.clients.cuts import Cuts
from spade_envs.design.clients.guided import guide
from spade_envs.design.clients.pace import Pace
from spade_envs.design.clients.replies import (
    NoReply,
    names_of,
    read_answer,
    read_stream,
    reading,
    told,
    usable_name,
    whole_answer,
)
from spade_envs.design.clients.usage import CHARS_PER_TOKEN
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.types import Completion, Message

if TYPE_CHECKING:
    import openai

_log = logging.getLogger(__name__)

LONGEST_PAUSE_S = 600.0
"""A server that asks for a longer pause is given up."""
_LONGEST_BACKOFF_S = 60.0
_TRIES_OF_THE_UNKNOWN = 3
"""Where nothing ever answered, the URL is probably wrong, and waiting does not mend it."""
_MENDS = {
    "AuthenticationError": "set OPENAI_API_KEY",
    "NotFoundError": "check the model's name and that the URL ends in /v1",
    "APITimeoutError": "give it more time with timeout_s",
    "APIConnectionError": "is the server running, and is the URL right?",
    "RateLimitError": "lower the concurrency, or set requests and tokens a minute",
}


class OpenAICompatiblePolicy:
    """Asks a chat server, many requests at once; tries again what is worth trying again.

    Broken connections, hanging and torn replies, status 408, 409, 429 and 5xx are tried again
    after a growing, jittered pause, or after the one that the server asks for (`Retry-After`).
    Reproducible as far as the server honours the seed that every request carries.

    Args:
        base_url: such as `http://localhost:8000/v1`; None for the SDK's own server.
        model: what to ask for; the first model that the server lists if None.
        api_key: the SDK reads OPENAI_API_KEY if None; a server at `base_url` may need none.
        timeout_s: limit for one reply, from its request to the last byte, > 0.
        stall_timeout_s: longest silence within a streamed reply, its beginning included, > 0.
        max_retries: further tries of one request, >= 0.
        concurrency: requests in flight at once, >= 1.
        requests_per_minute: limit, further tries included; None for none.
        tokens_per_minute: limit of tokens read and written; None for none.
        stream: whether replies are streamed, so that a server that hangs is noticed early.
        guided: `vllm`, `sglang` or `llama.cpp` binds the answer to one fenced Python block.
        top_p: part of the likeliest tokens to draw from, in (0, 1]; None leaves it to the server.
        top_k: number of the likeliest tokens to draw from, >= 1; not every server takes it.
        client: a ready SDK client, to be used as it is.
    """

    def __init__(
        self,
        base_url: str | None = None,
        model: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 1800.0,
        stall_timeout_s: float = 300.0,
        max_retries: int = 8,
        concurrency: int = 16,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        stream: bool = True,
        guided: str | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        client: openai.OpenAI | None = None,
    ) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency must be >= 1, not {concurrency}")
        if model is not None and not usable_name(model):
            raise ConfigError(f"{model!r} is no name of a model")
        self._sdk = _sdk()
        self._where = base_url or "the OpenAI server"
        self._concurrency, self._max_retries = concurrency, max_retries
        self._timeout_s, self._stream = timeout_s, stream
        self._pace = Pace(requests_per_minute, tokens_per_minute)
        self._extra = {**guide(guided), **Cuts(top_p=top_p, top_k=top_k).fields()}
        self._model = model
        self._naming = threading.Lock()
        self._reached = False
        silence_s = min(stall_timeout_s, timeout_s) if stream else timeout_s
        self._client = client or connect(
            self._sdk, base_url, api_key, timeout_s=timeout_s, silence_s=silence_s
        )

    @property
    def name(self) -> str:
        """Model that is asked.

        Raises:
            ClientError: none was named and the server cannot be asked for its list.
        """
        with self._naming:
            if self._model is None:
                listed = self._retried(self._listed, 0)
                if not listed:
                    raise ClientError(f"{self._where} serves no model; name one after the URL, #M")
                self._model = str(listed[0])
            return self._model

    def _listed(self) -> list[str]:
        with reading():
            try:
                return names_of(self._client.models.list())
            except (AttributeError, TypeError):  # of the SDK, where the answer is no JSON object
                return names_of("")

    @property
    def concurrency(self) -> int:
        """Requests in flight at once."""
        return self._concurrency

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: the server refused, failed or did not answer in time.
        """
        name = self.name
        reserved = max_tokens + sum(len(m.content) for m in messages) // CHARS_PER_TOKEN
        fields: dict[str, Any] = {
            "model": name,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "seed": seed,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "stream": self._stream,
        }
        if self._stream:
            fields["stream_options"] = {"include_usage": True}
        if self._extra:
            fields["extra_body"] = dict(self._extra)

        def ask() -> Completion:
            deadline = time.monotonic() + self._timeout_s
            with reading():
                answer = self._client.chat.completions.create(**fields)
                if not self._stream:
                    return read_answer(answer)
                whole = whole_answer(answer)
                return read_stream(answer, name, deadline) if whole is None else read_answer(whole)

        found: Completion = self._retried(ask, reserved)
        if found.prompt_tokens is not None and found.completion_tokens is not None:
            self._pace.give_back(reserved - found.prompt_tokens - found.completion_tokens)
        return found if found.model else replace(found, model=name)

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order; several are in flight at once."""
        return asked_at_once(partial(complete_one, self), requests, self._concurrency)

    def _retried(self, ask: Any, tokens: int) -> Any:
        """Return what `ask` gives, after further tries if need be; `tokens` are taken for each."""
        import tenacity

        broken = broken_replies()
        backoff = tenacity.wait_random_exponential(multiplier=1.0, max=_LONGEST_BACKOFF_S)

        def worth_it(error: BaseException) -> bool:
            if isinstance(error, NoReply):
                return error.again
            return isinstance(error, broken) or _transient(error, self._sdk)

        def pause(state: tenacity.RetryCallState) -> float:
            asked = _retry_after(state.outcome.exception() if state.outcome else None)
            if asked is None:
                return backoff(state)
            self._pace.pause(asked)
            return asked

        def note(state: tenacity.RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            _log.info("%s: %s; asking again", self._where, type(error).__name__)

        def once() -> Any:
            self._pace.take(tokens)
            try:
                found = ask()
            except BaseException as error:
                self._pace.give_back(tokens)
                self._reached = self._reached or not self._unreachable(error)
                raise
            self._reached = True
            return found

        def enough(state: tenacity.RetryCallState) -> bool:
            error = state.outcome.exception() if state.outcome else None
            hopeless = not self._reached and self._unreachable(error)
            most = 1 + self._max_retries
            return state.attempt_number >= (min(_TRIES_OF_THE_UNKNOWN, most) if hopeless else most)

        retrying = tenacity.Retrying(
            stop=enough,
            retry=tenacity.retry_if_exception(worth_it),
            wait=pause,
            before_sleep=note,
            reraise=True,
        )
        try:
            return retrying(once)
        except (self._sdk.OpenAIError, *broken) as error:
            raise self._failed(error) from error

    def _unreachable(self, error: BaseException | None) -> bool:
        """Whether there was no connection at all; a server that hangs is there."""
        if not isinstance(error, self._sdk.APIConnectionError):
            return False
        late = isinstance(error, self._sdk.APITimeoutError)
        return not late and not isinstance(error.__cause__, NoReply)

    def _failed(self, error: BaseException) -> ClientError:
        if isinstance(error.__cause__, NoReply):
            error = error.__cause__
        mend = _MENDS.get(type(error).__name__)
        if (asked := _retry_after(error) or 0) > LONGEST_PAUSE_S:
            mend = f"it asks for a pause of {asked / 60:.0f} minutes; start again after that"
        tail = f" ({mend})" if mend else ""
        kind = "" if isinstance(error, NoReply) else f"{type(error).__name__}: "
        return ClientError(f"{self._where}: {kind}{told(error)}{tail}")


def _transient(error: BaseException, sdk: Any) -> bool:
    if not isinstance(error, sdk.APIStatusError):
        return isinstance(error, sdk.APIError)  # no connection, no answer in time, or told midway
    if error.code == "insufficient_quota" or (_retry_after(error) or 0) > LONGEST_PAUSE_S:
        return False
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def _retry_after(error: BaseException | None) -> float | None:
    """Return how long a server asks us to wait, in s, if it does."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for header, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        text = headers.get(header, "")
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _until(text)
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _until(text: str) -> float:
    """Return how far away a date is, in s; negative if it is none."""
    try:
        return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return -1.0


def _sdk() -> Any:
    try:
        import openai
        import tenacity  # noqa: F401
    except ImportError as error:
        raise MissingExtra(error.name or "openai", "client") from None
    return openai
