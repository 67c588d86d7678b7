"""When a process is killed: who is blamed, and whether the others keep their state."""

import pytest

from spade_envs.sandbox.worker_handle import MAX_KILLS
from spade_envs.types import Fault, Limits

QUICK = Limits(load_timeout_s=10.0, reset_timeout_s=5.0, step_timeout_s=0.4, memory_mb=256)

SLOPPY = """
import random
import numpy as np
from spade_envs.api import TextEnv

class Sloppy(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return f"{random.random()} {np.random.rand()}", {}
    def step(self, action):
        if action == "exit":
            import posix
            posix._exit(1)
        return self.go_on(f"{random.random()} {np.random.rand()}")
"""


def begin(worker, count, seed=0):
    numbers = [worker.create(0) for _ in range(count)]
    worker.reset([(number, seed + number, None) for number in numbers])
    return numbers


def undisturbed(load, code, count, rounds):
    """Return the observations of a run in which nothing is killed."""
    worker = load(code)
    numbers = begin(worker, count)
    return [
        [outcome.observation for outcome in worker.step([(n, "ab") for n in numbers])]
        for _ in range(rounds)
    ]


@pytest.mark.parametrize(("action", "kind"), [("hang", "timeout"), ("exit", "crash")])
def test_only_the_culprit_is_blamed_and_neighbours_go_on(load, counter_code, action, kind):
    expected = undisturbed(load, counter_code, 12, 3)
    worker = load(counter_code, limits=QUICK)
    numbers = begin(worker, 12)
    seen = [[o.observation for o in worker.step([(n, "ab") for n in numbers])]]
    batch = [(n, action if n == 7 else "ab") for n in numbers]
    outcomes = worker.step(batch)
    assert [o.fault.kind if o.fault else None for o in outcomes] == [
        kind if n == 7 else None for n in numbers
    ]
    seen.append([o.observation for o in outcomes])
    rest = worker.step([(n, "ab") for n in numbers if n != 7])
    assert all(o.fault is None for o in rest)
    assert [o.observation for o in rest] == [text for n, text in enumerate(expected[2]) if n != 7]
    assert worker.generation == 2
    assert seen[0] == expected[0]
    assert [t for n, t in enumerate(seen[1]) if n != 7] == [
        t for n, t in enumerate(expected[1]) if n != 7
    ]
    assert worker.reset([(7, 7, None)])[0].fault is None


def test_global_generators_are_restored_for_sloppy_code(load):
    expected = undisturbed(load, SLOPPY, 4, 3)
    worker = load(SLOPPY)
    numbers = begin(worker, 4)
    worker.step([(n, "ab") for n in numbers])
    worker.step([(n, "exit" if n == 0 else "ab") for n in numbers])
    assert worker.generation == 2
    rest = worker.step([(n, "ab") for n in numbers[1:]])
    assert [o.fault for o in rest] == [None] * 3
    assert [o.observation for o in rest] == expected[2][1:]


def test_instances_do_not_share_the_global_generator(load):
    alone = load(SLOPPY)
    number = begin(alone, 1)[0]
    first = [alone.step([(number, "ab")])[0].observation for _ in range(3)]
    worker = load(SLOPPY)
    numbers = begin(worker, 2)
    both = []
    for _ in range(3):
        worker.step([(numbers[1], "ab")])
        both.append(worker.step([(numbers[0], "ab")])[0].observation)
    assert both == first


def test_an_episode_that_cannot_be_replayed_is_a_fault_not_a_lie(load):
    worker = load(
        "import os\n"
        "from spade_envs.api import TextEnv\n"
        "class Wild(TextEnv):\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return '', {}\n"
        "    def step(self, action):\n"
        "        return os.urandom(8).hex(), 0.0, False, False, {}\n"
    )
    numbers = begin(worker, 2)
    worker.step([(n, "x") for n in numbers])
    worker.recycle()
    outcome = worker.step([(numbers[0], "x")])[0]
    assert outcome.fault.kind == "contract"
    assert "replayed" in outcome.fault.message
    assert worker.reset([(numbers[0], 1, None)])[0].fault is None


def test_recycling_loses_nothing(load, counter_code):
    expected = undisturbed(load, counter_code, 3, 4)
    worker = load(counter_code)
    numbers = begin(worker, 3)
    seen = []
    for _ in range(4):
        seen.append([o.observation for o in worker.step([(n, "ab") for n in numbers])])
        worker.recycle()
        assert not worker.alive
    assert seen == expected
    assert worker.generation == 4


def test_hint_and_solution_survive_a_new_process(load, counter_code):
    worker = load(counter_code)
    number = begin(worker, 1)[0]
    hint = worker.hint(number)
    worker.recycle()
    assert worker.hint(number) == hint
    assert worker.solution(number) == ["win"]


def test_a_copy_has_the_state_of_the_original_also_after_a_kill(load, counter_code):
    worker = load(counter_code)
    number = begin(worker, 1)[0]
    worker.step([(number, "abc")])
    twin = worker.probe(number, "copy", {"how": "deepcopy"})["instance"]
    worker.recycle()
    one, other = worker.step([(number, "ab"), (twin, "ab")])
    assert one.fault is None
    assert one.observation == other.observation


def test_a_batch_in_which_all_die_costs_a_bounded_number_of_processes(load, counter_code):
    worker = load(counter_code)
    numbers = begin(worker, 30)
    outcomes = worker.step([(n, "exit") for n in numbers])
    assert {o.fault.kind for o in outcomes} == {"crash"}
    assert worker.generation <= MAX_KILLS
    assert all(o.fault is None for o in worker.reset([(n, 1, None) for n in numbers]))


def test_a_hanging_hint_is_a_fault_and_ends_the_episode(load, counter_code):
    code = counter_code.replace(
        '        return f"the goal is near',
        '        while True: pass\n        return f"the goal is',
    )
    worker = load(code, limits=QUICK)
    number = begin(worker, 1)[0]
    fault = worker.hint(number)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.op) == ("timeout", "hint")
    assert worker.step([(number, "ab")])[0].fault.kind == "contract"
    assert worker.reset([(number, 1, None)])[0].fault is None


GREEDY = """
from spade_envs.api import TextEnv

KEPT = []

class Greedy(TextEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.room = bytearray(64 << 20)
        return "ready", {}
    def step(self, action):
        while True:
            KEPT.append(bytearray(8 << 20))
"""


def test_memory_that_an_earlier_step_kept_does_not_fail_the_next_reset(load):
    worker = load(GREEDY, limits=QUICK)
    (number,) = begin(worker, 1)
    (outcome,) = worker.step([(number, "more")])
    assert outcome.fault.kind == "memory"
    (again,) = worker.reset([(number, 1, None)])
    assert (again.fault, again.observation, worker.generation) == (None, "ready", 2)
