"""Reasoning Gym, hard: 100 datasets in four buckets, items as the published evaluation draws them.

Everything of the library runs in a locked worker (`judge`), the scorers above all: several read an
answer by evaluating it. Items that take long to make are kept on disk.

Source: settings and buckets, `reasoning_gym_hard.toml`; item, closing line of the question, where
the answer is looked for, and win = full score, the evaluation of arXiv 2608.19197.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import random
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path

import platformdirs

from spade_envs.errors import ConfigError
from spade_envs.types import Fault as EnvFault
from spade_envs.types import Json
from spade_train.suites.base import Decoding, Fault, Said, Score, Task
from spade_train.suites.evaluating import EVALUATING, harmless
from spade_train.suites.judge import Judge, library_sandbox
from spade_train.suites.questions import listed
from spade_train.suites.single import (
    MAX_ANSWER_CHARACTERS,
    Question,
    SingleSession,
    boxed,
    tagged,
    verdict,
    without_answer,
)

VERSION = 1
"""Of this suite; raise it when scores change."""
SIZE = 500
"""Items in each dataset."""
SEED = 42
"""Of each dataset."""
WIN = 1.0 - 1e-9
"""Least score of the library that is a win; partial credit is none."""
SETTINGS: Mapping[str, str] = {
    "episodes": "items of each dataset, drawn as the published evaluation does; 8 if none",
    "datasets": "names of datasets, with commas between them; all 100 if none",
    "cache": "folder for items, or `none`; your cache folder if none is given",
}
_CLOSING = "\n\nPut your final answer within \\boxed{}."
_CODE = """
import reasoning_gym

HELD = {}


def dataset(ask):
    key = ask["dataset"] + json.dumps(ask["settings"], sort_keys=True)
    if key not in HELD:
        given = {"size": ask["size"], "seed": ask["seed"], **ask["settings"]}
        HELD[key] = reasoning_gym.create_dataset(ask["dataset"], **given)
    return HELD[key]


def answer(ask):
    data = dataset(ask)
    if "entry" in ask and ask["entry"] is not None:
        entry = unpacked(ask["entry"])
    else:
        entry = data[ask["index"]]
    if ask["do"] == "score":
        return float(data.score_answer(ask["answer"], entry=entry))
    try:
        kept = packed(entry)
    except TypeError:
        kept = None
    said = entry["answer"]
    return {"question": entry["question"], "answer": None if said is None else str(said),
            "entry": kept}
