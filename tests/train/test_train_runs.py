import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.errors import ConfigError, MissingExtra
from spade_train.config import resolve
from spade_train.config.learning import Budget
from spade_train.errors import DataError, StateError
from spade_train.runs import (
    Events,
    Metrics,
    RunDir,
    Spent,
    effective,
    open_sinks,
    read_events,
    read_metrics,
)
from spade_train.runs.directory import read_run
from spade_train.runs.jsonl import JsonLines, read_lines
from spade_train.types import as_json, from_json

CONFIG = resolve("quickstart", settings=["run.keep_checkpoints=2"])


def start(path, config=CONFIG):
    return RunDir.create(path / "run", config)


def test_lines_are_whole_or_absent_wherever_a_writer_died(tmp_path):
    path = tmp_path / "x.jsonl"
    whole = b'{"update": 0}\n{"update": 1, "a": "\\u00e9\\n"}\n'
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = JsonLines(path)
        lines.append({"update": 7})
        lines.close()
        left = whole[:cut].count(b"\n")
        assert [line["update"] for line in read_lines(path)] == [*range(left), 7]


def test_a_long_torn_line_is_healed(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"update": 0}\n' + b"x" * 200_000)
    assert [line["update"] for line in read_lines(path)] == [0]
    JsonLines(path).close()
    assert path.read_bytes() == b'{"update": 0}\n'
    path.write_bytes(b"y" * 70_000)
    JsonLines(path).close()
    assert path.read_bytes() == b""


@settings(max_examples=40, deadline=None)
@given(updates=st.lists(st.integers(0, 20), max_size=12).map(sorted), back=st.integers(-1, 21))
def test_metrics_are_kept_through_an_update(tmp_path_factory, updates, back):
    path = tmp_path_factory.mktemp("m") / "x.jsonl"
    lines = JsonLines(path)
    for update in updates:
        lines.append({"update": update, "v": update / 3})
    before = path.read_bytes().splitlines(keepends=True)
    dropped = lines.keep_through(back)
    kept = [update for update in updates if update <= back]
    assert dropped == len(updates) - len(kept)
    assert path.read_bytes() == b"".join(before[: len(kept)])
    lines.append({"update": 99})
    assert [line["update"] for line in read_lines(path)] == [*kept, 99]
    lines.close()


def test_a_whole_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "x.jsonl"
    for line in (b"garbage", b"[1]", b'{"a": 1}', b'{"update": "x"}', b"[" * 9000):
        path.write_bytes(b'{"update": 0}\n' + line + b"\n")
        with pytest.raises(StateError, match="line 2 is no record"):
            list(read_lines(path))


def test_numbers_keep_every_digit_and_what_is_not_finite_becomes_null(tmp_path):
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.log(0, {"loss": 0.1 + 0.2, "agent/success": np.float64(1 / 3), "n": np.int64(2**60)})
    metrics.log(3, {"loss": float("nan"), "agent/kl": np.inf})
    metrics.close()
    assert read_metrics(tmp_path / "metrics.jsonl") == (
        {"update": 0, "loss": 0.1 + 0.2, "agent/success": 1 / 3, "n": 2**60},
        {"update": 3, "loss": None, "agent/kl": None},
    )


def test_metrics_come_in_order_and_under_plain_names(tmp_path):
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.log(4, {"a": 1.0})
    with pytest.raises(DataError, match="update 4 come after those of 4"):
        metrics.log(4, {"a": 1.0})
    for name in ("Loss", "a b", "", "a/", "update"):
        with pytest.raises(DataError, match="no name of a metric"):
            metrics.log(5, {name: 1.0})
    metrics.close()
    again = Metrics(tmp_path / "metrics.jsonl")
    with pytest.raises(DataError, match="come after"):
        again.log(4, {})
    assert again.keep_through(1) == 1
    again.log(2, {"a": 2.0})
    again.close()
    assert read_metrics(tmp_path / "metrics.jsonl") == ({"update": 2, "a": 2.0},)


