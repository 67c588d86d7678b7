"""`calibrate`: plays with and without the hint on the same instances, into the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spade_envs.calibrate.episodes import Job, Result, play_all
from spade_envs.calibrate.players import Player
from spade_envs.design.brief import derive_seed
from spade_envs.errors import ClientError, ConfigError
from spade_envs.play import Stage
from spade_envs.store.plays import INSTANCE, Cell, Figures, PlayReader, Plays, PlayWriter
from spade_envs.types import EnvSource, Episode, Fault, Interface

FORMAT = 1
"""Of the keys; another one plays everything anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One environment to calibrate."""

    id: str
    digest: str
    source: EnvSource
    interface: Interface
    ledger: Path
    """Root of the store whose ledger its plays go to."""
    hint: str = INSTANCE
    """Which hint is shown (`store.plays.Plays.hint`)."""
    text: str | None = None
    """The hint, if it is not the environment's own."""

    @property
    def has_hint(self) -> bool:
        """Whether there is a hint to play with."""
        return self.text is not None or self.interface.has_hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is played.

    Raises:
        ConfigError: a count is out of range.
    """

    episodes: int = 20
    """Instances per level; each is played without the hint and with it."""
    levels: tuple[int, ...] | None = None
    """None plays all; those that an environment does not have are passed over."""
    seed: int = 0
    """Of the instances."""
    live: int = 64
    """Episodes in play at once; results do not depend on it."""
    most_turns: int | None = None
    """Turns at most, whatever an environment allows."""
    workers: int = 1
    """Environments that step at once."""

    def __post_init__(self) -> None:
        if min(self.episodes, self.live, self.workers, self.most_turns or 1) < 1:
            raise ConfigError("episodes, live, workers and most_turns must be >= 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One instance that was played in both arms, or in the one that there is."""

    target: Target
    level: int
    number: int
    plain: Episode | None = None
    hinted: Episode | None = None
    fault: Fault | None = None
    """The environment failed in an arm: no result."""
    error: ClientError | None = None
    """The player gave no answer in an arm: no result either, and worth another try."""

    @property
    def counts(self) -> bool:
        """Whether it is a result."""
        return self.fault is None and self.error is None


