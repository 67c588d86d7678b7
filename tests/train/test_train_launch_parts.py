import errno
import io
import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from spade_envs.design.clients import CompletionRequest
from spade_envs.errors import ClientError, ConfigError
from spade_envs.store import open_store, starter_path
from spade_envs.types import EnvSource, Message
from spade_train.cli import main
from spade_train.cli.progress import Progress
from spade_train.config import resolve
from spade_train.engines import Sampled
from spade_train.launch.auditor import PolicyClient, audited
from spade_train.launch.folder import open_folder
from spade_train.launch.heldout import open_heldout, write_heldout
from spade_train.launch.run import _in_turn, _pool
from spade_train.launch.signals import Interrupts
from spade_train.launch.summary import summarise
from spade_train.runs import Events, Metrics
from spade_train.tokens import ChatFormat, Window
from train.token_formats import SMOLLM2, byte_pairs


class Parrot:
    """An engine that says the same to everybody."""

    def __init__(self, tokenizer, said):
        self.ids = (*tokenizer.encode(said, add_special_tokens=False), tokenizer.eos_token_id)
        self.forgotten = []

    def sample(self, requests):
        self.requests = list(requests)
        return [
            Sampled(self.ids[: r.max_tokens], (-1.0,) * len(self.ids[: r.max_tokens]))
            for r in requests
        ]

    def forget(self, keys):
        self.forgotten += keys


def test_held_out_programs_are_certified_once_and_read_again(tmp_path):
    store = write_heldout(tmp_path / "held", count=3, seed=11, setting="games")
    records = store.records()
    assert 1 <= len(records) <= 3
    assert {record.kind for record in records} == {"text"}
    before = (tmp_path / "held" / "heldout.json").stat().st_mtime_ns
    write_heldout(tmp_path / "held", count=3, seed=11, setting="games")
    assert (tmp_path / "held" / "heldout.json").stat().st_mtime_ns == before
    with pytest.raises(ConfigError, match="holds other held-out environments"):
        write_heldout(tmp_path / "held", count=4, seed=11, setting="games")
    shared = resolve("quickstart", settings=[f"evaluation.source={tmp_path / 'held'}"])
    held = open_heldout(shared, tmp_path / "unused").held
    assert {env.digest for env in held.envs} == {record.digest for record in records}
    assert not any(env.group in ("", "text") for env in held.envs)
    one = [f"pool.source={tmp_path / 'held'}", f"pool.ids={records[0].id}"]
    pool = resolve("quickstart", overlays=["fixed-pool"], settings=[*one, "evaluation.source=pool"])
    found = open_heldout(pool, tmp_path / "unused").held.envs
    assert [env.digest for env in found] == [records[0].digest]


@pytest.mark.parametrize(
    "noted",
    [
        "{",
        "[]",
        '{"asked": {}}',
        '{"asked": {}, "envs": [{"digest": "d", "group": "g"}]}',
        '{"asked": {}, "envs": [{"digest": "d", "levels": "two", "group": "g"}]}',
        '{"asked": {}, "envs": [{"digest": "d", "levels": 0, "group": "g"}]}',
    ],
)
def test_a_damaged_note_of_what_is_held_out_is_named(noted, tmp_path):
    file = open_store(tmp_path / "held", create=True).root / "heldout.json"
    file.write_text(noted)
    with pytest.raises(ConfigError, match=r"heldout\.json is damaged.*put it back"):
        write_heldout(tmp_path / "held", count=3, seed=11, setting="games")


@pytest.mark.parametrize(("setting", "number"), [("games", 12), ("tools", 6), ("mixed", 18)])
def test_held_out_families_are_those_that_can_be_learnt(tmp_path, monkeypatch, setting, number):
    asked = []
    monkeypatch.setattr(
        "spade_train.launch.heldout._certified", lambda *place: asked.append(place[2])
    )
    write_heldout(tmp_path / "held", count=3 * number, seed=11, setting=setting)
    names = {family.name for family, _ in asked}
    assert len(names) == number
    assert not names & {"power", "series", "grid", "knapsack"}
    assert all(family.least > 0 for family, _ in asked)
    # Each family comes three times, once with each challenge.
    assert len({(family.name, challenge) for family, challenge in asked}) == 3 * number


