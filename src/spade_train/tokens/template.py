"""Rendering a chat template, and encoding what it rendered.

Text from outside (observations, tool results, documents) stays text: where it spells a control
token such as `<|im_end|>`, it is encoded as the characters, so that no environment can end its turn
and speak in the agent's place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jinja2

from spade_envs.types import Json, Message
from spade_train.errors import TemplateError

PLAIN_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ message.content }}"
    "{%- if message.role == 'assistant' -%}{{ eos_token }}{%- endif -%}"
    "{{ '\\n' }}"
    "{%- endfor -%}"
)
"""Template of a tokenizer that has none: one message per line, turns ended by the end token."""

# Private-use characters; a text that holds the first one has it escaped like a control token.
_OPEN, _CLOSE = "\ue000", "\ue001"
_ESCAPED = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


class ChatTokenizer(Protocol):
    """What is needed of a tokenizer; those of `transformers` have it."""

    @property
    def chat_template(self) -> Any:
        """The chat template, or None."""

    @property
    def eos_token_id(self) -> Any:
        """The end token, or None."""

    @property
    def added_tokens_decoder(self) -> Mapping[int, Any]:
        """Tokens beside the vocabulary, each with `content` and `special`."""

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]:
        """Return the tokens of a text."""

    def decode(
        self, ids: Sequence[int], *, skip_special_tokens: bool, clean_up_tokenization_spaces: bool
    ) -> str:
        """Return the text of some tokens."""

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """Return the text of a conversation."""


@dataclass(frozen=True, slots=True)
class Template:
    """A tokenizer's chat template with its options."""

    tokenizer: ChatTokenizer
    options: Mapping[str, Json]
    """Variables for the template, such as `enable_thinking`."""
    controls: Mapping[str, int]
    """Control tokens: text -> id."""
    _guarded: tuple[str, ...]
    _pattern: re.Pattern[str]

    @classmethod
    def of(cls, tokenizer: ChatTokenizer, options: Mapping[str, Json] | None = None) -> Template:
        """Return the template of a tokenizer; the plain one if it has none."""
        known = dict(options or {})
        if not tokenizer.chat_template:
            known["chat_template"] = PLAIN_TEMPLATE
        controls = {
            str(token.content): index
            for index, token in tokenizer.added_tokens_decoder.items()
            if token.special
        }
        guarded = (_OPEN, *sorted((c for c in controls if len(c) > 1), key=len, reverse=True))
        pattern = re.compile("|".join(re.escape(text) for text in guarded))
        return cls(tokenizer, known, controls, guarded, pattern)

    def render(
        self, messages: Sequence[Message], *, tools: Sequence[Json] = (), generate: bool = True
    ) -> str:
        """Return the text of a conversation, ready for `encode`.

        Args:
            messages: the conversation.
            tools: OpenAI function schemas.
            generate: whether the header of the next assistant turn follows.

        Raises:
            TemplateError: the template refuses the conversation.
        """
        chat = [{"role": m.role, "content": self._guard(m.content)} for m in messages]
        listed = self._guard_all(list(tools)) if tools else None
        try:
            text = self.tokenizer.apply_chat_template(
                chat,
                tools=listed,
                tokenize=False,
                add_generation_prompt=generate,
                **self.options,
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            roles = ", ".join(message.role for message in messages)
            raise TemplateError(f"the chat template refuses the roles {roles}: {error}") from error
        return str(text)

    def encode(self, rendered: str) -> tuple[int, ...]:
        """Return the tokens of a rendered text; what was guarded gives no control token."""
        ids: list[int] = []
        for position, piece in enumerate(_ESCAPED.split(rendered)):
            if position % 2 == 0:
                ids += self._plain(piece)
            else:  # encoded in two parts, neither of which is a control token
                spelling = self._guarded[int(piece)]
                ids += [*self._plain(spelling[:1]), *self._plain(spelling[1:])]
        return tuple(int(i) for i in ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens, control tokens included."""
        return self.tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )

    def _plain(self, text: str) -> Sequence[int]:
        return self.tokenizer.encode(text, add_special_tokens=False) if text else ()

    def _guard(self, text: str) -> str:
        return self._pattern.sub(
            lambda found: f"{_OPEN}{self._guarded.index(found.group())}{_CLOSE}", text
        )

    def _guard_all(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._guard(value)
        if isinstance(value, Mapping):
            return {self._guard(str(key)): self._guard_all(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._guard_all(item) for item in value]
        return value
