"""How many tokens a prompt takes, and how a brief is made to fit a model's context."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from spade_envs.design.prompting import render_prompt
from spade_envs.errors import ConfigError, MissingExtra
from spade_envs.types import Brief, Message, Passage

PROMPT_TOKENS = 12_288
"""Longest prompt by default: with an answer of 4096 tokens it fills a context of 16,384."""

MAX_SOURCE_CHARS = 9000
"""Longest source that a brief shows of its own accord, as an example or a parent."""

_MAX_TOKENIZER_BYTES = 256 << 20
_BYTES_PER_TOKEN = 3.0
_PER_MESSAGE = 8
"""Tokens of a chat template around one message, at most."""
_PASSAGE_SHARE = 0.5
"""Of what is free for passage and examples, the passage may keep so much before examples go."""
_LEAST_PASSAGE = 500
"""Tokens below which examples and lines to avoid make room for the passage."""

Count = Callable[[str], int]


def estimate(text: str) -> int:
    """Return about how many tokens a text takes, rather too many than too few.

    One for three bytes of UTF-8: prose takes about 4.5, this project's prompts 3.8, and dense
    code 3.2 (measured with a vocabulary of 49,000; larger ones take fewer tokens).
    """
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)


def count_tokens(messages: Sequence[Message], count: Count = estimate) -> int:
    """Return how many tokens a chat takes, with what a chat template puts around each message."""
    return sum(count(message.content) + _PER_MESSAGE for message in messages)


def tokenizer_count(folder: Path) -> Count:
    """Return a counter by a model's own `tokenizer.json`.

    Args:
        folder: of the model, or the file itself.

    Returns:
        What counts a text's tokens; it raises a `ConfigError` where the file does not hold up.

    Raises:
        ConfigError: there is no such file, or it cannot be read.
        MissingExtra: the library `tokenizers` is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizers", "train") from error
    path = folder / "tokenizer.json" if folder.is_dir() else folder
    try:
        text = _read(path)
        if not {"model", "pre_tokenizer"} <= set(json.loads(text)):
            raise ConfigError(f"{path} holds no tokenizer; name a file like tokenizer.json")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as a tokenizer: {error}") from None
    with _told(path):
        found = Tokenizer.from_str(text)

    def count(text: str) -> int:
        with _told(path):
            return len(found.encode(text, add_special_tokens=False))

    return count


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what the library raises for a malformed file, `Exception` itself or a panic of its."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(f"{path} cannot be used as a tokenizer: {reason}") from None


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not an ordinary file")
        data = file.read(_MAX_TOKENIZER_BYTES + 1)
    if len(data) > _MAX_TOKENIZER_BYTES:
        raise OSError(f"it is larger than {_MAX_TOKENIZER_BYTES} bytes")
    return data.decode()


def fit(brief: Brief, tokens: int = PROMPT_TOKENS) -> Brief:
    """Return a brief whose prompt takes at most `tokens`, by the estimate.

    Parents are never cut. Of the rest, the passage is cut first, down to half of what is free for
    it and the examples; then examples go, the last one first; then lines on what to avoid.

    Raises:
        ConfigError: not even a prompt without passage, examples and avoid list fits.
    """
    if _takes(brief) <= tokens:
        return brief
    bare = replace(brief, passage=None, examples=(), avoid=())
    if (least := _takes(bare)) > tokens:
        raise ConfigError(
            f"the prompt takes about {least} tokens without passage and examples, which is more "
            f"than the {tokens} that are allowed; allow more (--prompt-tokens) or take shorter "
            "parents"
        )
    while True:
        free = tokens - _takes(replace(brief, passage=None, examples=()))
        left = tokens - _takes(replace(brief, passage=None))
        room = max(left, int(_PASSAGE_SHARE * free))
        shorter = replace(brief, passage=_cut(brief.passage, room))
        lost = brief.passage is not None and room < _LEAST_PASSAGE
        if _takes(shorter) <= tokens and not (lost and (brief.examples or brief.avoid)):
            return _grown(shorter, brief.passage, tokens)
        if brief.examples:
            brief = replace(brief, examples=brief.examples[:-1])
        elif brief.avoid:
            brief = replace(brief, avoid=brief.avoid[:-1])
        else:
            return replace(brief, passage=None)


def _takes(brief: Brief) -> int:
    return count_tokens(render_prompt(brief))


def _grown(brief: Brief, whole: Passage | None, tokens: int) -> Brief:
    """Give the passage what is still free after an example has gone."""
    room = tokens - _takes(replace(brief, passage=None))
    fuller = replace(brief, passage=_cut(whole, room))
    return fuller if _takes(fuller) <= tokens else brief


def _cut(passage: Passage | None, tokens: int) -> Passage | None:
    """Return the beginning of a passage, whole words, for a prompt with so many tokens left."""
    if passage is None:
        return None
    frame = estimate(passage.title) + 120  # the sentences around it
    raw = passage.text.encode("utf-8", "surrogatepass")
    limit = int(max(0, tokens - frame) * _BYTES_PER_TOKEN)
    if len(raw) <= limit:
        return passage
    text = raw[:limit].decode("utf-8", "ignore")
    return replace(passage, text=text.rpartition(" ")[0] + " [...]") if " " in text else None