@dataclass(slots=True)
class Calibration:
    """A plan of plays, with those that are on disk already left out.

    The same plan plays the same instances, so a run that was stopped goes on, and one with more
    episodes adds what is missing.
    """

    targets: Sequence[Target]
    player: Player
    settings: Settings
    _readers: dict[Path, PlayReader] = field(default_factory=dict)

    def __post_init__(self) -> None:
        digests = [target.digest for target in self.targets]
        if len(set(digests)) != len(digests):
            raise ConfigError("an environment is named twice")
        for target in self.targets:
            self._readers.setdefault(target.ledger, PlayReader(target.ledger, keys=self.prefix))

    @property
    def prefix(self) -> str:
        """Begins the keys of all its plays: it follows from player, settings and seed."""
        player, settings = self.player, self.settings
        parts = (FORMAT, player.name, player.settings, settings.seed, settings.most_turns)
        return f"calibrate/{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}/"

    @property
    def total(self) -> int:
        """Instances in all, those that are on disk included."""
        return sum(len(self._levels(t)) * self.settings.episodes for t in self.targets)

    def missing(self) -> int:
        """Return how many instances are still to be played."""
        return sum(1 for _ in self._open())

    def figures(self) -> Mapping[tuple[str, int], Figures]:
        """Return what this plan's plays came to so far, by digest and level."""
        found: dict[tuple[str, int], Figures] = {}
        cells = {root: reader.cells() for root, reader in self._readers.items()}
        for target in self.targets:
            for level in self._levels(target):
                cell = Cell(target.digest, self.policy, level, target.hint)
                found[target.digest, level] = cells[target.ledger].get(cell, Figures())
        return found

    @property
    def policy(self) -> str:
        """Name of the player in the ledger; bytes of a path that are not UTF-8 are escaped."""
        return self.player.name.encode("utf-8", "backslashreplace").decode()[:300]

    def run(self) -> Iterator[Pair]:
        """Play what is missing; each pair is on disk when it is yielded.

        Raises:
            ClientError: the player gives no answers.
            SandboxError: the sandbox itself failed.
        """
        writers: dict[Path, PlayWriter] = {}
        stage = Stage(self.settings.workers)
        try:
            for pairs in self._played(stage):
                for root in {pair.target.ledger for pair in pairs}:
                    writer = writers.get(root) or PlayWriter(root, "calibrate")
                    writers[root] = writer
                    writer.append(
                        self.line(pair)
                        for pair in pairs
                        if pair.counts and pair.target.ledger == root
                    )
                yield from pairs
        finally:
            stage.close()

    def line(self, pair: Pair) -> Plays:
        """Return what a pair adds to the ledger."""
        target = pair.target
        arms = [pair.plain, pair.hinted]
        counted = [0 if each is None else 1 for each in arms]
        won = [int(each is not None and each.success) for each in arms]
        returns = [0.0 if each is None else each.total_reward for each in arms]
        return Plays(
            digest=target.digest,
            policy=self.policy,
            level=pair.level,
            hint=target.hint,
            plays=counted[0],
            successes=won[0],
            returns=returns[0],
            squares=returns[0] ** 2,
            hinted=counted[1],
            hinted_successes=won[1],
            hinted_returns=returns[1],
            hinted_squares=returns[1] ** 2,
            pairs=min(counted),
            both=min(won),
            key=self._key(target, pair.level, pair.number),
        )

    def _played(self, stage: Stage) -> Iterator[list[Pair]]:
        """Yield the pairs that are whole, round by round."""
        by_digest = {target.digest: target for target in self.targets}
        half: dict[tuple[str, int, int], Result] = {}
        settings = self.settings
        for results in play_all(
            self._jobs(), self.player, stage, live=settings.live, most_turns=settings.most_turns
        ):
            whole = []
            for job, result in results:
                target = by_digest[job.env]
                place = job.env, job.level, job.number
                if target.has_hint and place not in half:
                    half[place] = job, result
                    continue
                first = half.pop(place, None)
                whole.append(
                    _pair(target, [(job, result)] if first is None else [first, (job, result)])
                )
            if whole:
                yield whole

    def _jobs(self) -> Iterator[Job]:
        for target, level, number in self._open():
            for hinted in (False, True) if target.has_hint else (False,):
                yield Job(
                    env=target.digest,
                    source=target.source,
                    interface=target.interface,
                    level=level,
                    number=number,
                    seed=self._seed(target, level, number),
                    hinted=hinted,
                    text=target.text if hinted else None,
                )

    def _open(self) -> Iterator[tuple[Target, int, int]]:
        for target in self.targets:
            reader = self._readers[target.ledger]
            reader.figures()
            for level in self._levels(target):
                for number in range(self.settings.episodes):
                    if not reader.has(target.digest, self._key(target, level, number)):
                        yield target, level, number

    def _levels(self, target: Target) -> list[int]:
        every = range(target.interface.levels)
        wanted = self.settings.levels
        return [level for level in every if wanted is None or level in wanted]

    def _key(self, target: Target, level: int, number: int) -> str:
        return f"{self.prefix}{target.hint}/{level}/{number}"

    def _seed(self, target: Target, level: int, number: int) -> int:
        # Instances of each hint are its own, so that no play is counted under two of them.
        where = (target.digest, target.hint, level, number)
        return derive_seed("calibrate", self.settings.seed, *where)


def _pair(target: Target, results: Iterable[Result]) -> Pair:
    arms: dict[bool, Episode] = {}
    fault: Fault | None = None
    error: ClientError | None = None
    for job, result in results:
        level, number = job.level, job.number
        if isinstance(result, ClientError):
            error = error or result
        else:
            arms[job.hinted] = result
            fault = fault or result.fault
    return Pair(
        target=target,
        level=level,
        number=number,
        plain=arms.get(False),
        hinted=arms.get(True),
        fault=fault,
        error=error,
    )
