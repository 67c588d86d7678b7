"""Sampling episodes of many turns: the in-process engine against `model.generate`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave
from spade_train.engines import SampleRequest
from spade_train.engines.hf import TransformersEngine
from spade_train.nano.model import load, one_thread

RATIO_BAR = 1.3
ROWS = 256
VOCABULARY = (10, 2000)


@dataclass(frozen=True)
class Conversation:
    """What is asked of one conversation; its turns have a given length, as their text is noise."""

    prompt: tuple[int, ...]
    turns: tuple[int, ...]
    replies: tuple[tuple[int, ...], ...]


def run(scale: Scale) -> Result:
    """Measure sampled tokens per second of processor time on the bundled tiny model."""
    rows = min(ROWS, 4 * scale.together)
    model, _ = load()
    talks = conversations(rows, np.random.default_rng(0))
    engine = TransformersEngine(model, stops=(), rows=rows)
    with one_thread():
        contenders: dict[str, Measure] = {
            "engine": lambda: _rate(lambda: _by_engine(engine, talks)),
            "generate": lambda: _rate(lambda: _by_generate(model, talks)),
        }
        taken = interleave(scale, contenders)
    series = {name: Series(name, "tokens/CPU s", samples) for name, samples in taken.items()}
    ratio = series["engine"].median / series["generate"].median
    text = f"engine, {rows} conversations of several turns: times the rate of generate"
    turns = sum(len(talk.turns) for talk in talks)
    notes = (f"{turns} turns; generate computes each conversation anew in every turn",)
    return Result("sampling", tuple(series.values()), (Claim(text, ratio, RATIO_BAR, True),), notes)


def conversations(rows: int, rng: np.random.Generator) -> list[Conversation]:
    """Return conversations of 1 to 6 turns, most of them short, as episodes are."""

    def text(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.integers(*VOCABULARY, int(rng.integers(low, high))).tolist())

    found = []
    for _ in range(rows):
        count = int(rng.choice([1, 2, 3, 4, 6], p=[0.4, 0.2, 0.15, 0.15, 0.1]))
        turns = tuple(int(n) for n in np.minimum(48, 3 + rng.geometric(0.1, count)))
        found.append(Conversation(text(25, 160), turns, tuple(text(8, 40) for _ in range(count))))
    return found


def _rate(sample: Callable[[], int]) -> float:
    begun = time.process_time()
    count = sample()
    return count / (time.process_time() - begun)


def _by_engine(engine: TransformersEngine, talks: list[Conversation]) -> int:
    engine.sync(0)

    def sample(turn: int, live: list[int], texts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        asked = [
            SampleRequest(
                key=str(row), ids=text, seed=row + 1000 * turn, max_tokens=talks[row].turns[turn]
            )
            for row, text in zip(live, texts, strict=True)
        ]
        found = [got.ids for got in engine.sample(asked)]
        engine.forget(str(row) for row in live if turn + 1 == len(talks[row].turns))
        return found

    return _play(talks, sample)


def _by_generate(model: torch.nn.Module, talks: list[Conversation]) -> int:
    def sample(turn: int, live: list[int], texts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        width = max(map(len, texts))
        ids = torch.tensor([[0] * (width - len(text)) + list(text) for text in texts])
        mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts])
        most = [talks[row].turns[turn] for row in live]
        with torch.inference_mode():
            out = model.generate(  # type: ignore[operator]
                input_ids=ids,
                attention_mask=mask,
                do_sample=True,
                top_k=0,
                max_new_tokens=max(most),
                min_new_tokens=max(most),
                pad_token_id=0,
            )
        news = zip(out[:, width:].tolist(), most, strict=True)
        return [tuple(row[:count]) for row, count in news]

    return _play(talks, sample)


def _play(
    talks: list[Conversation],
    sample: Callable[[int, list[int], list[tuple[int, ...]]], list[tuple[int, ...]]],
) -> int:
    texts = {row: talk.prompt for row, talk in enumerate(talks)}
    count = 0
    for turn in range(max(len(talk.turns) for talk in talks)):
        live = [row for row, talk in enumerate(talks) if turn < len(talk.turns)]
        found = sample(turn, live, [texts[row] for row in live])
        for row, ids in zip(live, found, strict=True):
            count += len(ids)
            texts[row] += ids + talks[row].replies[turn]
    return count
