"""Training samples: conversations in which the assistant designs, or acts.

Every sample is a pure function of the run's seed and the sample's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spade_envs.api.loading import find_entry
from spade_envs.api.text import TextEnv
from spade_train.nano.families import PLAYED, Draw
from spade_train.nano.programs import draw_condition, write_program

DEMO_SHARE = 0.7
"""Share of samples in which the assistant plays an environment instead of writing one."""

DRILLS = 7000
"""Samples at the beginning of a run in which the episodes are long."""

_WEIGHTS = [1.0 if family.kind == "text" else 0.2 for family in PLAYED]
"""Episodes with tools are several times as long."""
_STEPS = (20, 20, 18, 15, 11, 8, 5, 3)
"""How likely a played instance has 0, 1, 2, ... steps more than the family's shortest."""
_DRILLS = (0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""The same for the first samples: long ones, of which more tokens are learnt."""


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


def demo_sample(draw: Draw, passages: list[str], *, drill: bool = False) -> Conversation:
    """Return a won episode of a program that can be learnt, in half of them with its hint.

    Short episodes are likeliest, so that success falls with the level; drills are long.
    """
    family = draw.weighted(PLAYED, _WEIGHTS)
    chances = _DRILLS if drill else _STEPS
    steps = draw.weighted(range(len(chances)), chances)
    if family.kind == "tool":
        steps //= 3
    env = load_own(write_program(draw, draw_condition(draw, passages), family, steps).code)()
    return won_episode(env, seed=draw.int(0, 2**31 - 1), hinted=bool(draw.int(0, 1)))


def won_episode(env: TextEnv, *, seed: int, hinted: bool) -> Conversation:
    """Return the episode of the reference; with the hint it leaves out what the hint spares."""
    observation, _ = env.reset(seed=seed)
    actions = env.solution()
    if hinted:
        observation = f"{observation}\nHint: {env.hint()}"
        if len(actions) > 2 and _wins(env, seed, actions[1:]):
            actions = actions[1:]
        env.reset(seed=seed)
    texts = [observation]
    for action in actions:
        texts.append(action)
        texts.append(env.step(action)[0])
    return Conversation(tuple(texts[:-1]))


def _wins(env: TextEnv, seed: int, actions: list[str]) -> bool:
    env.reset(seed=seed)
    for action in actions:
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return bool(info["success"])
    return False


def sample(seed: int, number: int, passages: list[str]) -> Conversation:
    """Return sample `number` of a run."""
    draw = Draw(f"{seed}/{number}")
    if draw.int(1, 100) > DEMO_SHARE * 100:
        return design_sample(draw, passages)
    return demo_sample(draw, passages, drill=number < DRILLS)


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
