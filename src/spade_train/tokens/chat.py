"""`ChatFormat`: a tokenizer's chat template as a way to append to a dialogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spade_envs.api.answers import without_thinking
from spade_envs.api.calls import ToolCall, parse_calls
from spade_envs.types import Json, Message
from spade_train.errors import DataError, TemplateError
from spade_train.tokens.dialogue import Dialogue, Segment, Window
from spade_train.tokens.probe import Traits, probe, tail
from spade_train.tokens.template import ChatTokenizer, Template


@dataclass(frozen=True, slots=True)
class Turn:
    """What the policy said in one turn."""

    raw: str
    """Text of the sampled tokens, the end token left out."""
    ended: bool
    """Whether the policy ended the turn itself; otherwise it was stopped by its length."""

    @property
    def text(self) -> str:
        """The action for the environment: what was said, without thinking."""
        if "<think>" not in self.raw and "</think>" not in self.raw:
            return self.raw
        return without_thinking(self.raw).lstrip("\n")

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls of the action, in order; none if it is a plain message."""
        return parse_calls(self.text)


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How dialogues of one tokenizer are begun and continued.

    The template is rendered once, for the prompt. After that only the tokens that were sampled and
    what the template writes after an assistant turn are appended: nothing is tokenized again.
    """

    template: Template
    traits: Traits
    window: Window
    end: int | None
    """Token by which the template closes an assistant turn; None if it uses none."""
    stops: frozenset[int]
    """Tokens at which sampling stops: `end`, the tokenizer's end token, and those asked for."""

    @classmethod
    def of(
        cls,
        tokenizer: ChatTokenizer,
        *,
        window: Window,
        thinking: bool | None = None,
        stops: Iterable[int] = (),
    ) -> ChatFormat:
        """Return the format of a tokenizer's chat template, or of the plain one if it has none.

        Args:
            tokenizer: a tokenizer of `transformers`, or one with its methods.
            window: how long dialogues may get.
            thinking: switches a hybrid template's thinking on or off; None leaves its default.
            stops: further end tokens, such as those of the model's generation settings.

        Raises:
            TemplateError: the template rewrites earlier turns, knows no end token, or has no switch
                for thinking although `thinking` is given.
        """
        options = {} if thinking is None else {"enable_thinking": thinking}
        template = Template.of(tokenizer, options)
        if thinking is not None:
            _need_switch(tokenizer)
        traits = probe(template)
        end = _first_control(template, traits.close)
        known = {end, *stops, _own_end(template, traits, tokenizer.eos_token_id)} - {None}
        if not known:
            raise TemplateError("the tokenizer has no end token and its chat template uses none")
        return cls(template, traits, window, end, frozenset(int(i) for i in known if i is not None))

    def begin(self, messages: Sequence[Message], *, tools: Sequence[Json] = ()) -> Dialogue:
        """Return a dialogue that holds the prompt and awaits the first turn.

        A prompt that leaves no room for a turn comes back whole, marked as truncated.

        Args:
            messages: the first messages, the last one not the assistant's.
            tools: OpenAI function schemas, such as `info["tools"]` of an environment that was reset
                with `native_tools=True`.

        Raises:
            TemplateError: the template cannot show tools, or refuses the messages.
        """
        if tools and self.traits.native_tools:
            raise TemplateError(
                f"{self.traits.native_tools}; leave tools out and let the environment list them"
            )
        text = self.template.render(messages, tools=tools)
        prompt = Dialogue(()).append(Segment(self.template.encode(text)))
        return prompt if prompt.room(self.window) else prompt.truncate()

    def sampled(
        self, dialogue: Dialogue, ids: Sequence[int], logprobs: Sequence[float]
    ) -> Dialogue:
        """Return the dialogue with a turn, exactly as it was sampled.

        Args:
            dialogue: a dialogue that awaits a turn.
            ids: the sampled tokens, the end token included if there was one.
            logprobs: their log-probabilities under the policy that sampled them.

        Raises:
            DataError: tokens after the end token (see `until_stop`), more tokens than there was
                room for, lengths that differ, or no turn is awaited.
        """
        tokens = tuple(int(i) for i in ids)
        if any(token in self.stops for token in tokens[:-1]):
            raise DataError("sampled tokens go on after the end token; cut them with until_stop()")
        if dialogue.awaits_turn and len(tokens) > dialogue.room(self.window):
            room = dialogue.room(self.window)
            raise DataError(f"{len(tokens)} tokens were sampled where {room} had room")
        return dialogue.append(Segment(tokens, tuple(float(value) for value in logprobs)))

    def reply(self, dialogue: Dialogue, messages: Sequence[Message]) -> Dialogue:
        """Return the dialogue with the environment's reply and the header of the next turn.

        A turn that the policy did not end is closed here, untrained. If the reply leaves no room
        for a turn, nothing is appended and the dialogue is marked as truncated.

        Args:
            dialogue: a dialogue that ends with a sampled turn.
            messages: the reply, at least one message; results of parallel calls go in together.

        Raises:
            DataError: the dialogue does not end with a sampled turn, or there are no messages.
            TemplateError: the template refuses the messages, or closes the turn before them in
                another way.
        """
        if not messages:
            raise DataError("a reply holds at least one message")
        last = self._last(dialogue)
        text = tail(self.template, list(messages))
        if not text.startswith(self.traits.close):
            roles = ", ".join(message.role for message in messages)
            raise TemplateError(
                f"before the roles {roles} the chat template closes a turn with {text[:40]!r} and "
                f"not with {self.traits.close!r}"
            )
        ids = self.template.encode(text)
        controls = set(self.template.controls.values())
        first = next((place for place, i in enumerate(ids) if i in controls), None)
        if first is not None and ids[first] == last.ids[-1] and ids[first] in self.stops:
            ids = ids[first + 1 :]  # the policy ended the turn with it
        longer = dialogue.append(Segment(ids))
        return longer if longer.room(self.window) else dialogue.truncate()

    def turn(self, dialogue: Dialogue) -> Turn:
        """Return what was said in the turn with which the dialogue ends.

        Raises:
            DataError: the dialogue does not end with a sampled turn.
        """
        ids = self._last(dialogue).ids
        ended = ids[-1] in self.stops
        return Turn(self.template.decode(ids[:-1] if ended else ids), ended)

    def until_stop(self, row: Sequence[int]) -> list[int]:
        """Return a row of a batched sampler up to its first end token, that included.

        What follows is padding, whatever its token: it may be the end token itself.
        """
        tokens = [int(i) for i in row]
        length = next((i + 1 for i, token in enumerate(tokens) if token in self.stops), len(tokens))
        return tokens[:length]

    def _last(self, dialogue: Dialogue) -> Segment:
        if not dialogue.segments or not dialogue.segments[-1].is_sampled:
            raise DataError("the dialogue does not end with a sampled turn")
        return dialogue.segments[-1]


def _need_switch(tokenizer: ChatTokenizer) -> None:
    chat = [Message("user", "x")]
    on, off = (
        Template.of(tokenizer, {"enable_thinking": value}).render(chat) for value in (True, False)
    )
    if on == off:
        raise TemplateError("the chat template has no switch for thinking; leave `thinking` unset")


def _first_control(template: Template, text: str) -> int | None:
    """Return the id of the control token that comes first in `text`."""
    found = [(text.find(control), index) for control, index in template.controls.items()]
    return min(((place, index) for place, index in found if place >= 0), default=(0, None))[1]


def _own_end(template: Template, traits: Traits, eos: int | None) -> int | None:
    """Return the tokenizer's end token, unless the template opens turns with it.

    Some conversions of SmolLM2 name `<|im_start|>` as the end token.
    """
    opens = {index for text, index in template.controls.items() if text in traits.header}
    closes = {index for text, index in template.controls.items() if text in traits.close}
    return None if eos in opens - closes else eos
