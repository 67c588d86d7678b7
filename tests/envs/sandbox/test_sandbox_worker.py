"""What a worker answers, and what it makes of environments that break the contract."""

import pytest

from spade_envs.errors import SandboxError
from spade_envs.types import EnvSource, Fault, Limits


def begin(worker, seed=5, level=0):
    number = worker.create(level)
    assert isinstance(number, int)
    assert worker.reset([(number, seed, None)])[0].fault is None
    return number


def test_interface_and_layers_are_told(counter):
    assert counter.interface.entry == "Counter"
    assert counter.interface.levels == 3
    assert counter.interface.summary == "Add numbers up to a secret sum."
    assert counter.interface.has_hint
    assert counter.interface.has_solution
    assert {"seccomp", "rlimits", "no-new-privs"} <= set(counter.layers)


def test_an_episode_from_reset_to_win(counter):
    number = counter.create(2)
    first = counter.reset([(number, 5, {"a": 1})])[0]
    assert first.observation == "level 2 options {'a': 1}"
    assert isinstance(first.info["goal"], int)
    middle = counter.step([(number, "abc")])[0]
    assert middle.observation.split()[0] == "3"
    assert middle.info == {"seen": "abc"}
    assert not middle.done
    last = counter.step([(number, "win")])[0]
    assert (last.observation, last.reward, last.terminated) == ("won", 1.0, True)
    assert last.info == {"success": True}


def test_hint_and_solution(counter):
    number = begin(counter)
    assert counter.hint(number).startswith("the goal is near ")
    assert counter.solution(number) == ["win"]


def test_same_seed_same_episode_and_other_seed_another(counter):
    def play(seed):
        number = begin(counter, seed)
        return [counter.step([(number, "ab")])[0].observation for _ in range(5)]

    assert play(1) == play(1)
    assert play(1) != play(2)


def test_resets_without_a_seed_continue_the_sequence_of_the_last_seed(counter):
    def goals():
        number = counter.create(0)
        seeds = (9, None, None)
        return [counter.reset([(number, seed, None)])[0].info["goal"] for seed in seeds]

    first = goals()
    assert first == goals()
    assert len(set(first)) == 3


def test_a_batch_answers_in_order(counter):
    numbers = [counter.create(0) for _ in range(40)]
    counter.reset([(number, number, None) for number in numbers])
    outcomes = counter.step([(number, "x" * (number + 1)) for number in numbers])
    assert [int(o.observation.split()[0]) for o in outcomes] == [n + 1 for n in numbers]


def test_numpy_values_become_plain_ones(counter):
    number = begin(counter)
    outcome = counter.step([(number, "numpy")])[0]
    assert (outcome.reward, outcome.terminated, outcome.truncated) == (0.5, False, True)
    assert type(outcome.reward) is float
    assert outcome.info == {"n": 3, "t": [1], "success": False}


def test_a_long_observation_is_cut_and_says_so(load, counter_code):
    worker = load(counter_code, limits=Limits(max_observation_chars=1000))
    number = begin(worker)
    outcome = worker.step([(number, "long")])[0]
    assert outcome.observation == "é" * 1000
    assert outcome.observation_cut


def test_an_exception_is_a_fault_with_lines_of_the_environment_only(counter):
    number, other = begin(counter), begin(counter)
    outcome, fine = counter.step([(number, "raise"), (other, "ab")])
    assert outcome.fault.kind == "exception"
    assert outcome.fault.message.startswith("ZeroDivisionError")
    assert "return self.total / 0" in outcome.fault.traceback
    assert "spade_envs" not in outcome.fault.traceback
    assert (outcome.reward, outcome.truncated, outcome.terminated) == (0.0, True, False)
    assert fine.fault is None
    assert counter.generation == 1


def test_after_a_fault_the_instance_must_be_reset(counter):
    number = begin(counter)
    counter.step([(number, "raise")])
    again = counter.step([(number, "ab")])[0]
    assert again.fault.kind == "contract"
    assert "reset" in again.fault.message
    assert counter.reset([(number, 1, None)])[0].fault is None
    assert counter.step([(number, "ab")])[0].fault is None


def test_an_action_over_the_limit_is_refused_and_the_episode_goes_on(load, counter_code):
    worker = load(counter_code, limits=Limits(max_action_chars=10))
    number = begin(worker)
    assert worker.step([(number, "x" * 11)])[0].fault.kind == "contract"
    assert worker.step([(number, "x" * 10)])[0].observation.split()[0] == "10"


