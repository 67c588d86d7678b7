"""The tokenizer: byte-pair encoding in which digits, capitals and recurring lines are tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

USER, ASSISTANT, END, PAD = "<|user|>", "<|assistant|>", "<|end|>", "<|pad|>"
"""Marks of a conversation: the designer and the agent both answer as the assistant."""

_PIECES = r"[0-9]|[A-Z]| ?[a-z]+(?:[._][a-z]+)*\(?|\n *| ?[^\sA-Za-z0-9]+| +|\s+"
_LINE = re.compile(r"\n[^\n]*|\A[^\n]+")
_CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.role == 'assistant' -%}"
    "<|assistant|>{{ message.content }}<|end|>"
    "{%- elif message.role in ('user', 'tool') -%}"
    "<|user|>{{ message.content }}"
    "{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def recurring_lines(programs: Sequence[str], most: int) -> list[str]:
    """Return the lines without digits that most programs share, each with its line break."""
    counts: Counter[str] = Counter()
    for program in programs:
        counts.update(set(_LINE.findall(program)))
    least = max(4, len(programs) // 150)
    frequent = [
        (count * len(line), line)
        for line, count in counts.items()
        if count >= least and len(line.strip()) >= 12 and not any(c.isdigit() for c in line)
    ]
    return [line for _, line in sorted(frequent, reverse=True)[:most]]


_CALLS = ('<tool_call>{"name": "', '", "arguments": {"', '"}}</tool_call>', "}}</tool_call>")
"""Recurring parts of tool calls, each a token of its own."""


def train_tokenizer(
    programs: Sequence[str],
    others: Sequence[str],
    *,
    vocabulary: int = 2048,
    lines: int = 400,
    spoken: int = 8,
) -> Any:
    """Return a `PreTrainedTokenizerFast` trained on programs and on other texts.

    It is lossless for any text: every byte is a token of its own. Up to `lines` lines of programs
    and `spoken` lines of other texts become whole tokens.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    whole = recurring_lines(programs, lines)
    said = recurring_lines(others, spoken)
    whole = [*dict.fromkeys([*_CALLS, *said, *whole])]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(whole),
        special_tokens=[PAD, USER, ASSISTANT, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    known = set(whole)
    texts = [*programs, *others]
    rest = ["".join(x for x in _LINE.findall(text) if x not in known) for text in texts]
    tokenizer.train_from_iterator(rest, trainer)
    tokenizer.add_tokens([AddedToken(line, normalized=False) for line in whole])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        padding_side="left",
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
        additional_special_tokens=[USER, ASSISTANT],
    )
    fast.chat_template = _CHAT_TEMPLATE
    return fast
