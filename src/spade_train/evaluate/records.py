"""What is kept of an evaluation: one folder per suite and player, whose records only grow.

EVALS/<suite>/<player>-<digest>/
    evaluation.json    what was evaluated, and how
    records.jsonl      one line per finished attempt
    transcripts.jsonl  the conversations, if they were asked for
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from spade_envs.errors import ConfigError
from spade_envs.manifest.canonical import canonical_json
from spade_envs.store.files import replace_file
from spade_envs.types import Json, Message
from spade_train.errors import StateError
from spade_train.runs.jsonl import JsonLines
from spade_train.suites.base import Fault

FORMAT = 1
HEADER = "evaluation.json"
RECORDS = "records.jsonl"
TRANSCRIPTS = "transcripts.jsonl"
LOCK = "evaluation.lock"
_NAMES = {"heldout": "store"}
"""Labels by suite that only name what the settings hold a digest of: no record depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One attempt at one task, ended."""

    task: str
    group: str
    sample: int
    """Number of the attempt at its task, >= 0."""
    seed: int
    value: float | None = None
    """In [0, 1]; None after a fault."""
    success: bool | None = None
    """None after a fault."""
    fault: Fault | None = None
    turns: int = 0
    """Replies taken."""
    cut: int = 0
    """Replies that were broken off at the greatest length."""
    stopped: str = ""
    """Why it ended before its time: `turns`, `context` or nothing."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    elapsed_s: float = 0.0
    """From beginning to score, other attempts under way included."""
    detail: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """Which attempt it is."""
        return self.task, self.sample


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """One line of the transcripts."""

    task: str
    sample: int
    messages: list[tuple[Literal["system", "user", "assistant", "tool"], str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What was evaluated, and how: what it says is the same for all records of a folder."""

    suite: str
    version: str
    settings: Mapping[str, Json]
    labels: Mapping[str, str]
    player: str
    identity: Mapping[str, Json]
    decoding: Mapping[str, Json]
    seed: int
    samples: int
    """Attempts at each task that were asked for last."""
    tasks: int
    """Tasks of the suite."""
    limit: int | None = None
    """The most tasks that were asked for; None for all."""
    group_tasks: Mapping[str, int] = field(default_factory=dict)
    """Tasks of the suite by group, in its order."""
    made_by: str = ""

    @property
    def digest(self) -> str:
        """Of all that a record depends on, beside task and sample; 12 hexadecimal digits."""
        return _digest(
            [FORMAT, *self._suite(), self.player, self.identity, self.decoding, self.seed]
        )

    @property
    def suite_digest(self) -> str:
        """Of the suite alone: what two results must share to be compared."""
        return _digest([FORMAT, *self._suite()])

    @property
    def attempts(self) -> int:
        """Attempts that were asked for last."""
        return self.samples * min(self.tasks, self.limit or self.tasks)

    @property
    def folder(self) -> str:
        """Name of its folder below that of all evaluations."""
        return f"{_slug(self.suite)}/{_slug(self.player)}-{self.digest}"

    def _suite(self) -> list[Json]:
        name = _NAMES.get(self.suite)
        labels = {key: value for key, value in self.labels.items() if key != name}
        return [self.suite, self.version, self.settings, labels]


_DAMAGE = (ValueError, LookupError, AttributeError, TypeError, RecursionError)
"""What a file of another form makes of reading it."""


class Shelf:
    """The folder of one evaluation, open for writing by its one writer.

    Args:
        folder: of all evaluations; made if it is not there.
        header: names the folder below.
        transcripts: whether conversations are kept.

    Raises:
        StateError: it cannot be written to, or another process does so.
    """

    def __init__(self, folder: Path, header: Header, *, transcripts: bool = False) -> None:
        self.path = folder / header.folder
        with ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._lock = _locked(self.path)
                stack.callback(os.close, self._lock)
                replace_file(
                    self.path, self.path / HEADER, _header_bytes(_widest(self.path, header))
                )
                self._records = JsonLines(self.path / RECORDS)
                stack.callback(self._records.close)
                self._said = JsonLines(self.path / TRANSCRIPTS) if transcripts else None
            except OSError as error:
                raise StateError(
                    f"cannot write to {self.path}: {error.strerror}; see to the disk, or name "
                    "another folder with --out"
                ) from error
            stack.pop_all()

    def append(self, record: Record, messages: Json = None) -> None:
        """Keep a record, and its conversation if these are kept."""
        self._records.append(_record_json(record))
        if self._said is not None and messages is not None:
            said = {"task": record.task, "sample": record.sample, "messages": messages}
            self._said.append(said)

    def close(self) -> None:
        """Sync, close and unlock."""
        self._records.close()
        if self._said is not None:
            self._said.close()
        os.close(self._lock)


def _locked(path: Path) -> int:
    """Return a lock on a folder, held until it is closed.

    Raises:
        StateError: another process has it.
    """
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StateError(
            f"another process is evaluating in {path}; wait for it, or name another folder"
        ) from None
    return lock


def _widest(path: Path, header: Header) -> Header:
    """Return a header whose limit covers the records that are there from earlier calls."""
    try:
        old = read_header(path)
    except ConfigError:
        return header
    limits = [each for each in (old.limit, header.limit) if each is not None]
    return dataclasses.replace(header, limit=max(limits) if len(limits) == 2 else None)


def read_records(path: Path) -> Iterator[Record]:
    """Give the records of a folder, the last of each attempt; nothing if there are none.

    Raises:
        StateError: they cannot be read, or a whole line is no record.
    """
    found: dict[tuple[str, int], Record] = {}
    for number, line in enumerate(_lines(path / RECORDS), 1):
        try:
            record = _possible(msgspec.convert(json.loads(line), Record))
        except (msgspec.ValidationError, ValueError, RecursionError) as error:
            raise StateError(
                f"{path / RECORDS}: line {number} is no record: {error}; take the line out, and "
                "its attempt is made again"
            ) from error
        found[record.key] = record
    yield from found.values()


def read_transcripts(path: Path) -> dict[tuple[str, int], tuple[Message, ...]]:
    """Return the conversations of a folder by task and sample; empty if none were kept.

    Raises:
        StateError: a whole line is no conversation.
    """
    found: dict[tuple[str, int], tuple[Message, ...]] = {}
    for number, line in enumerate(_lines(path / TRANSCRIPTS), 1):
        try:
            said = msgspec.convert(json.loads(line), _Said)
        except (msgspec.ValidationError, ValueError, RecursionError) as error:
            where = f"{path / TRANSCRIPTS}: line {number}"
            raise StateError(f"{where} is no conversation: {error}") from error
        found[said.task, said.sample] = tuple(Message(*pair) for pair in said.messages)
    return found


def _lines(file: Path) -> list[bytes]:
    """Return the whole lines of a file; a torn last one is passed over."""
    try:
        return file.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"{file} cannot be read: {error.strerror}") from error


def _possible(record: Record) -> Record:
    """Return a record that an evaluation may have written."""
    scored = record.value is not None and record.success is not None
    if record.fault is None and not (scored and 0.0 <= (record.value or 0.0) <= 1.0):
        raise ValueError(f"a value of {record.value!r} with success {record.success!r}")
    if record.sample < 0:
        raise ValueError(f"attempt {record.sample} of its task")
    if not math.isfinite(record.elapsed_s):
        raise ValueError(f"an attempt of {record.elapsed_s} seconds")
    return record


def read_header(path: Path) -> Header:
    """Return what was evaluated in a folder.

    Raises:
        ConfigError: it is no folder of an evaluation, or of a later format.
    """
    file = path / HEADER
    try:
        found = json.loads(file.read_bytes())
        later = found.pop("format") != FORMAT
    except OSError as error:
        raise ConfigError(f"{path} holds no evaluation: {error.strerror}") from error
    except _DAMAGE as error:
        raise ConfigError(f"{file} is damaged: {error}") from error
    if later:
        raise ConfigError(f"{file} is of another format; read it with the release that wrote it")
    try:
        header = msgspec.convert(found, Header)
        if min(header.samples, header.limit or 1) < 1 or header.limit == 0 or header.tasks < 0:
            raise ValueError("samples, limit or tasks out of range")
        _ = header.digest  # what has none, such as settings that are not finite, is damaged too
        return header
    except (*_DAMAGE, ConfigError) as error:
        raise ConfigError(f"{file} is damaged: {error}") from error


def find_evaluations(folders: list[Path]) -> list[Path]:
    """Return the folders of evaluations at or below some folders, sorted, each once.

    One that is reached by two ways has the name by which it was reached first.

    Raises:
        ConfigError: a folder holds none.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        below = sorted(path.parent for path in folder.rglob(HEADER))
        if not below:
            raise ConfigError(f"{folder} holds no evaluation; make one with spade-train eval")
        for each in below:
            found.setdefault(each.resolve(), each)
    return list(found.values())


def _header_bytes(header: Header) -> bytes:
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(header)}, indent=1)
    return text.encode() + b"\n"


def _record_json(record: Record) -> dict[str, Any]:
    """Return a record without what says nothing."""
    plain = dataclasses.asdict(record)
    return {key: value for key, value in plain.items() if value not in (None, "", {}, 0)} | {
        key: plain[key] for key in ("task", "group", "sample", "seed", "value", "success")
    }


def _digest(parts: list[Json]) -> str:
    return hashlib.sha256(canonical_json(json.loads(json.dumps(parts)))).hexdigest()[:12]


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60] or "player"