"""


def hard() -> Mapping[str, Mapping[str, Mapping[str, Json]]]:
    """Return the settings of each dataset, by bucket."""
    text = resources.files("spade_train.suites").joinpath("reasoning_gym_hard.toml")
    return tomllib.loads(text.read_text("utf-8"))


def suite(
    *, episodes: int = 8, datasets: Sequence[str] | str = (), cache: str | None = None
) -> ReasoningGym:
    """Return the suite; see `SETTINGS`.

    Raises:
        ConfigError: no such dataset, or no episodes.
    """
    if type(episodes) is not int or not 1 <= episodes <= SIZE:
        raise ConfigError(f"episodes must be a whole number in [1, {SIZE}], not {episodes!r}")
    named = listed(datasets, "datasets")
    wanted = [each.strip() for each in named if each.strip()]
    rows = [(b, name, given) for b, held in hard().items() for name, given in held.items()]
    if unknown := sorted(set(wanted) - {name for _, name, _ in rows}):
        raise ConfigError(f"reasoning-gym-hard has no dataset {unknown[0]!r}")
    chosen = [row for row in rows if not wanted or row[1] in wanted]
    return ReasoningGym(_mixed(chosen), episodes, _cache(cache))


def item_of(episode: int) -> int:
    """Return which item of a dataset an episode of the published evaluation shows.

    It seeds the global generator with the number of the episode and takes `random.choice`.
    """
    return random.Random(episode).choice(range(SIZE))


class ReasoningGym:
    """The suite; a task is one item of one dataset."""

    name = "reasoning-gym-hard"
    decoding = Decoding(
        temperature=0.6, top_p=0.8, top_k=20, max_tokens=8192, max_turns=2, context_tokens=32_768
    )

    def __init__(
        self, rows: Sequence[tuple[str, str, Mapping[str, Json]]], episodes: int, cache: Path | None
    ) -> None:
        from spade_train.suites.registry import packages_of

        self._rows, self._episodes = tuple(rows), episodes
        folder = packages_of(self.name)
        self.library = _version(folder)
        self._judge = Judge(_CODE, library_sandbox(("reasoning_gym",), str(folder)))
        self._places = {
            f"{name}/{item_of(n)}" + (f"#{n}" if _drawn(n) else ""): (bucket, name, given, n)
            for n in range(episodes)
            for bucket, name, given in self._rows
        }
        self._cache = cache
        told = json.dumps([[n, dict(g)] for _, n, g in self._rows], sort_keys=True)
        self.settings: Mapping[str, Json] = {
            "episodes": episodes,
            "datasets": len(self._rows),
            "hard": "sha256:" + hashlib.sha256(told.encode()).hexdigest(),
            "seed": SEED,
            "size": SIZE,
        }
        self.labels: Mapping[str, str] = {"win": "full score", "items": f"{episodes} a dataset"}

    @property
    def version(self) -> str:
        """Of the library, then ours."""
        return f"reasoning-gym {self.library} + {VERSION}"

    def tasks(self) -> Sequence[Task]:
        """Return all items, the first of every dataset before the second of any."""
        return [
            Task(key, bucket, {"dataset": name, "item": item_of(n)})
            for key, (bucket, name, _, n) in self._places.items()
        ]

    def open(self, task: Task, *, seed: int) -> SingleSession | Fault:
        """Show the item of the task, whatever the seed of the attempt."""
        _, name, given, episode = self._places[task.id]
        about = {
            "dataset": name,
            "settings": dict(given),
            "size": SIZE,
            "seed": SEED,
            "index": item_of(episode),
        }
        item = self._item(about)
        if isinstance(item, EnvFault):
            return Fault("open", f"{name}: {item.kind}: {item.message}")
        right = item["answer"]
        wrong = (item_of(episode) + 1) % SIZE

        def judge(said: Said) -> Score | Fault:
            return self._scored(about, item["entry"], said)

        return SingleSession(
            Question(
                prompt=item["question"] + _CLOSING,
                judge=judge,
                answer=None if right is None else f"<answer>{right}</answer>",
                guess=lambda _: self._guess(about | {"index": wrong}),
            )
        )

    def close(self) -> None:
        """End the worker."""
        self._judge.close()

    def _item(self, about: Mapping[str, Json]) -> Json | EnvFault:
        path = self._kept(about)
        if path is not None:
            with suppress(OSError, ValueError):
                return json.loads(path.read_text("utf-8"))
        item = self._judge.ask({"do": "item", **about})
        if path is not None and not isinstance(item, EnvFault):
            with suppress(OSError):
                _keep(path, json.dumps(item))
        return item

    def _kept(self, about: Mapping[str, Json]) -> Path | None:
        if self._cache is None:
            return None
        made = json.dumps(dict(about), sort_keys=True).encode()
        digest = hashlib.sha256(made).hexdigest()[:16]
        folder: Path = self._cache / self.library / about["dataset"]
        return folder / f"{about['index']}-{digest}.json"

    def _scored(self, about: Mapping[str, Json], entry: Json, said: Said) -> Score | Fault:
        found = tagged(said)
        if found is None:
            found = boxed(said)
        if not found or len(found) > MAX_ANSWER_CHARACTERS:
            return without_answer()
        if about["dataset"] in EVALUATING and not harmless(found, about["dataset"]):
            return verdict(False, error="an answer that would have to be run")
        score = self._judge.ask({"do": "score", "answer": found, "entry": entry, **about})
        if isinstance(score, EnvFault):
            return Fault("score", f"{about['dataset']}: {score.kind}: {score.message}")
        value = min(1.0, max(0.0, float(score)))
        won = value >= WIN
        return Score(value=float(won), success=won, detail={"credit": round(value, 6)})

    def _guess(self, about: Mapping[str, Json]) -> Said:
        """Return the answer of another item of the dataset: right in form only."""
        other = self._item(about)
        found = None if isinstance(other, EnvFault) else other["answer"]
        return f"<answer>{'0' if found is None else found}</answer>"


def _mixed(
    rows: Sequence[tuple[str, str, Mapping[str, Json]]],
) -> list[tuple[str, str, Mapping[str, Json]]]:
    """Return the datasets so that a beginning holds the buckets in about their shares."""
    sizes: dict[str, int] = {}
    placed: list[tuple[float, int]] = []
    totals = {bucket: sum(row[0] == bucket for row in rows) for bucket, _, _ in rows}
    for number, (bucket, _, _) in enumerate(rows):
        sizes[bucket] = sizes.get(bucket, 0) + 1
        placed.append(((sizes[bucket] - 0.5) / totals[bucket], number))
    return [rows[number] for _, number in sorted(placed)]


def _drawn(episode: int) -> bool:
    """Whether an earlier episode shows the same item."""
    return item_of(episode) in {item_of(n) for n in range(episode)}


def _version(folder: Path) -> str:
    for found in importlib.metadata.distributions(name="reasoning-gym", path=[str(folder)]):
        return found.version
    try:
        return importlib.metadata.version("reasoning-gym")
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError("reasoning-gym is not installed; pip install reasoning-gym") from None


def _cache(given: str | None) -> Path | None:
    if given is not None and not isinstance(given, str):
        raise ConfigError(f"cache must be a folder as text or none, not {given!r}")
    if given == "none":
        return None
    if given:
        return Path(given).expanduser()
    return platformdirs.user_cache_path("spade-envs") / "suites" / "reasoning-gym"


def _keep(path: Path, text: str) -> None:
    """Write a file whole or not at all, whoever else writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False
    ) as file:
        file.write(text)
    os.replace(file.name, path)
