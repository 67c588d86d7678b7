"""One step at a time, beside a bare echo of pickles over a pipe: what any process split costs."""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import gymnasium as gym

import spade_envs
from benchmarks.timing import Claim, Measure, Result, Scale, Series, interleave
from benchmarks.workload import ACTION, answer, create, load, publish, scratch_store

RATIO_BAR = 2.5
_RESET = "(reset)"


def run(scale: Scale) -> Result:
    """Measure the p50 of single steps, in microseconds; one p50 per round is one sample."""
    with contextlib.ExitStack() as stack:
        pipe = _start_echo(stack)
        store = stack.enter_context(scratch_store())
        record = publish(store)
        spade_envs.register_store(store)
        worker = stack.enter_context(load())
        (instance,) = create(worker, 1)
        wrapped = gym.make(record.id, max_episode_steps=-1)
        stack.callback(wrapped.close)
        bare = wrapped.unwrapped

        def echo() -> str:
            pipe.send(ACTION)
            return str(pipe.recv()[0])

        def reset_echo() -> None:
            pipe.send(_RESET)
            pipe.recv()

        taken = interleave(
            scale,
            {
                "pickle over a pipe, echo": _p50(scale.steps, reset_echo, echo),
                "Worker.step": _p50(
                    scale.steps,
                    lambda: worker.reset([(instance, 0, None)]),
                    lambda: worker.step([(instance, ACTION)])[0].observation,
                ),
                "SandboxedEnv.step": _p50(
                    scale.steps, lambda: bare.reset(seed=0), lambda: bare.step(ACTION)[0]
                ),
                "gym.make with its wrappers": _p50(
                    scale.steps, lambda: wrapped.reset(seed=0), lambda: wrapped.step(ACTION)[0]
                ),
            },
        )
    series = tuple(Series(name, "us p50", samples) for name, samples in taken.items())
    claims = [
        Claim(f"{one.name}: multiple of the echo's p50", ratio, RATIO_BAR, False)
        for one in series[1:3]
        for ratio in [one.median / series[0].median]
    ]
    note = f"{series[3].name}: {series[3].median / series[0].median:.2f} times the echo's p50"
    return Result("round-trip", series, tuple(claims), (note,))


def _p50(steps: int, prepare: Callable[[], object], act: Callable[[], str]) -> Measure:
    def measure() -> float:
        prepare()
        laps = []
        for turn in range(1, steps + 1):
            start = time.perf_counter()
            heard = act()
            laps.append(time.perf_counter() - start)
            if heard != answer(turn):
                raise RuntimeError(f"step {turn} gave {heard!r}")
        return statistics.median(laps) * 1e6

    return measure


def _start_echo(stack: contextlib.ExitStack) -> Connection:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_echo, args=(theirs, ours), daemon=True)
    child.start()
    theirs.close()
    stack.callback(child.join)
    stack.callback(ours.close)
    return ours


def _echo(pipe: Connection, other_end: Connection) -> None:
    """Answer every action with what a step returns."""
    other_end.close()
    with contextlib.suppress(EOFError):
        turn = 0
        while action := pipe.recv():
            turn = 0 if action == _RESET else turn + 1
            pipe.send((answer(turn), 0.0, False, False, {}))
