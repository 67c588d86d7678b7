"""Dialogues as tokens that are only ever appended to; no model library is loaded here."""

from spade_train.tokens.batches import Padded, Rows, pad, rows
from spade_train.tokens.chat import ChatFormat, Turn
from spade_train.tokens.dialogue import Dialogue, Segment, Window
from spade_train.tokens.probe import Traits
from spade_train.tokens.replies import messages_of
from spade_train.tokens.template import PLAIN_TEMPLATE, ChatTokenizer

__all__ = [
    "PLAIN_TEMPLATE",
    "ChatFormat",
    "ChatTokenizer",
    "Dialogue",
    "Padded",
    "Rows",
    "Segment",
    "Traits",
    "Turn",
    "Window",
    "messages_of",
    "pad",
    "rows",
]
