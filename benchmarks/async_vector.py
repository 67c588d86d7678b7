"""Our vector environment beside Gymnasium's `AsyncVectorEnv` and `SyncVectorEnv`, 64 at a time."""

from __future__ import annotations

import contextlib

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

import spade_envs
from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave, p50_us
from benchmarks.workload import ACTION, answer, local_class, publish, scratch_store

RATIO_BAR = 10.0


def run(scale: Scale) -> Result:
    """Measure microseconds per environment step: the p50 of a batch, divided by its width."""
    room = local_class()
    count = scale.together
    makers = [room] * count
    with contextlib.ExitStack() as stack:
        # The fork comes first, while this process has neither sandbox nor threads.
        forked = AsyncVectorEnv(makers, shared_memory=False, context="fork")
        stack.callback(forked.close)
        store = stack.enter_context(scratch_store())
        record = publish(store)
        spade_envs.register_store(store)
        ours = gym.make_vec(record.id, num_envs=count)
        stack.callback(ours.close)
        plain = SyncVectorEnv(makers)
        stack.callback(plain.close)
        taken = interleave(
            scale,
            {
                "gym.make_vec, sandboxed": _stepped(ours, scale.steps),
                "AsyncVectorEnv, no sandbox": _stepped(forked, max(2, scale.steps // 10)),
                "SyncVectorEnv, no sandbox": _stepped(plain, max(2, scale.steps // 4)),
            },
        )
    series = tuple(Series(f"{name}, {count}", "us/step p50", got) for name, got in taken.items())
    ratio = series[1].median / series[0].median
    claim = Claim("gym.make_vec: multiple of AsyncVectorEnv's rate", ratio, RATIO_BAR, True)
    note = f"multiple of SyncVectorEnv's rate: {series[2].median / series[0].median:.2f}"
    return Result("async-vector", series, (claim,), (note,))


def _stepped(vector: VectorEnv, steps: int) -> Measure:
    count = vector.num_envs
    actions = [ACTION] * count

    def step() -> str:
        return str(vector.step(actions)[0][-1])

    def measure() -> float:
        vector.reset(seed=0)
        figure = p50_us(steps - 1, step) / count
        if (last := step()) != answer(steps):
            raise RuntimeError(f"the last step gave {last!r}, not {answer(steps)!r}")
        return figure

    return measure
