"""`SandboxedVectorEnv`: many instances of one environment in one worker, stepped in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from spade_envs.errors import ConfigError
from spade_envs.play.batch import batch_infos
from spade_envs.play.env import (
    FAULT_TEXT,
    as_limits,
    draw_seed,
    fault_info,
    held_to,
    stored_source,
)
from spade_envs.play.session import Isolation, Session, create_all, open_session
from spade_envs.spaces import AnyText
from spade_envs.types import Fault, Limits, StepBatch, StepOutcome

Seeds = int | Sequence[int | None] | None


class SandboxedVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], NDArray[Any]]):
    """Many instances of one environment, stepped together in one sandboxed worker.

    Observations and actions are `[N]` sequences of str, rewards float64 `[N]`, flags bool `[N]`.
    An instance that fails is truncated with `info["fault"]`; the others go on.

    Args:
        session: the loaded source; closed with this environment.
        levels: one level per instance; its length is `num_envs`.
        autoreset_mode: what a step after the end of an episode does; Gymnasium's three modes.

    Raises:
        ConfigError: a level is out of range.
        EnvironmentFault: the environment's constructor failed.
    """

    def __init__(
        self,
        session: Session,
        *,
        levels: Sequence[int],
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__()
        self._session = session
        self.interface = session.interface
        self.levels = tuple(levels)
        self.num_envs = len(levels)
        self.autoreset_mode = autoreset_mode
        self.metadata = {"autoreset_mode": autoreset_mode, "isolation": session.layers}
        self.single_observation_space = AnyText()
        self.single_action_space = AnyText()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._instances = tuple(create_all(session, levels))
        self._rngs = [np.random.default_rng() for _ in levels]
        self._over, self._some_over = np.ones(self.num_envs, dtype=np.bool_), True
        self._turns, self._most_turns = np.zeros(self.num_envs, dtype=np.int64), 0
        self._totals = np.zeros(self.num_envs)
        self._started = False
        self._reset_faults: dict[int, Fault] = {}
        self._options: dict[str, Any] | None = None
        self._observations = [""] * self.num_envs

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Start episodes everywhere, or where `options["reset_mask"]` (bool `[N]`) is True.

        Args:
            seed: one int (instance i gets `seed + i`), one seed per instance, or None.
            options: handed to every environment, without `reset_mask`; kept for autoresets.

        Raises:
            ConfigError: the seeds or the mask do not fit `num_envs`.
        """
        seeds = self._seeds(seed)
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        elif not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or not mask.any():
            raise ConfigError(f"reset_mask must be a bool array [{self.num_envs}] with a True")
        self._options = options or None
        self._started = True
        infos = self._begin([int(i) for i in np.flatnonzero(mask)], seeds)
        return tuple(self._observations), batch_infos(infos)

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take one step in every instance; too long actions are cut as in `SandboxedEnv`.

        Raises:
            ConfigError: not one str per instance.
            ResetNeeded: no reset came first, or, with autoreset disabled, an episode is over.
        """
        actions = self._checked(actions)
        waiting = np.flatnonzero(self._over).tolist() if self._some_over else []
        if waiting and self.autoreset_mode is AutoresetMode.DISABLED:
            raise gym.error.ResetNeeded(f"reset the ended instances first: {waiting}")
        infos: list[Mapping[str, Any] | None] = [None] * self.num_envs
        if waiting or self._reset_faults:
            rewards, terminated, truncated = self._step_some(actions, infos)
        else:
            batch = self._session.step_batch(self._instances, actions)
            self._observations = batch.observations
            rewards, terminated, truncated = self._note(batch, infos)
        self._over = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._reset_ended(infos)
        elif waiting:
            begun = self._begin(waiting, [None] * self.num_envs)
            infos = [new if new is not None else old for new, old in zip(begun, infos, strict=True)]
        flags = (terminated, truncated)
        return tuple(self._observations), rewards, *flags, batch_infos(infos)

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the worker."""
        self._session.close()

    def _reset_ended(self, infos: list[Mapping[str, Any] | None]) -> None:
        ended = [int(i) for i in np.flatnonzero(self._over)]
        last = {i: {"final_obs": self._observations[i], "final_info": infos[i]} for i in ended}
        begun = self._begin(ended, [None] * self.num_envs)
        for index in ended:
            infos[index] = {**(begun[index] or {}), **last[index]}

    def _begin(
        self, indices: Sequence[int], seeds: Sequence[int | None]
    ) -> list[dict[str, Any] | None]:
        """Start episodes; one that fails to start is truncated by its next step."""
        requests = []
        for index in indices:
            seed = seeds[index]
            if seed is not None:
                self._rngs[index] = np.random.default_rng(seed)
            drawn = seed if seed is not None else draw_seed(self._rngs[index])
            requests.append((self._instances[index], drawn, self._options))
        infos: list[dict[str, Any] | None] = [None] * self.num_envs
        self._some_over = True
        outcomes = self._session.reset(requests) if requests else []
        for index, outcome in zip(indices, outcomes, strict=True):
            self._over[index] = False
            self._turns[index], self._totals[index] = 0, 0.0
            self._reset_faults.pop(index, None)
            if outcome.fault is not None:
                self._reset_faults[index] = outcome.fault
                self._observations[index], infos[index] = FAULT_TEXT, fault_info(outcome.fault)
            else:
                self._observations[index], infos[index] = outcome.observation, dict(outcome.info)
        return infos

    def _step_some(
        self, actions: Sequence[str], infos: list[Mapping[str, Any] | None]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Step the instances that are in an episode; those that failed to start end theirs."""
        sound = [
            index
            for index, is_over in enumerate(self._over.tolist())
            if not is_over and index not in self._reset_faults
        ]
        batch = self._session.step_batch(
            [self._instances[index] for index in sound], [actions[index] for index in sound]
        )
        rows = self._observations
        whole = StepBatch(rows, [0.0] * self.num_envs, {})
        for index, fault in self._reset_faults.items():
            if not self._over[index]:
                whole.marked[index] = StepOutcome(truncated=True, fault=fault)
        for row, index in enumerate(sound):
            rows[index], whole.rewards[index] = batch.observations[row], batch.rewards[row]
            if row in batch.marked:
                whole.marked[index] = batch.marked[row]
        return self._note(whole, infos)

    def _note(
        self, batch: StepBatch, infos: list[Mapping[str, Any] | None]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Note a step of every instance, held to what the environment declares.

        Returns rewards, terminations and truncations `[N]`; those of instances that are over are
        zero. Whole columns at a time: this is the host's share of every batch.
        """
        rewards = np.array(batch.rewards)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        turns, totals = self._turns, self._totals
        turns += 1
        totals += rewards
        late: list[int] = []
        self._some_over = False
        self._most_turns += 1  # it may be too high, since episodes are begun at different times
        if self._most_turns >= self.interface.max_turns:
            self._most_turns = int(turns.max())
            spent = (turns >= self.interface.max_turns) & ~self._over
            late = [index for index in np.flatnonzero(spent).tolist() if index not in batch.marked]
        for index in (*batch.marked, *late):
            known = batch.marked.get(index)
            outcome = known or StepOutcome(self._observations[index], batch.rewards[index])
            if turns[index] >= self.interface.max_turns or outcome.done:
                turn, total = int(turns[index]), float(totals[index])
                outcome = held_to(self.interface, outcome, turn, total)
            self._some_over |= outcome.done
            rewards[index] = outcome.reward
            terminated[index], truncated[index] = outcome.terminated, outcome.truncated
            if outcome.fault is None:
                self._observations[index], infos[index] = outcome.observation, outcome.info
            else:
                self._observations[index] = FAULT_TEXT
                infos[index] = fault_info(outcome.fault)
        return rewards, terminated, truncated

    def _seeds(self, seed: Seeds) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + index for index in range(self.num_envs)]
        seeds = [None if value is None else int(value) for value in seed]
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed needs {self.num_envs} values, got {len(seeds)}")
        return seeds

    def _checked(self, actions: Sequence[str]) -> Sequence[str]:
        if not self._started:
            raise gym.error.ResetNeeded("call reset() first")
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise ConfigError(f"step takes a sequence of {self.num_envs} str, one per instance")
        most = self._session.limits.max_action_chars
        if {*map(type, actions)} == {str} and max(map(len, actions)) <= most:
            return actions
        for action in actions:
            if not isinstance(action, str):
                raise ConfigError(f"an action is a str, not {type(action).__name__}")
        return [str(action)[:most] for action in actions]


