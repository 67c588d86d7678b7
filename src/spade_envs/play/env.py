"""`SandboxedEnv`: the `gymnasium.Env` that `gym.make` returns, and the factory behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import msgspec

from spade_envs.errors import Corrupt, EnvironmentFault
from spade_envs.play.session import Isolation, Session, create_all, open_session
from spade_envs.spaces import AnyText
from spade_envs.store import open_store
from spade_envs.trust.runs import source_to_run
from spade_envs.types import EnvSource, Fault, Interface, Limits, StepOutcome

_SLACK = 1e-6
FAULT_TEXT = "The environment failed; this episode ends here."


class SandboxedEnv(gym.Env[str, str]):
    """One environment whose code runs in a sandboxed worker.

    An environment that fails in a step ends the episode: `truncated` is True, the reward 0.0 and
    `info["fault"]` says what happened, so that the episode can be left out of the data. A failure
    in `reset` raises `EnvironmentFault`. Hints and solutions cannot be reached from here.

    Args:
        session: the loaded source; closed with this environment.
        level: difficulty, an int in [0, interface.levels).
        render_mode: None or `ansi`.

    Raises:
        ConfigError: the level is out of range.
        EnvironmentFault: the environment's constructor failed.
    """

    def __init__(self, session: Session, *, level: int = 0, render_mode: str | None = None) -> None:
        self._session = session
        self.interface: Interface = session.interface
        self.level = level
        self.render_mode = render_mode
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.metadata = {"render_modes": ["ansi"], "isolation": session.layers}
        self._most_chars = session.limits.max_action_chars
        self._shown = ""
        self._running = False
        self._turn, self._total = 0, 0.0
        (self._instance,) = create_all(session, [level])

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        """OpenAI function schemas of the tools; empty for a text environment."""
        return list(self.interface.tools)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode and return its first observation.

        Every episode gets a seed of its own, drawn from `np_random` where none is given, so that it
        can be replayed after a fault.

        Raises:
            EnvironmentFault: the environment failed to reset.
        """
        super().reset(seed=seed)
        episode_seed = seed if seed is not None else draw_seed(self.np_random)
        (outcome,) = self._session.reset([(self._instance, episode_seed, options)])
        self._running = outcome.fault is None
        self._turn, self._total = 0, 0.0
        if outcome.fault is not None:
            raise EnvironmentFault(outcome.fault)
        self._shown = outcome.observation
        return outcome.observation, dict(outcome.info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one step; of an action over `Limits.max_action_chars` the end is cut off.

        Raises:
            TypeError: the action is not a str.
            ResetNeeded: no episode is running.
        """
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, not {type(action).__name__}")
        if not self._running:
            raise gym.error.ResetNeeded("no episode is running; call reset() first")
        (answer,) = self._session.step([(self._instance, action[: self._most_chars])])
        self._turn += 1
        self._total += answer.reward
        outcome = held_to(self.interface, answer, self._turn, self._total)
        self._running = not outcome.done
        if outcome.fault is not None:
            self._shown = FAULT_TEXT
            return FAULT_TEXT, 0.0, False, True, fault_info(outcome.fault)
        self._shown = outcome.observation
        ends = (outcome.terminated, outcome.truncated)
        return outcome.observation, outcome.reward, *ends, dict(outcome.info)

    def render(self) -> str | None:
        """Return the last observation if `render_mode` is `ansi`."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Stop the worker."""
        self._running = False
        self._session.close()


def make_env(
    ref: str,
    store: str,
    digest: str | None = None,
    level: int = 0,
    isolation: Isolation = "process",
    trusted_digest: str | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    render_mode: str | None = None,
) -> SandboxedEnv:
    """Return the environment `ref` of the envstore at `store`; the entry point of `gym.make`.

    Raises:
        NotFound: the store holds no such environment.
        Withdrawn: the version was withdrawn.
        Corrupt: the code on disk is not the code that was registered under this digest.
        NotTrusted: it was pulled, and nobody consented to run it; see docs/trust.md.
        NotCertified: it was pulled, and the gates refuse it here.
        ConfigError: a bad level, isolation or limit.
        EnvironmentFault: the code cannot be loaded.
    """
    source, actual = stored_source(ref, store, digest)
    session = open_session(
        source,
        limits=as_limits(limits),
        isolation=isolation,
        trusted_digest=trusted_digest,
        digest=actual,
    )
    try:
        return SandboxedEnv(session, level=level, render_mode=render_mode)
    except BaseException:
        session.close()
        raise


def stored_source(ref: str, store: str, digest: str | None) -> tuple[EnvSource, str]:
    """Return the verified code of `ref` and its digest.

    Raises:
        NotFound: the store holds no such environment.
        Withdrawn: the version was withdrawn.
        Corrupt: the bytes on disk differ from the manifest, or the digest from `digest`.
        NotTrusted: it was pulled, and nobody consented to run it.
        NotCertified: it was pulled, and the gates refuse it here.
    """
    opened = open_store(store)
    record = opened.get(ref)
    if digest is not None and record.digest != digest:
        raise Corrupt(
            f"{record.id} in {store} has digest {record.digest[:19]}..., registered was "
            f"{digest[:19]}...; if its files were changed by hand, run spade-envs verify, then "
            f"spade-envs reindex --store {store}, and register the store again"
        )
    return source_to_run(opened, record), record.digest


def as_limits(limits: Limits | Mapping[str, Any] | None) -> Limits:
    """Return limits given as a value, as keyword arguments (JSON), or not at all.

    Raises:
        ConfigError: a key is unknown or a value is not a positive number.
    """
    return limits if isinstance(limits, Limits) else Limits.from_mapping(limits or {})


def draw_seed(rng: Any) -> int:
    """Return a seed in [0, 2**31) drawn from a numpy generator."""
    return int(rng.integers(2**31))


def held_to(interface: Interface, outcome: StepOutcome, turn: int, total: float) -> StepOutcome:
    """Return the outcome of step number `turn` as far as the environment kept its word.

    The episode is truncated at `max_turns`. A return outside of `reward_range` is a fault.
    """
    if not outcome.done and turn >= interface.max_turns:
        info = {**outcome.info, "success": False}
        outcome = msgspec.structs.replace(outcome, truncated=True, info=info)
    low, high = interface.reward_range
    if outcome.fault is not None or not outcome.done or low - _SLACK <= total <= high + _SLACK:
        return outcome
    message = f"a return of {total:g} outside of reward_range ({low:g}, {high:g})"
    return StepOutcome(truncated=True, fault=Fault(kind="contract", op="step", message=message))


def fault_info(fault: Fault) -> dict[str, Any]:
    """Return the info of a last step that failed."""
    return {"fault": fault.as_json(), "success": False}
