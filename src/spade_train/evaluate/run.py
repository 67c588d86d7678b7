"""Playing a suite: many attempts at once, each ended one kept, none repeated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from spade_envs._version import __version__
from spade_envs.design.brief import derive_seed
from spade_envs.errors import ConfigError
from spade_envs.types import Json
from spade_train.evaluate.players import Answer, Ask, Player, TooLong, reply_seed
from spade_train.evaluate.records import Header, Record, Shelf, read_records
from spade_train.suites.base import Decoding, Fault, Session, Suite, Task, latest
from spade_train.suites.worker import IsolatedSuite

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is played of a suite, and how.

    Raises:
        ConfigError: a number is out of range.
    """

    decoding: Decoding = field(default_factory=Decoding)
    """Usually the suite's own; `samples` is how often each task is attempted."""
    limit: int | None = None
    """The first so many tasks; None for all."""
    seed: int = 0
    """Of attempts and replies."""
    live: int = 32
    """Attempts under way at once; results do not depend on it."""
    retry_faults: bool = False
    """Whether attempts that ended with a fault are made again."""

    def __post_init__(self) -> None:
        decoding = self.decoding
        least = min(decoding.samples, decoding.max_turns, decoding.max_tokens, self.live)
        if least < 1 or (self.limit is not None and self.limit < 1):
            raise ConfigError("samples, turns, tokens, limit and attempts at once must be >= 1")
        if decoding.temperature < 0 or self.seed < 0:
            raise ConfigError("temperature and seed must be >= 0")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that is to be made."""

    task: Task
    sample: int
    seed: int


@dataclass(slots=True)
class _Live:
    """An attempt under way."""

    attempt: Attempt
    session: Session
    began: float
    turns: int = 0
    cut: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stopped: str = ""
    fault: Fault | None = None

    def take(self, answer: Answer, decoding: Decoding) -> None:
        """Take what the player says, and note what ends the attempt."""
        if isinstance(answer, Fault):
            self.fault = answer
        elif isinstance(answer, TooLong):
            self.stopped = "context"
        else:
            self.session.reply(answer.text)
            self.turns += 1
            self.cut += answer.cut
            read, written = answer.prompt_tokens or 0, answer.completion_tokens or 0
            self.prompt_tokens += read
            self.completion_tokens += written
            if self.session.done:
                return
            if self.turns >= decoding.max_turns:
                self.stopped = "turns"
            elif decoding.context_tokens and read + written >= decoding.context_tokens:
                self.stopped = "context"

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.fault is not None or bool(self.stopped) or self.session.done

    def record(self) -> Record:
        """Return what came of it."""
        found = self.fault or self.session.score()
        plain = _record(self.attempt, found if isinstance(found, Fault) else None)
        plain = replace(
            plain,
            turns=self.turns,
            cut=self.cut,
            stopped=self.stopped,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            elapsed_s=round(time.monotonic() - self.began, 3),
        )
        if isinstance(found, Fault):
            return plain
        return replace(plain, value=found.value, success=found.success, detail=dict(found.detail))


class Evaluation:
    """A player on a suite, with the attempts that are on disk already left out.

    Args:
        suite: what is played; it is not closed here.
        player: who plays.
        plan: how much of it, and how.
        folder: of all evaluations; None keeps nothing.
        transcripts: whether conversations are kept too.

    Raises:
        ConfigError: the suite has no tasks.
    """

    def __init__(
        self,
        suite: Suite,
        player: Player,
        plan: Plan,
        folder: Path | None = None,
        *,
        transcripts: bool = False,
    ) -> None:
        self._suite, self._player, self._folder = suite, player, folder
        self._transcripts, self._plan = transcripts, plan
        self._decoding = plan.decoding
        if not player.samples_vary:
            self._decoding = replace(plan.decoding, samples=1)
        self.header = _header(suite, player, plan, self._decoding)
        self.kept: dict[tuple[str, int], Record] = self._read()
        """Records so far, by task and number of the attempt; `run` adds to them."""

    @property
    def folder(self) -> Path | None:
        """Folder of this evaluation."""
        return None if self._folder is None else self._folder / self.header.folder

    def attempts(self) -> list[Attempt]:
        """Return all attempts of the plan: every task once, then every task again."""
        tasks = self._suite.tasks()[: self._plan.limit]
        seed, name = self._plan.seed, self._suite.name
        return [
            Attempt(task, sample, derive_seed("attempt", seed, name, task.id, sample))
            for sample in range(self._decoding.samples)
            for task in tasks
        ]

    def missing(self) -> list[Attempt]:
        """Return the attempts that are not on disk."""
        return [a for a in self.attempts() if (a.task.id, a.sample) not in self.kept]

    def records(self) -> list[Record]:
        """Return the records of this plan's attempts, as far as they are there."""
        keys = [(a.task.id, a.sample) for a in self.attempts()]
        return [self.kept[key] for key in keys if key in self.kept]

    def run(self) -> Iterator[list[Record]]:
        """Make the missing attempts; yield those that ended, round by round, as they are kept.

        Raises:
            ClientError: the player gives no answers.
            SuiteError: the suite's process cannot be kept running.
            StateError: the disk takes no more, or another process is at this evaluation.
        """
        shelf = None
        if self._folder is not None:
            shelf = Shelf(self._folder, self.header, transcripts=self._transcripts)
            self.kept |= self._read()  # another process may have ended since
        missing = self.missing()
        workers = self._suite.workers if isinstance(self._suite, IsolatedSuite) else 1
        try:
            with ThreadPoolExecutor(workers) as threads:
                each = threads.map if workers > 1 else map
                yield from self._rounds(iter(missing), each, shelf)
        finally:
            if shelf is not None:
                shelf.close()

    def _read(self) -> dict[tuple[str, int], Record]:
        """Return the records on disk that need not be made again."""
        kept = read_records(self.folder) if self.folder is not None else ()
        return {each.key: each for each in kept if self._finished(each)}

    def _rounds(
        self, waiting: Iterator[Attempt], each: Callable[..., Iterable[object]], shelf: Shelf | None
    ) -> Iterator[list[Record]]:
        going: list[_Live] = []
        try:
            while True:
                new = list(islice(waiting, self._plan.live - len(going)))
                ended: list[tuple[Record, Json]] = []
                for begun in _all(each, self._begin, new):
                    if isinstance(begun, Record):
                        ended.append((begun, []))
                    else:
                        going.append(begun)
                if not going and not ended:
                    return
                asked = [one for one in going if not one.over]
                answers = self._player.act([_ask(one) for one in asked], self._decoding)
                pairs = list(zip(asked, answers, strict=True))
                _all(each, lambda pair: pair[0].take(pair[1], self._decoding), pairs)
                over = [one for one in going if one.over]
                ended += _all(each, _end, over)
                going = [one for one in going if not one.over]
                for record, messages in ended:
                    self._keep(record, messages, shelf)
                if ended:
                    yield [record for record, _ in ended]
        except KeyboardInterrupt:
            if isinstance(self._suite, IsolatedSuite):
                self._suite.abort()  # else what follows would wait for calls under way
            raise
        finally:
            for one in going:
                one.session.close()

    def _begin(self, attempt: Attempt) -> _Live | Record:
        session = self._suite.open(attempt.task, seed=attempt.seed)
        if isinstance(session, Fault):
            return _record(attempt, session)
        return _Live(attempt, session, time.monotonic())

    def _keep(self, record: Record, messages: Json, shelf: Shelf | None) -> None:
        self.kept[record.key] = record
        if shelf is not None:
            shelf.append(record, messages)

    def _finished(self, record: Record) -> bool:
        """Whether an attempt need not be made again: what the player's server did may mend."""
        if record.fault is None:
            return True
        return record.fault.where != "policy" and not self._plan.retry_faults


