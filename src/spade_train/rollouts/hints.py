"""Hints that the policy writes after it has read an environment's source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spade_envs.play.stage import Scene, Seat, Stage
from spade_envs.types import EnvSource, Message
from spade_train.engines import Engine, SampleRequest
from spade_train.rollouts.act import Sources
from spade_train.rollouts.clock import Clock
from spade_train.rollouts.jobs import EpisodeJob
from spade_train.rollouts.settings import Decoding
from spade_train.tokens import ChatFormat, Dialogue

_ASK = """\
Below is the program of an environment, and the first observation of one episode in it.

```python
{code}
```

<observation>
{observation}
</observation>

Write a hint for someone who plays this episode and sees the observation but not the program. Tell \
the way that leads to success here: what to look at first, which steps to take, what to beware of. \
Leave out the answer itself and every value that has to be worked out. At most 100 words, no \
code."""


@dataclass(frozen=True, slots=True)
class WrittenHint:
    """A hint and the conversation in which the policy wrote it."""

    text: str
    """Empty if the program leaves no room for a hint, or the episode cannot begin."""
    dialogue: Dialogue


def write_hints(
    jobs: Sequence[EpisodeJob],
    *,
    engine: Engine,
    form: ChatFormat,
    shelf: Sources,
    decoding: Decoding,
    clock: Clock | None = None,
    scene: Scene | None = None,
) -> list[WrittenHint]:
    """Return the policy's hint for the instance of each job, in order.

    Args:
        jobs: episodes; their `sample_seed` decides the hint.
        engine: samples.
        form: chat format of hint writing.
        shelf: has the environments.
        decoding: how tokens are drawn.
        clock: counts the time.
        scene: shows first observations; None does it on this machine. It is not closed here.

    Raises:
        EngineError: the engine cannot answer.
    """
    clock = clock or Clock()
    sources = [shelf.source(job.env) for job in jobs]
    with clock.on("play"):
        first = _observations(jobs, sources, scene)
    with clock.on("tokens"):
        dialogues = [
            form.begin([Message("user", _ASK.format(code=source.code.strip(), observation=text))])
            for source, text in zip(sources, first, strict=True)
        ]
    rows = [row for row, text in enumerate(first) if text and dialogues[row].awaits_turn]
    requests = [
        SampleRequest(
            key=f"{jobs[row].key}/hint",
            ids=tuple(dialogues[row].ids.tolist()),
            seed=jobs[row].sample_seed,
            max_tokens=dialogues[row].room(form.window),
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            top_k=decoding.top_k,
        )
        for row in rows
    ]
    with clock.on("model"):
        turns = engine.sample(requests) if requests else []
        engine.forget([request.key for request in requests])
    texts = [""] * len(jobs)
    for row, turn in zip(rows, turns, strict=True):
        dialogues[row] = form.sampled(dialogues[row], turn.ids, turn.logprobs)
        texts[row] = form.turn(dialogues[row]).text.strip()
    return [WrittenHint(text, dialogue) for text, dialogue in zip(texts, dialogues, strict=True)]


def _observations(
    jobs: Sequence[EpisodeJob], sources: Sequence[EnvSource], scene: Scene | None
) -> list[str]:
    """Return the first observations; empty where the environment fails."""
    seats = [
        Seat(key=f"{job.key}/hint", env=job.env, source=source, level=job.level, seed=job.seed)
        for job, source in zip(jobs, sources, strict=True)
    ]
    place = Stage() if scene is None else scene
    try:
        opened = place.open(seats)
        place.leave([seat.key for seat in seats])
    finally:
        if scene is None:
            place.close()
    return ["" if each.fault is not None else each.observation for each in opened]
