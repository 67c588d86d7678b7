"""Held-out environments of an envstore as a suite: played in the sandbox, like in training."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spade_envs._version import GATES_VERSION, __version__
from spade_envs.errors import ConfigError, EnvironmentFault
from spade_envs.gates.policies import View, random_grammar
from spade_envs.play import Seat, Stage, conversation, reference
from spade_envs.play.stage import Opened
from spade_envs.store import EnvStore, open_store, starter_path
from spade_envs.trust.runs import source_to_run
from spade_envs.types import EnvSource, Interface, Json, Message, Record, Turn
from spade_envs.types import Fault as EnvFault
from spade_train.suites.base import Decoding, Fault, Said, Score, Task

VERSION = 1
"""Of this suite; raise it when scores change."""
SETTINGS: Mapping[str, str] = {
    "store": "folder of the envstore, or `starter`; the default store if none",
    "ids": "names, ids or digests; every environment of the store if none",
    "levels": "levels to play; all if none",
    "hint": "whether the environment's own hint is shown: true or false",
    "instances": "instances of each environment and level; 4 if none",
    "seed": "of the first instance; 1000000 if none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One instance to play."""

    record: Record
    level: int
    seed: int


def heldout(
    *,
    store: str | None = None,
    ids: Sequence[str] = (),
    levels: Sequence[int] | int | None = None,
    hint: bool = False,
    instances: int = 4,
    seed: int = 1_000_000,
) -> HeldOutSuite:
    """Return the suite of a store's environments; see `SETTINGS`.

    Raises:
        ConfigError: a setting is of the wrong kind, or nothing is left to play.
        NotFound: there is no such store or environment.
        NotTrusted: an environment came from elsewhere and nobody consented.
    """
    wanted = [levels] if isinstance(levels, int) else levels
    asked = [ids] if isinstance(ids, str) else ids
    _check(asked, wanted, hint, instances, seed)
    if not isinstance(store, str | None):
        raise ConfigError(f"store must be a folder as text, not {store!r}; write ./{store}")
    opened = open_store(starter_path() if store == "starter" else store)
    records = [opened.get(each) for each in asked] if asked else opened.records()
    records = list({each.digest: each for each in records if each.withdrawn is None}.values())
    if hint:
        records = [each for each in records if opened.interface(each).has_hint]
    cells = [(r, n) for r in records for n in range(r.levels) if wanted is None or n in wanted]
    if not cells:
        raise ConfigError(f"{opened.root} holds no environment to play with these settings")
    places = [
        _Place(record=record, level=level, seed=seed + number)
        for number in range(instances)
        for record, level in cells
    ]
    return HeldOutSuite(opened, places, hint=hint, name=_store_name(store, opened))


def _store_name(given: str | None, opened: EnvStore) -> str:
    """Return a store's name as given; of a place on this machine, the last part alone."""
    place = opened.root if given is None else Path(given)
    elsewhere = place.is_absolute() or str(place).startswith("~") or not place.name
    return (opened.root.name if elsewhere else str(place)) or "store"


def _check(ids: Any, levels: Any, hint: Any, instances: Any, seed: Any) -> None:
    if type(hint) is not bool:
        raise ConfigError(f"hint must be true or false, not {hint!r}")
    if type(instances) is not int or instances < 1:
        raise ConfigError(f"instances must be a whole number >= 1, not {instances!r}")
    if type(seed) is not int or not 0 <= seed < 2**31 - instances:
        raise ConfigError(f"seed must be a whole number in [0, 2**31), not {seed!r}")
    if not isinstance(ids, list | tuple) or not all(isinstance(each, str) for each in ids):
        raise ConfigError(f'ids must be a list of names, such as ["calendar"], not {ids!r}')
    if levels is not None and (
        not isinstance(levels, list | tuple) or not all(type(n) is int and n >= 0 for n in levels)
    ):
        raise ConfigError(f"levels must be a list of numbers, such as [0,2], not {levels!r}")