def _end(one: _Live) -> tuple[Record, Json]:
    messages = [[each.role, each.content] for each in one.session.messages]
    record = one.record()
    one.session.close()
    return record, messages


def _all(
    each: Callable[..., Iterable[object]], act: Callable[[T], R], items: Sequence[T]
) -> list[R]:
    return list(each(act, items))  # type: ignore[arg-type]  # both maps keep the types


def _ask(one: _Live) -> Ask:
    return Ask(
        session=one.session,
        messages=latest(one.session.messages),
        seed=reply_seed(one.attempt.seed, one.turns),
        sample=one.attempt.sample,
        turn=one.turns,
    )


def _record(attempt: Attempt, fault: Fault | None) -> Record:
    task = attempt.task
    return Record(
        task=task.id, group=task.group, sample=attempt.sample, seed=attempt.seed, fault=fault
    )


def _header(suite: Suite, player: Player, plan: Plan, decoding: Decoding) -> Header:
    tasks = suite.tasks()
    if not tasks:
        raise ConfigError(f"suite {suite.name} has no tasks with these settings")
    groups: dict[str, int] = {}
    for task in tasks:
        groups[task.group] = groups.get(task.group, 0) + 1
    if not player.cuts:
        decoding = replace(decoding, top_p=None, top_k=None)
    asked: Mapping[str, Json] = asdict(decoding)
    kept = ("max_turns",) if not player.decodes else tuple(key for key in asked if key != "samples")
    return Header(
        suite=suite.name,
        version=suite.version,
        settings=dict(suite.settings),
        labels=dict(suite.labels),
        player=player.name,
        identity=dict(player.identity),
        decoding={key: asked[key] for key in kept},
        seed=plan.seed,
        samples=decoding.samples,
        tasks=len(tasks),
        limit=plan.limit,
        group_tasks=groups,
        made_by=f"spade-envs {__version__}",
    )