def test_a_pool_may_be_evaluated_on_further_instances(tmp_path):
    own = ["pool.source=starter", "evaluation.source=pool"]
    config = resolve("paper-games-4b", overlays=["fixed-pool"], settings=own)
    held = open_heldout(config, tmp_path)
    _, pool = _pool(config, held)
    assert len(pool) == 12
    assert {env.digest for env in pool} == held.held.digests
    apart = resolve("paper-games-4b", overlays=["fixed-pool"], settings=own[:1])
    with pytest.raises(ConfigError, match="not held out"):
        _pool(apart, open_heldout(apart, tmp_path))


def test_the_bundled_store_is_held_out_by_kind(tmp_path):
    games = resolve("paper-games-4b")
    found = open_heldout(games, tmp_path)
    records = open_store(starter_path()).records()
    assert {env.digest for env in found.held.envs} == {
        record.digest for record in records if record.kind == "text" and record.withdrawn is None
    }
    none = resolve("paper-games-4b", settings=["evaluation.episodes=0"])
    assert open_heldout(none, tmp_path).held.envs == ()


def test_the_first_signal_is_noted_and_the_second_one_kills(caplog):
    with Interrupts() as interrupts:
        assert interrupts.reason() == ""
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.reason() == "signal SIGINT"
        assert [each.message for each in caplog.records] == [
            "ending after the update under way; Ctrl-C again ends at once"
        ]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_summary_adds_up_what_still_holds(tmp_path):
    events = Events(tmp_path / "events.jsonl")
    metrics = Metrics(tmp_path / "metrics.jsonl")
    for update in range(2):
        events.note("times", update, wall_s=4.0, model_s=3.0, play_s=0.5)
        metrics.log(update, {"agent/success": update / 4})
    events.note("resumed", 0)
    events.note("times", 1, wall_s=6.0, model_s=3.0, play_s=0.5)
    events.note("stopped", 1, why="updates")
    events.close()
    metrics.close()
    summary = summarise(tmp_path)
    assert summary.updates == 2
    assert summary.seconds == {"wall_s": 10.0, "model_s": 6.0, "play_s": 1.0}
    assert summary.outside_model == 0.4
    assert summary.last == {"agent/success": 0.25}
    assert summary.stopped == "updates"


def test_the_view_shows_the_last_numbers_and_the_time_left():
    from rich.console import Console

    progress = Progress(Path("somewhere"), resolve("quickstart"), shown=False)
    progress.show(0, {"agent/success": 0.25, "eval/success": 0.5})
    progress.show(1, {"agent/success": 0.375})
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(progress._table(1, progress._first[1] + 3.0))
    text = console.export_text()
    assert "2 of 100, 4 min 54 s left" in text
    assert "37.5%" in text
    assert "held-out success" in text
    assert "50.0%" in text


def test_without_a_terminal_each_update_is_a_line(capsys):
    config = resolve("quickstart", settings=["run.updates=2"])
    progress = Progress(Path("somewhere"), config, shown=False, lines=True)
    trained = {"train/learning_rate": 1e-3}
    progress.show(0, {"agent/success": 0.25, "eval/success": 0.5, **trained})
    progress.show(1, {"agent/success": 0.375, "agent/regret": -0.125, **trained})
    progress.show(2, {"designer/score": 0.5, **trained})  # designs that waited for their scores
    progress.show(3, {"eval/success": 0.75})
    assert capsys.readouterr().err.splitlines() == [
        "update 1 of 2: success 0.25, held-out 0.50",
        "update 2 of 2: success 0.38, regret -0.12",
        "update 3",
        "last evaluation: held-out 0.75",
    ]