def make_vector_env(
    ref: str,
    store: str,
    num_envs: int = 1,
    digest: str | None = None,
    level: int | Sequence[int] = 0,
    isolation: Isolation = "process",
    trusted_digest: str | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
) -> SandboxedVectorEnv:
    """Return `num_envs` instances of an environment; the entry point of `gym.make_vec`.

    Args:
        ref: id or digest of the environment.
        store: root of the envstore.
        num_envs: number of instances, >= 1.
        digest: digest that must match.
        level: one level for all, or one per instance.
        isolation: `process` or `none`.
        trusted_digest: with `none`, the digest that the caller has reviewed.
        limits: resources of the worker.
        autoreset_mode: one of Gymnasium's modes, as value or name.

    Raises:
        ConfigError: a setting cannot be used.
        NotFound: the store holds no such environment.
        Withdrawn: the version was withdrawn.
        Corrupt: the code on disk is not what was registered.
        EnvironmentFault: the code cannot be loaded.
    """
    levels = [level] * num_envs if isinstance(level, int) else list(level)
    if num_envs < 1 or len(levels) != num_envs:
        raise ConfigError(f"level needs one value or {num_envs}, got {len(levels)}")
    source, actual = stored_source(ref, store, digest)
    session = open_session(
        source,
        limits=as_limits(limits),
        isolation=isolation,
        trusted_digest=trusted_digest,
        digest=actual,
    )
    try:
        mode = AutoresetMode(autoreset_mode)
        return SandboxedVectorEnv(session, levels=levels, autoreset_mode=mode)
    except BaseException:
        session.close()
        raise