def test_events_that_a_resume_went_back_behind_no_longer_hold(tmp_path):
    events = Events(tmp_path / "events.jsonl")
    for update in range(4):
        events.note("played", update, run="first")
    events.note("resumed", 1)
    for update in (2, 3):
        events.note("played", update, run="second")
    events.close()
    kept = effective(read_events(tmp_path / "events.jsonl"))
    assert [(each["kind"], each["update"], each.get("run")) for each in kept] == [
        ("played", 0, "first"), ("played", 1, "first"), ("resumed", 1, None),
        ("played", 2, "second"), ("played", 3, "second"),
    ]  # fmt: skip
    begun = [
        {"kind": "designed", "update": -1, "env": "a"},
        {"kind": "played", "update": 0},
        {"kind": "resumed", "update": -1, "checkpoint": 0},
        {"kind": "designed", "update": -1, "env": "a"},
    ]
    assert effective(begun) == tuple(begun[2:])  # from the beginning, the pool too
    with pytest.raises(DataError, match="not an event"):
        Events(tmp_path / "other.jsonl").note("Odd kind", 0)
    with pytest.raises(DataError, match="not an event"):
        Events(tmp_path / "other.jsonl").note("fine", 0, unix_s=3)


def test_a_full_disk_leaves_no_torn_line(tmp_path, monkeypatch):
    lines = JsonLines(tmp_path / "x.jsonl")
    lines.append({"update": 0})
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
    with pytest.raises(StateError, match="the disk is full"):
        lines.append({"update": 1})
    monkeypatch.undo()
    lines.append({"update": 2})
    assert [line["update"] for line in read_lines(tmp_path / "x.jsonl")] == [0, 2]


def test_a_run_folder_is_made_once_and_taken_up_again(tmp_path):
    with start(tmp_path) as run:
        run.events.note("started", 0)
        run.metrics.log(0, {"loss": 1.0})
        assert run.store_path == tmp_path / "run" / "envstore"
        assert read_run(run.path) == (run.run, CONFIG)
        with pytest.raises(StateError, match="another process is training"):
            RunDir.resume(run.path)
    with pytest.raises(ConfigError, match="go on with --resume"):
        start(tmp_path)
    again, checkpoint = RunDir.resume(tmp_path / "run")
    assert checkpoint is None
    assert (again.run, again.config) == (run.run, CONFIG)
    again.metrics.log(0, {"loss": 1.0})
    again.close()
    assert len(read_metrics(tmp_path / "run" / "metrics.jsonl")) == 1


def test_a_resume_goes_back_to_the_checkpoint(tmp_path):
    with start(tmp_path) as run:
        for update in range(5):
            run.metrics.log(update, {"loss": update / 7})
            if update == 2:
                with run.stage(update + 1) as stage:
                    stage.put("rng", b"state")
    leftover = run.path / "checkpoints" / ".staging" / "of-a-killed-writer"
    leftover.mkdir()
    again, checkpoint = RunDir.resume(tmp_path / "run")
    with again:
        assert (checkpoint.update, checkpoint.bytes("rng")) == (3, b"state")
        assert not leftover.exists()
        assert [line["update"] for line in read_metrics(run.path / "metrics.jsonl")] == [0, 1, 2]
        again.metrics.log(3, {"loss": 9.0})
    last = read_events(run.path / "events.jsonl")[-1]
    assert (last["kind"], last["update"], last["dropped_metrics"]) == ("resumed", 2, 2)


def test_only_what_changes_no_result_may_change_at_a_resume(tmp_path):
    start(tmp_path).close()
    longer = resolve("quickstart", settings=["run.updates=500", "budget.agent_episodes=9"])
    again, _ = RunDir.resume(tmp_path / "run", longer)
    again.close()
    assert again.checkpoints.keep == 2
    assert read_run(tmp_path / "run")[1] == longer
    other = resolve("quickstart", settings=["run.seed=1", "loss.kl=0.1", "rollout.workers=3"])
    with pytest.raises(ConfigError, match=r"cannot go on with another loss\.kl, run\.seed"):
        RunDir.resume(tmp_path / "run", other)
    RunDir.resume(tmp_path / "run")[0].close()  # the refusal let go of the lock


def test_a_falling_learning_rate_fixes_the_number_of_updates(tmp_path):
    falling = ["optimizer.schedule=linear", "run.updates=10"]
    start(tmp_path, resolve("quickstart", settings=falling)).close()
    with pytest.raises(ConfigError, match=r"with another run\.updates"):
        RunDir.resume(
            tmp_path / "run", resolve("quickstart", settings=[*falling, "run.updates=11"])
        )


def test_a_run_that_died_while_it_was_made_is_made_anew(tmp_path):
    start(tmp_path).close()
    for name in ("run.json", "events.jsonl", "metrics.jsonl"):
        (tmp_path / "run" / name).unlink()
    other = resolve("quickstart", settings=["run.seed=8"])
    start(tmp_path, other).close()
    assert read_run(tmp_path / "run")[1] == other


