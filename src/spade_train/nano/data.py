"""Training samples: conversations in which the assistant designs, or acts.

Every sample is a pure function of the run's seed and the sample's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spade_envs.api.loading import find_entry
from spade_envs.api.text import TextEnv
from spade_train.nano.families import Draw
from spade_train.nano.programs import draw_condition, write_program

DEMO_SHARE = 0.08
"""Share of samples in which the assistant plays an environment instead of writing one."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Alternating texts of user and assistant, the user first."""

    texts: tuple[str, ...]


def load_own(code: str) -> type[TextEnv]:
    """Return the environment class of a program that this package's generator wrote.

    Never give it anything else: the code runs here, outside the sandbox.
    """
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(code, "<generator>", "exec"), namespace)  # noqa: S102  written by families/
    return find_entry(namespace)


def design_sample(draw: Draw, passages: list[str]) -> Conversation:
    """Return a condition and a program that answers it."""
    condition = draw_condition(draw, passages)
    return Conversation((condition.line(), write_program(draw, condition).code))


def demo_sample(draw: Draw, passages: list[str]) -> Conversation:
    """Return a won episode of a random program, in half of them with its hint."""
    program = write_program(draw, draw_condition(draw, passages))
    env = load_own(program.code)(level=draw.pick((0, 0, 0, 1)))
    observation, _ = env.reset(seed=draw.int(0, 2**31 - 1))
    if draw.int(0, 1):
        observation = f"{observation}\nHint: {env.hint()}"
    texts = [observation]
    for action in env.solution():
        texts.append(action)
        texts.append(env.step(action)[0])
    return Conversation(tuple(texts[:-1]))


def sample(seed: int, number: int, passages: list[str]) -> Conversation:
    """Return sample `number` of a run."""
    draw = Draw(f"{seed}/{number}")
    make = demo_sample if draw.int(1, 100) <= DEMO_SHARE * 100 else design_sample
    return make(draw, passages)


def encode(
    conversation: Conversation, tokenizer: Any, most: int
) -> tuple[list[int], list[bool]] | None:
    """Return token ids and whether each is to be learnt; None if longer than `most`."""
    user, assistant, end = tokenizer.convert_tokens_to_ids(["<|user|>", "<|assistant|>", "<|end|>"])
    ids: list[int] = []
    learnt: list[bool] = []
    for place, text in enumerate(conversation.texts):
        mine = place % 2 == 1
        part = tokenizer(text, add_special_tokens=False)["input_ids"]
        part = [assistant, *part, end] if mine else [user, *part]
        ids += part
        learnt += [mine] * len(part)
        if mine:
            learnt[-len(part)] = False
    return None if len(ids) > most else (ids, learnt)


def batches(
    samples: Sequence[tuple[list[int], list[bool]]], tokens: int, draw: Draw
) -> list[list[tuple[list[int], list[bool]]]]:
    """Return samples in batches of similar length and about `tokens` tokens, in random order."""
    ordered = sorted(samples, key=lambda item: len(item[0]))
    groups: list[list[tuple[list[int], list[bool]]]] = [[]]
    for item in ordered:
        if groups[-1] and len(item[0]) * (len(groups[-1]) + 1) > tokens:
            groups.append([])
        groups[-1].append(item)
    return draw.many(groups, len(groups))
