"""The quickstart around a trainer that only writes records."""

import shutil
import signal

import pytest
from click.testing import CliRunner

from spade_envs.errors import ConfigError
from spade_train.cli import main
from spade_train.config import to_toml
from spade_train.launch import summarise
from spade_train.reports import read
from spade_train.runs import RunDir
from spade_train.studies import quickstart as module
from train.reports.kit_runs import event, make_run, write_lines


def now():
    return "today"


class FakeTrainer:
    """Does updates as a run does: one number each, SIGTERM ends it, the last one is evaluated."""

    def __init__(self, slow=()):
        self.calls, self.slow, self.clock, self.evaluation_s = [], set(slow), 0.0, 0.0

    def __call__(self, config, out, *, resume, watch):
        self.calls.append((config.run.updates, resume))
        if resume:
            done = read(out).updates
            RunDir.resume(out, config)[0].close()  # refuses what may not change
        else:
            note = event("evaluated", 0, wall_s=self.evaluation_s)
            shutil.rmtree(make_run(out, updates=1, seed=config.run.seed) / "envstore")
            (out / "config.toml").write_text(to_toml(config))
            write_lines(out / "events.jsonl", [note])
            done = 0
        caught = []
        before = signal.signal(signal.SIGTERM, lambda *_: caught.append(1))
        try:
            for update in range(done, config.run.updates):
                self.clock += 1000.0 if update in self.slow else 1.0
                values = {"agent/success": 0.5, "train/learning_rate": 0.1}
                if watch is not None:
                    watch(update, values if update else values | {"eval/success": 0.4})
                done = update + 1
                if caught:
                    break
        finally:
            signal.signal(signal.SIGTERM, before)
        lines = [{"update": update, "train/loss": 0.0} for update in range(done)]
        ended = "signal SIGTERM" if caught else "updates"
        if not caught:
            lines.append({"update": done, "eval/success": 0.5, "eval/success_se": 0.01})
        write_lines(out / "metrics.jsonl", lines)
        times = [event("times", update, wall_s=1.0) for update in range(done)]
        times.append(event("evaluated", 0, wall_s=self.evaluation_s))
        write_lines(out / "events.jsonl", [*times, event("stopped", done, why=ended)])
        return summarise(out)


@pytest.fixture
def trainer(monkeypatch):
    found = FakeTrainer()
    monkeypatch.setattr(module, "train", found)
    monkeypatch.setattr(module.time, "monotonic", lambda: found.clock)
    return found


def test_it_trains_reports_and_is_done(trainer, tmp_path):
    out = tmp_path / "q"
    done = module.quickstart(out, minutes=10, made_at=now, updates=4)
    assert (done.finished, done.was_finished, done.figures.updates) == (True, False, 4)
    assert done.page.read_text().count("<figure") == 26
    again = module.quickstart(out, minutes=10, made_at=now, updates=4)
    assert (again.was_finished, trainer.calls) == (True, [(4, False)])
    more = module.quickstart(out, minutes=10, made_at=now, updates=6)
    assert (more.figures.updates, trainer.calls[1:]) == (6, [(6, True)])
    with pytest.raises(ConfigError, match=r"another run\.seed"):
        module.quickstart(out, minutes=10, made_at=now, updates=9, seed=1)


def test_the_clock_makes_the_update_under_way_the_last(trainer, tmp_path):
    trainer.slow = {2}
    done = module.quickstart(tmp_path / "q", minutes=10, made_at=now, updates=50)
    assert trainer.calls == [(50, False), (3, True)]
    assert (done.finished, done.figures.updates, done.figures.planned_updates) == (True, 3, 50)
    assert done.figures.held_out.last == 0.5
    assert "3 of at most 50 updates; ended: its time was over ·" in done.page.read_text()
    assert module.quickstart(tmp_path / "q", minutes=10, made_at=now).was_finished


def test_time_is_kept_for_the_next_update_and_the_last_evaluation(trainer, tmp_path):
    trainer.evaluation_s = 500.0
    done = module.quickstart(tmp_path / "q", minutes=10, made_at=now, updates=90)
    # 600 s less 30, less 500: at update 69 the clock says 70, and one more second does not fit
    assert done.figures.updates == 70


def test_an_interrupted_one_is_gone_on_with(trainer, tmp_path, monkeypatch):
    def interrupt(update, values):
        if update == 1:
            signal.raise_signal(signal.SIGTERM)

    out = tmp_path / "q"
    done = module.quickstart(out, minutes=10, made_at=now, updates=5, watch=interrupt)
    assert (done.finished, done.figures.updates) == (False, 2)
    done = module.quickstart(out, minutes=10, made_at=now)
    assert (done.finished, done.figures.updates) == (True, 5)  # the length of the folder's run


def test_the_command(trainer, tmp_path):
    out = tmp_path / "q"
    done = CliRunner().invoke(main, ["quickstart", "--out", str(out), "--updates", "6"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == str(out / "report.html")
    assert "Held-out success is 50.0 % ± 1.0, measured once." in done.stdout
    told = [line for line in done.stderr.splitlines() if line.startswith("update ")]
    assert told == [
        "update 1 of at most 6: success 0.50, held-out 0.40",
        "update 5 of at most 6: success 0.50",
    ]
    done = CliRunner().invoke(
        main, ["quickstart", "--out", str(out), "--seed", "3", "--updates", "9"]
    )
    assert (done.exit_code, "another run.seed" in done.stderr) == (2, True)