@pytest.mark.parametrize("action", ["", "\0", "\ud800 alone", "日本\n🙂", "x" * 100_000])
def test_any_text_is_an_action(counter, action):
    number = begin(counter)
    assert counter.step([(number, action)])[0].observation.split()[0] == str(len(action))


def test_callers_mistakes_are_exceptions(counter):
    number = begin(counter)
    with pytest.raises(ValueError, match="no instance 99"):
        counter.step([(99, "x")])
    with pytest.raises(ValueError, match="only once"):
        counter.step([(number, "x"), (number, "y")])
    with pytest.raises(ValueError, match="seed"):
        counter.reset([(number, -1, None)])
    counter.close()
    with pytest.raises(SandboxError, match="closed"):
        counter.step([(number, "x")])


def test_levels_out_of_range_are_faults_of_create(counter):
    fault = counter.create(17)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.op) == ("exception", "create")
    assert "level must be in" in fault.message


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("def broken(:", "exception", "SyntaxError"),
        ("x = 1", "exception", "no public class"),
        ("import requests", "exception", "No module named 'requests'"),
        ("1 / 0", "exception", "ZeroDivisionError"),
        ("x = 'a' * (1 << 40)", "memory", "MemoryError"),
    ],
)
def test_sources_that_do_not_load(sandbox, code, kind, words):
    fault = sandbox.load(EnvSource(code=code))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.op) == (kind, "load")
    assert words in fault.message


def test_published_shape_is_adapted(load):
    worker = load(
        "import random\n"
        "class DigitEnv:\n"
        "    def reset(self, seed=None):\n"
        "        self.n = random.Random(seed).randint(0, 9)\n"
        "        return 'digit?', {}\n"
        "    def step(self, action):\n"
        "        return 'ok', float(str(self.n) in action), True, False, {}\n"
        "    def solution(self):\n"
        "        return str(self.n)\n"
    )
    assert worker.interface.api == "published-1"
    number = begin(worker)
    answer = worker.solution(number)
    assert answer[0].startswith("\\boxed{")
    outcome = worker.step([(number, answer[0])])[0]
    assert (outcome.reward, outcome.info["success"]) == (1.0, True)


def test_many_instances_are_made_copied_and_asked_at_once(load, counter_code):
    worker = load(counter_code)
    numbers = worker.create_many([0, 2, 1])
    worker.reset([(number, 5, None) for number in numbers])
    assert worker.solutions(numbers) == [["win"]] * 3
    worker.step([(numbers[0], "abc")])
    twins = worker.copies([numbers[0], numbers[0], numbers[1]])
    assert len({*numbers, *twins}) == 6
    shown = [outcome.observation for outcome in worker.step([(n, "ab") for n in twins])]
    assert shown[0] == shown[1]
    assert shown[0].split()[0] == "5"
    assert shown[2].split()[0] == "2"


def test_a_level_that_cannot_be_made_is_the_only_fault_of_many(load, counter_code):
    code = counter_code.replace(
        "    levels = 3", "    def __init__(self, level=0):\n        super().__init__(level=level)"
        "\n        self.inverse = 1 / (level - 1)\n    levels = 3"
    )  # fmt: skip
    made = load(code).create_many([0, 1, 2])
    assert [getattr(number, "kind", None) for number in made] == [None, "exception", None]


def test_a_solution_that_hangs_is_blamed_and_the_rest_is_not_tried(load, counter_code):
    code = counter_code.replace(
        'return ["win"]',
        'if self.goal % 2:\n            while True:\n                pass\n        return ["win"]',
    )
    worker = load(code, limits=Limits(reset_timeout_s=1.0, step_timeout_s=1.0, memory_mb=256))
    numbers = worker.create_many([0] * 6)
    starts = worker.reset([(number, number, None) for number in numbers])
    odd = [outcome.info["goal"] % 2 == 1 for outcome in starts]
    assert True in odd
    first = odd.index(True)
    answers = worker.solutions(numbers)
    assert answers[:first] == [["win"]] * first
    assert {answer.kind for answer in answers[first:]} == {"timeout"}


def test_a_worker_that_does_not_spin_answers_the_same(load, counter_code):
    shown = []
    for spin in (True, False):
        worker = load(counter_code, spin=spin)
        (number,) = worker.create_many([0])
        worker.reset([(number, 5, None)])
        shown.append(worker.step([(number, "abc")])[0].observation)
    assert shown[0] == shown[1]
