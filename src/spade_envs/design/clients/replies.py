"""From what the OpenAI protocol answers, whole or streamed, to a completion."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from spade_envs.design.clients.thinking import split_thinking
from spade_envs.types import Completion

MAX_REPLY_CHARS = 4_000_000
"""A reply that grows beyond is cut off: the server repeats itself without end."""


class NoReply(Exception):
    """A reply that is none: broken off, endless or empty. Asking again may help."""


def read_answer(answer: Any) -> Completion:
    """Return the completion in a whole answer of the SDK.

    Raises:
        NoReply: it has no choice.
    """
    if not answer.choices:
        raise NoReply("it answered without any choice")
    choice = answer.choices[0]
    thinking = _thinking_of(choice.message)
    return _completion(
        choice.message.content or "",
        thinking,
        model=answer.model,
        finish_reason=choice.finish_reason,
        usage=answer.usage,
    )


def whole_answer(stream: Any) -> Any | None:
    """Return the answer of a server that was asked for a stream and sent it in one piece instead.

    Args:
        stream: of the SDK.

    Returns:
        An answer as `read_answer` takes it; None if the server does stream.

    Raises:
        NoReply: it is no JSON of a chat completion.
    """
    response = getattr(stream, "response", None)
    if response is None or "application/json" not in response.headers.get("content-type", ""):
        return None
    from openai.types.chat import ChatCompletion

    try:
        return ChatCompletion.model_validate_json(response.read())
    except ValueError as error:
        raise NoReply("it answered something other than a chat completion") from error
    finally:
        response.close()


def read_stream(chunks: Iterable[Any], model: str, deadline: float) -> Completion:
    """Return the completion in a streamed answer of the SDK.

    Args:
        chunks: of the stream, closed in the end if it can be.
        model: name to use if the chunks bear none.
        deadline: when to give up, by `time.monotonic`.

    Raises:
        NoReply: it ended without a finish reason, took too long, or had no choice.
    """
    text: list[str] = []
    thinking: list[str] = []
    size, reason, usage, seen = 0, None, None, False
    try:
        for chunk in chunks:
            model = getattr(chunk, "model", None) or model
            usage = getattr(chunk, "usage", None) or usage
            if time.monotonic() > deadline:
                raise NoReply("the reply did not end in time (give it more time with timeout_s)")
            if size > MAX_REPLY_CHARS:
                raise NoReply(f"the reply is longer than {MAX_REPLY_CHARS} characters")
            if not chunk.choices:
                continue
            seen, choice = True, chunk.choices[0]
            text.append(getattr(choice.delta, "content", None) or "")
            thinking.append(_thinking_of(choice.delta))
            size += len(text[-1]) + len(thinking[-1])
            reason = choice.finish_reason or reason
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    if not seen:
        raise NoReply("it answered without any choice")
    if reason is None:
        raise NoReply("the reply broke off")
    return _completion(
        "".join(text), "".join(thinking), model=model, finish_reason=reason, usage=usage
    )


def _completion(
    text: str, thinking: str, *, model: str, finish_reason: str | None, usage: Any
) -> Completion:
    if not thinking:
        thinking, text = split_thinking(text)
    details = getattr(usage, "completion_tokens_details", None)
    return Completion(
        text=text,
        model=model,
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        finish_reason=finish_reason,
        thinking=thinking,
        thinking_tokens=getattr(details, "reasoning_tokens", None),
    )


def _thinking_of(message: Any) -> str:
    """Return what the server parsed away as thinking; vLLM and others name the field so."""
    for field in ("reasoning_content", "reasoning"):
        found = getattr(message, field, None)
        if isinstance(found, str):
            return found
    return ""
