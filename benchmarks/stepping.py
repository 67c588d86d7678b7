"""Sandboxed against in-process stepping of one trivial environment, 1, 8 and 64 at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import gymnasium as gym

import spade_envs
from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave, p50_us
from benchmarks.workload import (
    ACTION,
    answer,
    create,
    load,
    local_class,
    publish,
    scratch_store,
)
from spade_envs.sandbox import Worker

SHARE_BAR = 0.25


def run(scale: Scale) -> Result:
    """Measure microseconds per environment step: the p50 of a batch, divided by its width."""
    counts = (1, 8, scale.together)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(scratch_store())
        record = publish(store)
        spade_envs.register_store(store)
        worker = stack.enter_context(load())
        contenders: dict[str, Measure] = {}
        for count in counts:
            vector = gym.make_vec(record.id, num_envs=count)
            stack.callback(vector.close)
            contenders[f"in-process loop, {count}"] = _in_process(count, scale.steps)
            contenders[f"sandboxed worker, {count}"] = _sandboxed(worker, count, scale.steps)
            contenders[f"gym.make_vec, {count}"] = _vector(vector, count, scale.steps)
        taken = interleave(scale, contenders)
    series = {name: Series(name, "us/step p50", samples) for name, samples in taken.items()}
    plain = {count: series[f"in-process loop, {count}"].median for count in counts}
    notes = [
        f"{count} at a time: sandboxed worker {plain[count] / worker_us:.3f}x, "
        f"gym.make_vec {plain[count] / vector_us:.3f}x the in-process rate"
        for count in counts
        for worker_us in [series[f"sandboxed worker, {count}"].median]
        for vector_us in [series[f"gym.make_vec, {count}"].median]
    ]
    # The bar is on the worker. `gym.make_vec` also builds arrays and infos, as the plain loop does
    # not; its like in this process is Gymnasium's SyncVectorEnv, see the benchmark async-vector.
    share = plain[scale.together] / series[f"sandboxed worker, {scale.together}"].median
    text = f"sandboxed worker, {scale.together} at a time: share of the in-process rate"
    claims = (Claim(text, share, SHARE_BAR, True),)
    return Result("stepping", tuple(series.values()), claims, tuple(notes))


def _in_process(count: int, steps: int) -> Measure:
    room = local_class()
    envs = [room() for _ in range(count)]

    def reset() -> None:
        for seed, env in enumerate(envs):
            env.reset(seed=seed)

    def step() -> str:
        for env in envs:
            observation = env.step(ACTION)[0]
        return observation

    return _measured(reset, step, count, steps)


def _sandboxed(worker: Worker, count: int, steps: int) -> Measure:
    instances = create(worker, count)

    def reset() -> None:
        worker.reset([(instance, seed, None) for seed, instance in enumerate(instances)])

    def step() -> str:
        return worker.step([(instance, ACTION) for instance in instances])[-1].observation

    return _measured(reset, step, count, steps)


def _vector(vector: gym.vector.VectorEnv, count: int, steps: int) -> Measure:
    actions = [ACTION] * count
    return _measured(
        lambda: vector.reset(seed=0), lambda: str(vector.step(actions)[0][-1]), count, steps
    )


def _measured(
    reset: Callable[[], object], step: Callable[[], str], count: int, steps: int
) -> Measure:
    """Return what measures the p50 of `step`, and makes sure that every step was really taken."""

    def measure() -> float:
        reset()
        figure = p50_us(steps - 1, step, group=max(1, 8 // count)) / count
        if (last := step()) != answer(steps):
            raise RuntimeError(f"the last step gave {last!r}, not {answer(steps)!r}")
        return figure

    return measure
