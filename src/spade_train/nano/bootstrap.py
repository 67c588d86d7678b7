"""Make the bundled weights from nothing: `spade-train nano bootstrap --out DIR`.

Writes the program generator's data, a tokenizer, the trained model, and `bootstrap.json` with the
settings and the figures that were measured. The same settings give the same weights on the same
machine; elsewhere figures agree within the noise of the sample that they are measured on.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from spade_envs.corpus import open_corpus
from spade_train.nano.data import demo_sample, design_sample
from spade_train.nano.designer import NanoDesigner
from spade_train.nano.families import FAMILIES, Draw
from spade_train.nano.judge import judge
from spade_train.nano.model import load, new_model, save
from spade_train.nano.play import play_judge, play_table
from spade_train.nano.tokens import train_tokenizer
from spade_train.nano.train import Settings, train

_log = logging.getLogger(__name__)
_TOKENIZER_PROGRAMS = 4000
_TOKENIZER_DEMOS = 2000


def built_in_passages() -> list[str]:
    """Return the passages of the built-in corpus, on which half of the conditions are made."""
    corpus = open_corpus("pydoc")
    return [corpus.passage(index).text for index in range(len(corpus))]


def bootstrap(
    settings: Settings, out: Path, *, samples: int = 96, episodes: int = 25
) -> dict[str, Any]:
    """Train tokenizer and model, write them to `out`, and return settings and figures.

    At the end `samples` programs are sampled and judged by the gates, and `episodes` are played of
    every family at every level with and without the hint.
    """
    passages = built_in_passages()
    designs = [
        design_sample(Draw(f"{settings.seed}/tokens/{i}"), passages)
        for i in range(_TOKENIZER_PROGRAMS)
    ]
    demos = [
        demo_sample(Draw(f"{settings.seed}/demos/{i}"), passages) for i in range(_TOKENIZER_DEMOS)
    ]
    tokenizer = train_tokenizer(
        [sample.texts[1] for sample in designs],
        [
            *(sample.texts[0] for sample in designs),
            *(text for demo in demos for text in demo.texts),
        ],
        vocabulary=settings.vocabulary,
    )
    model = new_model(tokenizer, settings.seed, layers=settings.layers, inner=settings.inner)
    figures: dict[str, Any] = dict(train(model, tokenizer, settings, passages, progress=_report))
    figures["parameters"] = sum(p.numel() for p in model.parameters())
    figures["families"] = len(FAMILIES)
    save(model, tokenizer, out)
    written = {"settings": settings.as_json(), "training": figures}
    if samples:
        judged = judge(NanoDesigner(out), passages, samples=samples, seed=settings.seed + 1)
        written["designer"] = judged.as_json()
    if episodes:
        cells = play_judge(*load(out), episodes=episodes, seed=settings.seed + 1)
        written["agent"] = play_table(cells)
    (out / "bootstrap.json").write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    return written


def _report(step: int, loss: float) -> None:
    _log.info("step %d: loss %.4f per token", step, loss)