class HeldOutSuite:
    """Environments by level; made by `heldout`."""

    name = "heldout"

    def __init__(self, store: EnvStore, places: Sequence[_Place], *, hint: bool, name: str) -> None:
        self._store, self._hint, self._store_name = store, hint, name
        self._places = {_id(place): place for place in places}
        records = {place.record.digest: place.record for place in places}
        self._known = {d: (source_to_run(store, r), store.interface(r)) for d, r in records.items()}
        self._stage = Stage()
        self._begun = 0

    @property
    def version(self) -> str:
        """Of the package, the gates and this suite: the environments are in the settings."""
        return f"spade-envs {__version__} gates {GATES_VERSION} + {VERSION}"

    @property
    def settings(self) -> Mapping[str, Json]:
        """A digest of all that is played, so that another store of the same is the same."""
        played = json.dumps(sorted(self._places)).encode()
        return {
            "hint": self._hint,
            "environments": len(self._known),
            "tasks": "sha256:" + hashlib.sha256(played).hexdigest(),
        }

    @property
    def labels(self) -> Mapping[str, str]:
        """Whether the hint is shown, and the name of the store, which is in no digest."""
        return {"hint": "shown" if self._hint else "not shown", "store": self._store_name}

    @property
    def decoding(self) -> Decoding:
        """As in training; turns as the longest environment allows."""
        longest = max(place.record.max_turns for place in self._places.values())
        return Decoding(temperature=1.0, max_tokens=2048, max_turns=longest)

    def tasks(self) -> Sequence[Task]:
        """Return every instance, by its number, so that a beginning holds all environments."""
        return [
            Task(key, f"level {place.level}", {"env": place.record.id, "seed": place.seed})
            for key, place in self._places.items()
        ]

    def open(self, task: Task, *, seed: int) -> HeldOutSession | Fault:
        """Begin an episode of the task's instance, whatever the seed of the attempt."""
        place = self._places[task.id]
        source, interface = self._known[place.record.digest]
        self._begun += 1
        seat = Seat(
            key=str(self._begun),
            env=place.record.digest,
            source=source,
            level=place.level,
            seed=place.seed,
            hinted=self._hint,
        )
        (start,) = self._stage.open([seat])
        fault = start.fault or (start.hint_fault if self._hint else None)
        if fault is not None:
            self._stage.leave([seat.key])
            return _fault("open", fault)
        return HeldOutSession(self._stage, seat, start, interface)

    def close(self) -> None:
        """Stop the environments."""
        self._stage.close()


@dataclass(slots=True)
class HeldOutSession:
    """One episode."""

    stage: Stage
    seat: Seat
    start: Opened
    interface: Interface
    done: bool = False
    _turns: list[Turn] = field(default_factory=list)
    _won: bool = False
    _fault: Fault | None = None
    _solution: tuple[str, ...] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The episode as a chat, as in training."""
        hint = self.start.hint if self.seat.hinted else None
        return conversation(self.start.observation, self._turns, hint=hint)

    def reply(self, said: Said) -> None:
        """Take one action."""
        if self.done:
            return
        (step,) = self.stage.step([(self.seat.key, said)])
        self._turns.append(Turn(said, step.observation, step.reward))
        if step.fault is not None:
            self._fault = _fault("reply", step.fault)
        self.done = step.done or step.fault is not None
        self._won = step.won

    def score(self) -> Score | Fault:
        """Return the return as a share of its range, and the flag of success."""
        if self._fault is not None:
            return self._fault
        least, most = self.interface.reward_range
        total = sum(turn.reward for turn in self._turns)
        share = (total - least) / (most - least) if most > least else float(self._won)
        return Score(
            value=min(1.0, max(0.0, share)),
            success=self._won,
            detail={"return": total, "turns": len(self._turns)},
        )

    def reference(self) -> Said | None:
        """Return the next action of the environment's own solution, empty after its end."""
        if not self.interface.has_solution:
            return None
        if self._solution is None:
            self._solution = _solution(self.seat.source, self.seat.level, self.seat.seed)
        turn = len(self._turns)
        return self._solution[turn] if turn < len(self._solution) else ""

    def random(self, rng: random.Random) -> Said:
        """Return a random action within what the observations show."""
        turns = self._turns
        view = View(
            interface=self.interface,
            level=self.seat.level,
            seed=self.seat.seed,
            first=self.start.observation,
            last=turns[-1].observation if turns else self.start.observation,
            turn=len(turns),
            name=str(rng.getrandbits(64)),
        )
        return random_grammar(view) or ""

    def close(self) -> None:
        """Leave the environment."""
        self.stage.leave([self.seat.key])


def _solution(source: EnvSource, level: int, seed: int) -> tuple[str, ...]:
    try:
        return reference(source, level=level, seed=seed).solution or ()
    except EnvironmentFault:
        return ()


def _id(place: _Place) -> str:
    return f"{place.record.digest}/{place.level}/{place.seed}"


def _fault(where: str, fault: EnvFault) -> Fault:
    return Fault(where, f"{fault.kind} in {fault.op}: {fault.message}")
