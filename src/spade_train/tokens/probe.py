"""What a chat template does, found by rendering conversations of marks.

Appending is right only if a template leaves alone what it has written: the lead, every user turn
and everything between turns. What it may change is the inside of earlier assistant turns (thinking
that it drops): the dialogue keeps that as it was sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeVar

from spade_envs.types import Json, Message
from spade_train.errors import TemplateError
from spade_train.tokens.template import Template

T = TypeVar("T")

_OPEN, _CLOSE = "<think>", "</think>"
_USER = ("Markuserzero", "Markuserone", "Markusertwo")
_AGENT = ("Markagentzero", "Markagentone")
_TOOL = ("Marktoolzero", "Marktoolone")
_THOUGHT = "Markthought"
_SCHEMA: Json = {
    "type": "function",
    "function": {
        "name": "marked",
        "description": "Marked.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a chat template does."""

    close: str
    """Text that closes an assistant turn."""
    header: str
    """Text between a user turn and the turn that answers it, the same for every turn."""
    scaffold: str
    """What the header for generation adds and that of an earlier turn has not; the dialogue keeps
    it in every turn."""
    same_header: bool
    """Whether an earlier assistant turn has the header under which it was sampled."""
    drops_thinking: bool
    """Whether thinking vanishes from earlier turns when the user speaks again."""
    native_tools: str
    """Empty if tools and their results can go through the template, else why they cannot."""

    @property
    def keeps_history(self) -> bool:
        """Whether rendering a whole conversation anew gives the text that appending gives."""
        return self.same_header and not self.drops_thinking


def probe(template: Template) -> Traits:
    """Return what a template does.

    Raises:
        TemplateError: the template rewrites what it wrote before, or alters what is said, so that
            turns cannot be appended.
    """
    lead, generation = _pieces(template, 0)
    lead1, header, bridge, generation1 = _pieces(template, 1)
    lead2, header2, bridge2, header3, bridge3, generation2 = _pieces(template, 2)
    _same("what stands before the first message", lead, lead1, lead2)
    _same("the header of the assistant's next turn", generation, generation1, generation2)
    _same("the header of an earlier turn", header, header2, header3)
    _same("the text between a turn and the reply", bridge, bridge2, bridge3)
    start, scaffold = _scaffold(generation, header)
    last = template.render([_user(0), _agent(0)], generate=False).partition(_AGENT[0])[2]
    close = template.decode(_common(template.encode(bridge), template.encode(last)))
    return Traits(
        close=close,
        header=start,
        scaffold=scaffold,
        same_header=header == generation,
        drops_thinking=_drops_thinking(template),
        native_tools=_native_tools(template, bridge, close),
    )


def tail(template: Template, replies: list[Message]) -> str:
    """Return what a template writes after an assistant turn when `replies` follow it.

    Raises:
        TemplateError: the template refuses these replies.
    """
    text = template.render([_user(0), _agent(0), *replies])
    _, found, rest = text.partition(_AGENT[0])
    if not found:
        raise TemplateError("the chat template leaves out what the assistant said")
    return rest


def _pieces(template: Template, turns: int, tools: tuple[Json, ...] = ()) -> list[str]:
    """Return the text around the marks of a conversation with so many assistant turns."""
    messages, marks = [_user(0)], [_USER[0]]
    for index in range(turns):
        messages += [_agent(index), _user(index + 1)]
        marks += [_AGENT[index], _USER[index + 1]]
    return _around(template.render(messages, tools=tools), marks)


def _around(text: str, marks: list[str]) -> list[str]:
    pieces = []
    for mark in marks:
        before, found, text = text.partition(mark)
        if not found or mark in text:
            raise TemplateError(
                "the chat template drops, repeats or reorders messages, so turns cannot be appended"
            )
        pieces.append(before)
    return [*pieces, text]


def _same(what: str, *texts: str) -> None:
    for text in texts[1:]:
        if text != texts[0]:
            raise TemplateError(
                f"the chat template writes {what} differently once more turns follow "
                f"({texts[0]!r}, then {text!r}), so turns cannot be appended; give the tokenizer a "
                "template that leaves earlier turns alone"
            )


def _drops_thinking(template: Template) -> bool:
    said = Message("assistant", f"{_OPEN}\n{_THOUGHT}\n{_CLOSE}\n\n{_AGENT[0]}")
    return _THOUGHT not in template.render([_user(0), said, _user(1)])


def _native_tools(template: Template, bridge: str, close: str) -> str:
    """Return why tools cannot go through the template; empty if they can."""
    tools = (_SCHEMA,)
    try:
        lead = _pieces(template, 0, tools)
        later = _pieces(template, 1, tools)
        if lead == _pieces(template, 0):
            return "the chat template ignores tools"
        if later[0] != lead[0] or later[2] != bridge or later[3] != lead[1]:
            return "the chat template moves the list of tools when turns follow"
        first, second = (Message("tool", mark) for mark in _TOOL)
        parallel = [_user(0), _agent(0), first, second, _user(1)]
        _around(template.render(parallel), [_USER[0], _AGENT[0], *_TOOL, _USER[1]])
        serial = [_user(0), _agent(0), first, _agent(1), second]
        marks = [_USER[0], _AGENT[0], _TOOL[0], _AGENT[1], _TOOL[1]]
        _, _, before, _, again, _ = _around(template.render(serial), marks)
    except TemplateError as error:
        return f"the chat template does not take tool results ({error})"
    if before != again:
        return "the chat template rewrites earlier tool results"
    if not before.startswith(close):
        return "the chat template closes turns with tool calls in another way"
    return ""


def _scaffold(generation: str, earlier: str) -> tuple[str, str]:
    """Return what both headers of a turn begin with, and what only the one for generation adds.

    Raises:
        TemplateError: they differ in more than one going on, or the marks of thinking.
    """
    start = "".join(_common(generation, earlier))
    rests = generation[len(start) :], earlier[len(start) :]
    if not all(rests):
        return start, rests[0]
    start = start.removesuffix(_OPEN)
    rests = generation[len(start) :], earlier[len(start) :]
    if any(rest.replace(_OPEN, "").replace(_CLOSE, "").strip() for rest in rests):
        raise TemplateError(
            f"the chat template asks for a turn with {generation!r} and later writes {earlier!r} "
            "in its place, so turns cannot be appended"
        )
    return start, rests[0]


def _common(one: Sequence[T], other: Sequence[T]) -> list[T]:
    """Return the longest run with which both begin."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return [left for left, _ in pairs]


def _user(index: int) -> Message:
    return Message("user", _USER[index])


def _agent(index: int) -> Message:
    return Message("assistant", _AGENT[index])