def test_folders_that_are_no_runs_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="holds no run"):
        RunDir.resume(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/run"):
        with pytest.raises(ConfigError, match="is no folder, or below a file; name another"):
            RunDir.create(tmp_path / place, resolve("quickstart"))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("x")
    with pytest.raises(ConfigError, match=r"not empty \(it has thesis.txt\)"):
        start(tmp_path)
    (tmp_path / "run" / "thesis.txt").unlink()
    start(tmp_path).close()
    marker = tmp_path / "run" / "run.json"
    good = json.loads(marker.read_text())
    for change, words in (({"format": 2}, "format 2"), ({"run": "../x"}, "no marker of a run")):
        marker.write_text(json.dumps(good | change))
        with pytest.raises(StateError, match=words):
            RunDir.resume(tmp_path / "run")
    marker.write_text("{")
    with pytest.raises(StateError, match="not valid JSON"):
        RunDir.resume(tmp_path / "run")


def test_budgets_count_both_arms_and_everything_that_is_written():
    first = Spent(plain_episodes=6, hinted_episodes=3, plain_tokens=60, hinted_tokens=30)
    spent = first + Spent(plain_episodes=1, completions=2, designer_tokens=500, hint_tokens=10)
    assert (spent.agent_episodes, spent.generated_tokens, spent.completions) == (10, 600, 2)
    assert spent.reached(Budget()) == ""
    assert spent.reached(Budget(agent_episodes=11, generated_tokens=601)) == ""
    assert spent.reached(Budget(agent_episodes=10)) == "agent_episodes"
    assert spent.reached(Budget(agent_episodes=11, generated_tokens=600)) == "generated_tokens"
    assert spent.share(Budget(agent_episodes=40, generated_tokens=1000)) == 0.6
    assert spent.share(Budget()) == 0.0
    assert spent.as_budget() == Budget(agent_episodes=10, generated_tokens=600)
    assert from_json(Spent, json.loads(json.dumps(as_json(spent)))) == spent
    with pytest.raises(DataError, match=">= 0"):
        Spent(hint_tokens=-1)


@pytest.mark.parametrize(
    ("setting", "module", "command"),
    [
        ("sinks.tensorboard=true", "tensorboard", "spade-envs[train]"),
        ("sinks.wandb=team", "wandb", "spade-envs[wandb]"),
        ("sinks.trackio=team", "trackio", "spade-envs[trackio]"),
    ],
)
def test_a_sink_that_is_not_installed_says_how_to_get_it(
    tmp_path, monkeypatch, setting, module, command
):
    monkeypatch.setitem(sys.modules, module, None)
    config = resolve("quickstart", settings=[setting])
    with pytest.raises(MissingExtra) as caught:
        open_sinks(config, tmp_path, "0" * 32)
    assert module in str(caught.value)
    assert command in str(caught.value)
    assert open_sinks(CONFIG, tmp_path, "0" * 32) == ()


@pytest.mark.parametrize("module", ["wandb", "trackio"])
def test_trackers_get_the_configuration_and_finite_numbers(tmp_path, monkeypatch, module):
    seen = []

    class Run:
        def log(self, values, *, step):
            seen.append((step, values))

        def finish(self):
            seen.append("finished")

    def init(**settings):
        seen.append(settings)
        return Run()

    fake = ModuleType(module)
    fake.init = init
    monkeypatch.setitem(sys.modules, module, fake)
    (sink,) = open_sinks(
        resolve("quickstart", settings=[f"sinks.{module}=team"]), tmp_path, "ab" * 16
    )
    sink.log(3, {"loss": 0.5, "kl": float("nan")})
    sink.close()
    asked, *rest = seen
    assert (asked["project"], asked["name"], asked["resume"]) == (
        "team", "quickstart-abababab", "allow",
    )  # fmt: skip
    assert asked["config"]["optimizer"]["learning_rate"] == 8e-4
    assert asked.get("id") == ("ab" * 16 if module == "wandb" else None)
    assert rest == [(3, {"loss": 0.5}), "finished"]


def test_runs_need_no_model_library():
    code = (
        "import sys, spade_train.runs, spade_train.config\n"
        "print([name for name in ('torch', 'transformers', 'wandb') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "[]", run.stderr


@pytest.mark.parametrize(
    "line", ['{"update": 0}', '{"update": 0, "kind": 3, "unix_s": 1}', '{"update": 0, "kind": "x"}']
)
def test_a_line_that_is_no_event_is_named(line, tmp_path):
    events = Events(tmp_path / "events.jsonl")
    events.note("stopped", 0)
    events.close()
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(StateError, match="line 2 is no event; cut the file there"):
        read_events(tmp_path / "events.jsonl")
