import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import Completion
from spade_train.config import resolve
from spade_train.launch.exams import Exams, metric_name
from spade_train.runs.records import Metrics
from spade_train.suites.registry import open_spec, read_settings
from train.suites.sums import solve

SPEC = "train.suites.sums:make,count=6"


class Model:
    name = "model"

    def __init__(self):
        self.requests = []

    def complete_many(self, requests):
        self.requests += requests
        return [Completion(text=solve(r.messages), model="model") for r in requests]

    complete = None


def config(*settings):
    return resolve("quickstart", settings=("agent.sampling.max_tokens=12", *settings))


def test_a_run_plays_the_first_tasks_of_its_benchmarks_alike_every_time():
    model = Model()
    setting = config(f'evaluation.suites=["{SPEC}"]', "evaluation.suite_tasks=3")
    exams = Exams(setting, model)
    first, asked = dict(exams(0)), len(model.requests)
    assert first == {
        "eval/suite/sums": pytest.approx(1 / 3),
        "eval/suite/sums/large": 0.0,
        "eval/suite/sums/small": 1.0,
    }
    assert {(r.max_tokens, r.temperature) for r in model.requests} == {(12, 0.0)}
    assert exams(8) == first
    assert model.requests[asked:] == model.requests[:asked]
    exams.close()


def test_two_settings_of_one_benchmark_have_figures_of_their_own():
    setting = config(f'evaluation.suites=["{SPEC}", "{SPEC[:-1]}3"]', "evaluation.suite_tasks=6")
    exams = Exams(setting, Model())
    found = exams(0)
    exams.close()
    assert found["eval/suite/sums"] == 0.5
    assert found["eval/suite/sums-2"] == pytest.approx(1 / 3)
    assert {"eval/suite/sums/large", "eval/suite/sums-2/large"} <= found.keys()


def test_a_run_without_benchmarks_plays_none():
    model = Model()
    assert Exams(config(), model)(0) == {}
    assert model.requests == []


def test_a_benchmark_that_is_not_there_stops_the_run_at_its_start():
    with pytest.raises(ConfigError, match="no suite 'nope'"):
        Exams(config('evaluation.suites=["nope"]'), Model())


def test_settings_are_read_as_json_where_they_are():
    assert read_settings(["a=1", "b=x=y", 'c=["d"]']) == {"a": 1, "b": "x=y", "c": ["d"]}
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        read_settings(["a"])
    suite = open_spec('heldout,store=starter,ids=["herbarium-index","kiln-schedule"],levels=0')
    assert {task.detail["env"].split("/")[1].rpartition("-")[0] for task in suite.tasks()} == {
        "herbarium-index",
        "kiln-schedule",
    }
    suite.close()


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("level 0", "level-0"),
        ("Reasoning Gym (hard)", "reasoning-gym-hard"),
        ("miss_func", "miss_func"),
        ("AIME-24.", "aime-24"),
        ("大", "other"),
    ],
)
def test_every_group_is_a_metric_that_a_run_can_keep(tmp_path, group, name):
    assert metric_name(group) == name
    Metrics(tmp_path / "metrics.jsonl").log(0, {f"eval/suite/sums/{name}": 0.5})
