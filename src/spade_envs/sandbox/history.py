"""What the host remembers of each instance, so that a fresh worker can be given the same state."""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass, field
from typing import Any

from spade_envs.sandbox.protocol import Replay
from spade_envs.types import StepOutcome


@dataclass(slots=True)
class Instance:
    """One environment object, as the host sees it."""

    level: int
    generation: int
    """Number of the worker process that holds it."""
    playing: bool = False
    """Whether an episode was begun and has not been lost to a fault."""
    seed: int = 0
    options: dict[str, Any] | None = None
    actions: list[str] = field(default_factory=list)
    last_observation: str = ""
    _seeds: random.Random | int | None = None
    """The sequence, or the seed that begins it."""

    def next_seed(self, seed: int | None) -> int:
        """Return the seed of the next episode.

        An episode without a seed of its own continues the sequence that the last given seed
        began, so that seeds and actions alone determine everything that happens.
        """
        if seed is not None or self._seeds is None:
            first = secrets.randbits(31) if seed is None else int(seed)
            self._seeds = first
            return first
        if isinstance(self._seeds, int):  # made late: most episodes are given a seed
            self._seeds = random.Random(self._seeds)
        return self._seeds.getrandbits(31)

    def begin(self, seed: int, options: dict[str, Any] | None, observation: str) -> None:
        """Note a successful reset."""
        self.playing, self.seed, self.options = True, seed, options
        self.actions = []
        self.last_observation = observation

    def note(self, action: str, answer: str | StepOutcome) -> None:
        """Note a step: the observation, or what else it brought."""
        if isinstance(answer, StepOutcome) and answer.fault is not None:
            self.playing = False
            return
        self.last_observation = answer if isinstance(answer, str) else answer.observation
        self.actions.append(action)

    def copy(self, generation: int) -> Instance:
        """Return the record of a copy that the worker made."""
        twin = Instance(self.level, generation, self.playing, self.seed, self.options)
        twin.actions = list(self.actions)
        twin.last_observation = self.last_observation
        return twin

    def replay(self, request: int, number: int) -> Replay:
        """Return the request that rebuilds this instance."""
        return Replay(request, number, self.level, self.seed, self.options, self.actions)
