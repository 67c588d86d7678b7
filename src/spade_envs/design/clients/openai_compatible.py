"""Any server that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from spade_envs.design.clients.base import CompletionRequest, complete_one
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.types import Completion, Message

if TYPE_CHECKING:
    import openai


class OpenAICompatiblePolicy:
    """Asks a chat server; the SDK retries what is worth retrying.

    Reproducible as far as the server honours the seed that every request carries.

    Args:
        base_url: such as `http://localhost:8000/v1`; None for the SDK's own server.
        model: what to ask for; the first model that the server lists if None.
        api_key: the SDK reads OPENAI_API_KEY if None; a server at `base_url` may need none.
        timeout_s: limit for one request, > 0.
        max_retries: SDK retries per request, >= 0.
        concurrency: requests in flight at once, >= 1.
        client: a ready SDK client, to be used as it is.
    """

    def __init__(
        self,
        base_url: str | None = None,
        model: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = 600.0,
        max_retries: int = 3,
        concurrency: int = 16,
        client: openai.OpenAI | None = None,
    ) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency must be >= 1, not {concurrency}")
        self._sdk = _sdk()
        self._where = base_url or "the OpenAI server"
        self._concurrency = concurrency
        try:
            self._client = client or self._sdk.OpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout_s, max_retries=max_retries
            )
        except self._sdk.OpenAIError:
            if base_url is None:
                raise ConfigError(
                    "no API key; set OPENAI_API_KEY or give the URL of a server"
                ) from None
            self._client = self._sdk.OpenAI(
                base_url=base_url, api_key="none", timeout=timeout_s, max_retries=max_retries
            )
        self._model = model

    @property
    def name(self) -> str:
        """Model that is asked.

        Raises:
            ClientError: none was named and the server cannot be asked for its list.
        """
        if self._model is None:
            try:
                listed = [model.id for model in self._client.models.list()]
            except self._sdk.OpenAIError as error:
                raise self._failed(error) from error
            if not listed:
                raise ClientError(f"{self._where} serves no model; name one with --model")
            self._model = listed[0]
        return self._model

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: the server refused, failed or did not answer in time.
        """
        chat: Any = [{"role": message.role, "content": message.content} for message in messages]
        try:
            answer = self._client.chat.completions.create(
                model=self.name,
                messages=chat,
                seed=seed,
                max_tokens=max_tokens,
                temperature=temperature,
            )
        except self._sdk.OpenAIError as error:
            raise self._failed(error) from error
        if not answer.choices:
            raise ClientError(f"{self._where} answered without any choice")
        choice, usage = answer.choices[0], answer.usage
        return Completion(
            text=_text(choice.message),
            model=answer.model or self.name,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            finish_reason=choice.finish_reason,
        )

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order; several are in flight at once."""
        with ThreadPoolExecutor(min(self._concurrency, max(1, len(requests)))) as pool:
            return list(pool.map(lambda request: complete_one(self, request), requests))

    def _failed(self, error: Exception) -> ClientError:
        mends = {
            "AuthenticationError": "set OPENAI_API_KEY",
            "NotFoundError": "check the model's name and that the URL ends in /v1",
            "APITimeoutError": "give it more time with timeout_s",
            "APIConnectionError": "is the server running, and is the URL right?",
            "RateLimitError": "lower the concurrency",
        }
        mend = mends.get(type(error).__name__)
        text = " ".join(str(error).split())[:300]
        tail = f" ({mend})" if mend else ""
        return ClientError(f"{self._where}: {type(error).__name__}: {text}{tail}")


def _text(message: Any) -> str:
    """Return the answer; thinking that a server parsed away stays away."""
    return message.content or ""


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtra("openai", "client") from None
    return openai