def test_lines_that_nobody_reads_end_no_training(monkeypatch):
    said = []

    def closed(*words, **named):
        said.append(words)
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("spade_train.cli.progress.click.echo", closed)
    progress = Progress(Path("somewhere"), None, shown=False, lines=True)
    for update in range(3):
        progress.show(update, {"train/learning_rate": 1e-3})
    assert said == [("update 1",)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a preset or a file"),
        (["quickstart", "--out", "a", "--resume", "b"], "give --out for a new run or --resume"),
        (["--resume", "b", "--set", "run.seed=1"], "need the PRESET or FILE"),
        (["quikstart"], "did you mean 'quickstart'"),
        (["quickstart", "--set", "name=../x"], "'../x' is no name of a folder; give the folder by"),
        (["quickstart", "--set", "name=/x/y"], "'/x/y' is no name of a folder; give the folder by"),
        (["quickstart", "--set", "name=.."], "'..' is no name of a folder; give the folder by"),
    ],
)
def test_wrong_usage_of_run_is_named(arguments, said):
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (errno.ENOSPC, 3, "error: [Errno 28] No space left on device: '/full/x'\n"),
        (errno.EACCES, 3, "error: [Errno 13] Permission denied: '/full/x'\n"),
        (errno.EPIPE, 1, ""),
    ],
)
def test_an_error_of_the_disk_is_one_line(number, code, told, monkeypatch):
    def fails(*_, **__):
        raise OSError(number, os.strerror(number), "/full/x")

    monkeypatch.setattr("spade_train.config.resolve", fails)
    for words in (["run", "quickstart"], ["config", "quickstart"]):
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, done.stderr) == (code, told)


def test_the_time_in_which_an_exam_samples_is_counted():
    tokenizer = byte_pairs(SMOLLM2)
    form = ChatFormat.of(tokenizer, window=Window(tokens=600, turn_tokens=50))
    engine, inside, samples = Parrot(tokenizer, "four"), [], []

    @contextmanager
    def timed():
        inside.append("begun")
        yield
        inside.append("over")

    told = engine.sample
    engine.sample = lambda requests: (samples.append(list(inside)), told(requests))[1]
    asked = CompletionRequest(messages=(Message("user", "2 + 2"),), seed=0)
    client = PolicyClient(engine, form, "me", timed=timed)
    assert [answer.text for answer in client.complete_many([asked])] == ["four"]
    assert (samples, inside) == ([["begun"]], ["begun", "over"])


def test_the_policy_remarks_on_sources_and_its_tokens_are_counted():
    tokenizer = byte_pairs(SMOLLM2)
    form = ChatFormat.of(tokenizer, window=Window(tokens=6000, turn_tokens=500))
    engine = Parrot(
        tokenizer,
        '{"remarks": [{"kind": "unreachable", "line": 1, "quote": "x = 1", "explanation": "no"}]}',
    )
    client = PolicyClient(engine, form, "me")
    found = audited([EnvSource(code="x = 1\n"), EnvSource(code="y = 2\n")], client)
    assert [audit.status for audit in found.audits] == ["audited", "audited"]
    assert [len(audit.remarks) for audit in found.audits] == [1, 0]
    assert found.audits[1].dropped == 1
    assert found.tokens == 2 * len(engine.ids)
    assert engine.forgotten == [request.key for request in engine.requests]
    long = CompletionRequest(messages=(Message("user", "x" * 9000),), seed=0)
    assert isinstance(client.complete_many([long])[0], ClientError)


class _Main:
    """The main process of two; what it tells the other is kept."""

    rank = 0

    def __init__(self):
        self.told = []

    def gather(self, value):
        self.told.append(value)
        return [value, None]


@pytest.mark.parametrize("error", [ConfigError("wrong"), OSError(errno.ENOSPC, "full")])
def test_the_others_are_told_that_the_main_process_cannot_go_on(error):
    world = _Main()

    def fails():
        raise error

    with pytest.raises(type(error)):
        _in_turn(world, fails)
    assert world.told == [False]
    assert _in_turn(world, lambda: 7) == 7
    assert world.told == [False, True]


def test_the_others_are_told_that_a_folder_cannot_be_opened(tmp_path, monkeypatch):
    world = _Main()

    def full(path, config):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("spade_train.launch.folder.RunDir.create", full)
    with pytest.raises(OSError, match="full"):
        open_folder(tmp_path / "run", resolve("quickstart"), resume=False, world=world)
    assert world.told == [None]


def test_a_folder_that_cannot_be_made_is_told_before_a_model_is_loaded(tmp_path, monkeypatch):
    asked = os.access
    monkeypatch.setattr(
        "os.access", lambda path, *a, **k: path != tmp_path and asked(path, *a, **k)
    )
    monkeypatch.setattr("spade_train.launch.train", lambda *_, **__: 1 / 0)
    done = CliRunner().invoke(main, ["run", "quickstart", "--out", str(tmp_path / "run")])
    assert done.exit_code == 3
    assert "may not be entered; give yourself the right" in done.output
