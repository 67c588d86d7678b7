"""From what the OpenAI protocol answers, whole or streamed, to a completion.

The SDK checks nothing of what a server sends, so neither shape nor types are taken on trust.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from spade_envs.design.clients.thinking import split_thinking
from spade_envs.types import Completion

MAX_REPLY_CHARS = 4_000_000
"""A reply that grows beyond is cut off: the server repeats itself without end."""
_TOO_LONG = f"the reply is longer than {MAX_REPLY_CHARS} characters"
LATE = "the reply did not end in time (give it more time with timeout_s)"
_MAX_COUNT = 1 << 40
_MAX_TOLD_CHARS = 300
_IN_STREAM = "An error occurred during streaming"
_ONLY_A_STATUS = re.compile(r"Error code: \d+")
"""So does the SDK speak of an error whose message is not where the protocol has it."""
WRONG_URL = "is the URL right? Those of most servers end in /v1"


class NoReply(Exception):
    """A reply that is none: broken off, endless, empty or of another shape.

    Args:
        text: what is wrong with it.
        again: whether asking again may help.
    """

    def __init__(self, text: str, *, again: bool = True) -> None:
        super().__init__(text)
        self.again = again


@contextmanager
def reading() -> Iterator[None]:
    """Have a reply be read by the SDK, which checks nothing and stumbles over odd ones.

    Raises:
        NoReply: it has keys or values that the SDK cannot take, or a number of too many digits.
    """
    try:
        yield
    except (AttributeError, TypeError) as error:
        raise NoReply(f"it answered in another shape than the protocol's: {error}") from error
    except ValueError as error:
        if type(error) is not ValueError:  # no JSON, or no UTF-8: it says so itself
            raise
        text = str(error).partition(";")[0]
        raise NoReply(f"it answered with a value that cannot be read: {text}") from error


def told(error: BaseException) -> str:
    """Return what is wrong with a reply, in the server's own words if it has any.

    Returns:
        One line of at most 300 characters, all of which can be shown.
    """
    text, body = str(error), getattr(error, "body", None)
    if text == _IN_STREAM:
        text = body if isinstance(body, str) else _as_json(body)
    elif _ONLY_A_STATUS.fullmatch(text):
        said = body.get("detail") if isinstance(body, dict) else body
        shown = isinstance(said, str) and said and not said.lstrip().startswith("<")  # no page
        text = f"{text} - {said}" if shown else text
    line = " ".join(text[: 10 * _MAX_TOLD_CHARS].split())
    return "".join(char if char.isprintable() else "?" for char in line)[:_MAX_TOLD_CHARS]


def _as_json(found: Any) -> str:
    try:
        return json.dumps(found)
    except RecursionError:  # it is as deep as could just be read
        return "JSON of many levels"


def read_answer(answer: Any) -> Completion:
    """Return the completion in a whole answer of the SDK.

    Raises:
        NoReply: it has no choice, is too long, or is none.
    """
    if isinstance(answer, str) and answer.lstrip().startswith("<"):
        raise NoReply(f"it answered with a web page; {WRONG_URL}", again=False)
    choice = _first(answer)
    if choice is None:
        raise NoReply("it answered without any choice")
    message = getattr(choice, "message", None)
    return _completion(
        _text(getattr(message, "content", None)),
        _thinking_of(message),
        model=getattr(answer, "model", None),
        finish_reason=getattr(choice, "finish_reason", None),
        usage=getattr(answer, "usage", None),
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
    response: Any = getattr(stream, "response", None)
    kind = "" if response is None else response.headers.get("content-type", "")
    if "text/html" in kind:
        response.close()
        raise NoReply(f"it answered with a web page; {WRONG_URL}", again=False)
    if "application/json" not in kind:
        return None
    from openai.types.chat import ChatCompletion

    try:
        found = json.loads(response.read())
    except (ValueError, RecursionError) as error:
        raise NoReply("it answered something other than JSON") from error
    finally:
        response.close()
    if not isinstance(found, dict) or "choices" not in found:
        said = _as_json(found)[:200]
        raise NoReply(f"it answered something other than a chat completion: {said}")
    return ChatCompletion.construct(**found)


def names_of(listed: Any) -> list[str]:
    """Return the names of the models that a server lists.

    Args:
        listed: page of the SDK; text if the server sent no JSON.

    Raises:
        NoReply: it is no such list, or a name cannot be used.
    """
    models = "" if isinstance(listed, str) else getattr(listed, "data", None) or []
    if not isinstance(models, list):
        raise NoReply(f"it lists no models; {WRONG_URL}", again=False)
    names = [getattr(model, "id", None) for model in models]
    if not all(usable_name(name) for name in names[:1]):
        raise NoReply("the first model that it lists has no usable name", again=False)
    return [str(name) for name in names]


def usable_name(name: Any) -> bool:
    """Whether a model's name can be asked for and shown: one line of at most 300 characters."""
    return isinstance(name, str) and 0 < len(name.strip()) <= 300 and name.isprintable()


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
                raise NoReply(LATE)
            if size > MAX_REPLY_CHARS:
                raise NoReply(_TOO_LONG)
            if (choice := _first(chunk)) is None:
                continue
            seen, delta = True, getattr(choice, "delta", None)
            text.append(_text(getattr(delta, "content", None)))
            thinking.append(_thinking_of(delta))
            size += len(text[-1]) + len(thinking[-1])
            reason = getattr(choice, "finish_reason", None) or reason
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


def _first(answer: Any) -> Any:
    choices = getattr(answer, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _text(content: Any) -> str:
    """Return a message's text; a list of parts, as newer models give it, is joined."""
    if isinstance(content, list):
        parts = [
            p.get("text") if isinstance(p, dict) else getattr(p, "text", None) for p in content
        ]
        return "".join(part for part in parts if isinstance(part, str))
    if content is not None and not isinstance(content, str):
        raise NoReply(f"it answered with {type(content).__name__} where text belongs")
    return content or ""


def _completion(
    text: str, thinking: str, *, model: Any, finish_reason: Any, usage: Any
) -> Completion:
    if not thinking:
        thinking, text = split_thinking(text)
    if len(text) + len(thinking) > MAX_REPLY_CHARS:
        raise NoReply(_TOO_LONG)
    details = getattr(usage, "completion_tokens_details", None)
    return Completion(
        text=_whole(text),
        model=_whole(model) if isinstance(model, str) else "",
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        finish_reason=_whole(finish_reason) if isinstance(finish_reason, str) else None,
        thinking=_whole(thinking),
        thinking_tokens=_count(details, "reasoning_tokens"),
    )


def _whole(text: str) -> str:
    """Return a text without halves of characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _count(usage: Any, name: str) -> int | None:
    """Return a number of tokens; None, so that it is estimated, for what is no such number."""
    found = getattr(usage, name, None)
    return found if type(found) is int and 0 <= found < _MAX_COUNT else None


def _thinking_of(message: Any) -> str:
    """Return what the server parsed away as thinking; vLLM and others name the field so."""
    for field in ("reasoning_content", "reasoning"):
        found = getattr(message, field, None)
        if isinstance(found, str):
            return found
    return ""
