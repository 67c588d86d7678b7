"""Whether two players reply alike to the same conversations, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spade_envs.errors import ConfigError
from spade_envs.types import Message
from spade_train.evaluate.records import Record, read_header, read_records, read_transcripts


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """The first place where two attempts at one task go apart."""

    task: str
    sample: int
    turn: int
    """Replies before it, >= 0."""
    messages: tuple[Message, ...]
    """What both were asked."""
    left: str
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far two evaluations of one suite went alike."""

    attempts: int
    """Made by both."""
    replies: int
    """Asked of both after the same conversation; what follows a parting is not compared."""
    partings: tuple[Parting, ...]
    """Of the attempts in which a reply differs, the first one."""
    astray: tuple[str, ...]
    """Tasks where the suite itself said something else after the same replies."""
    scores: tuple[tuple[str, float | None, float | None], ...]
    """Tasks whose values differ: left and right in [0, 1], None after a fault."""

    @property
    def equal(self) -> int:
        """Replies that are the same text."""
        return self.replies - len(self.partings)


def agreement(left: Path, right: Path) -> Agreement:
    """Compare two evaluations of one suite that were kept with their transcripts.

    Raises:
        ConfigError: one of them is none, has no transcripts, or is of another suite or seed.
        StateError: a record or transcript is damaged.
    """
    mine, other = read_header(left), read_header(right)
    if mine.suite_digest != other.suite_digest or mine.seed != other.seed:
        raise ConfigError(f"{left} and {right} are of different suites, settings or seeds")
    records = [{each.key: each for each in read_records(folder)} for folder in (left, right)]
    said = [read_transcripts(folder) for folder in (left, right)]
    for folder, texts in zip((left, right), said, strict=True):
        if not texts:
            raise ConfigError(f"{folder} has no transcripts: evaluate with --transcripts")
    both = records[1].keys() & said[0].keys() & said[1].keys()
    keys = [key for key in records[0] if key in both]
    return _compared(keys, (records[0], records[1]), (said[0], said[1]))


def _compared(
    keys: list[tuple[str, int]],
    records: tuple[Mapping[tuple[str, int], Record], Mapping[tuple[str, int], Record]],
    said: tuple[
        Mapping[tuple[str, int], tuple[Message, ...]], Mapping[tuple[str, int], tuple[Message, ...]]
    ],
) -> Agreement:
    replies, partings, astray, scores = 0, [], [], []
    for key in keys:
        mine, other = (each[key] for each in records)
        count, parting, strayed = _first_parting(key, (said[0][key], said[1][key]), mine.turns)
        replies += count
        partings += [parting] if parting is not None else []
        astray += [key[0]] if strayed else []
        if mine.value != other.value:
            scores.append((key[0], mine.value, other.value))
    return Agreement(
        attempts=len(keys),
        replies=replies,
        partings=tuple(partings),
        astray=tuple(dict.fromkeys(astray)),
        scores=tuple(scores),
    )


def _first_parting(
    key: tuple[str, int], talks: tuple[tuple[Message, ...], tuple[Message, ...]], turns: int
) -> tuple[int, Parting | None, bool]:
    """Return replies compared, the first that differs, and whether the suite went otherwise."""
    spoken = [n for n, each in enumerate(talks[0]) if each.role == "assistant"]
    # What a suite itself says as the assistant, such as a greeting, comes before the replies.
    first = spoken[-turns] if turns and len(spoken) >= turns else len(talks[0])
    count = 0
    for place, (left, right) in enumerate(zip(*talks, strict=False)):
        reply = place >= first and left.role == right.role == "assistant"
        count += reply
        if left == right:
            continue
        if not reply:
            return count, None, True
        parting = Parting(
            task=key[0],
            sample=key[1],
            turn=count - 1,
            messages=talks[0][:place],
            left=left.content,
            right=right.content,
        )
        return count, parting, False
    return count, None, len(talks[0]) != len(talks[1])
