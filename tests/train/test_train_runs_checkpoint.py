import builtins
import io
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_train.config import resolve
from spade_train.errors import StateError
from spade_train.runs import Checkpoints, RunDir, read_metrics

RUN = "a" * 32
PARTS = {"model": b"weights" * 1000, "memory.json": b"{}", "rng": b""}


def at(folder, *, run=RUN, keep=2):
    return Checkpoints(folder / "checkpoints", run=run, keep=keep)


def test_parts_come_back_as_they_were(tmp_path):
    (tmp_path / "hf" / "deep").mkdir(parents=True)
    (tmp_path / "hf" / "deep" / "model.bin").write_bytes(b"\0\1")
    (tmp_path / "one.bin").write_bytes(b"one")
    saved = at(tmp_path).save(4, {**PARTS, "hf": tmp_path / "hf", "one": tmp_path / "one.bin"})
    loaded = at(tmp_path).latest()
    assert loaded == saved
    assert {name: loaded.bytes(name) for name in PARTS} == PARTS
    assert (loaded.part("hf") / "deep" / "model.bin").read_bytes() == b"\0\1"
    assert (loaded.update, loaded.bytes("one")) == (4, b"one")
    assert loaded.files == ("hf/deep/model.bin", "memory.json", "model", "one", "rng")
    with pytest.raises(StateError, match=r"has no part 'optimizer'; it has hf, memory\.json"):
        loaded.part("optimizer")
    with pytest.raises(StateError, match="is a folder"):
        loaded.bytes("hf")


@settings(max_examples=25, deadline=None)
@given(
    parts=st.dictionaries(
        st.from_regex(r"[a-z0-9][a-z0-9_\-.]{0,12}", fullmatch=True).filter(
            lambda name: name != "manifest.json"
        ),
        st.binary(max_size=200),
        min_size=1,
        max_size=4,
    ),
    update=st.integers(0, 10**9),
)
def test_any_parts_survive(tmp_path_factory, parts, update):
    checkpoints = at(tmp_path_factory.mktemp("c"))
    checkpoints.save(update, parts)
    loaded = checkpoints.latest()
    assert loaded.update == update
    assert {name: loaded.bytes(name) for name in loaded.files} == parts


def test_the_last_ones_are_kept(tmp_path):
    checkpoints = at(tmp_path, keep=3)
    assert checkpoints.latest() is None
    for update in (1, 5, 9, 10, 200_000_000):
        checkpoints.save(update, PARTS)
    assert checkpoints.updates() == (9, 10, 200_000_000)
    assert checkpoints.load(9).bytes("model") == PARTS["model"]
    with pytest.raises(StateError, match="no checkpoint of update 5; there is 9, 10, 200000000"):
        checkpoints.load(5)
    with pytest.raises(StateError, match="has a checkpoint of update 200000000; cannot save 10"):
        checkpoints.save(10, PARTS)


def test_a_stage_that_fails_leaves_nothing(tmp_path):
    checkpoints = at(tmp_path)
    checkpoints.save(1, PARTS)
    with pytest.raises(FileNotFoundError):
        checkpoints.save(2, {"model": b"half", "missing": tmp_path / "missing"})
    with pytest.raises(StateError, match="at least one part"):
        checkpoints.save(2, {})
    for name in ("../x", "", "Model", "manifest.json", "a/b"):
        with pytest.raises(StateError, match="no name of a part"):
            checkpoints.save(2, {name: b"x"})
    with pytest.raises(StateError, match="neither a file nor a folder"):
        stage_link(checkpoints)
    assert checkpoints.updates() == (1,)
    assert os.listdir(tmp_path / "checkpoints" / ".staging") == []


def stage_link(checkpoints):
    with checkpoints.stage(2) as stage:
        os.symlink("/etc/hostname", stage.path("link"))


def test_links_in_a_folder_are_saved_as_what_they_point_to(tmp_path):
    (tmp_path / "blob").write_bytes(b"weights")
    (tmp_path / "snapshot").mkdir()
    os.symlink(tmp_path / "blob", tmp_path / "snapshot" / "model.bin")
    saved = at(tmp_path).save(1, {"model": tmp_path / "snapshot"})
    assert not (saved.part("model") / "model.bin").is_symlink()
    assert saved.bytes("model/model.bin") == b"weights"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            lambda path: (path / "model").write_bytes(b"weights" * 999),
            "model is not the file.*; remove the",
        ),
        (lambda path: (path / "rng").unlink(), "rng is missing; remove the folder"),
        (lambda path: (path / "extra").write_bytes(b""), "extra is not of this checkpoint; remove"),
        (lambda path: (path / "manifest.json").unlink(), "no readable manifest"),
        (lambda path: (path / "manifest.json").write_bytes(b"{"), "no readable manifest"),
        (lambda path: (path / "manifest.json").write_bytes(b"{}"), "changed or torn"),
        (
            lambda path: edit(path / "manifest.json", b'"update": 3', b'"update": 4'),
            "changed or torn",
        ),
        (lambda path: edit(path / "manifest.json", b'"format": 1', b'"format": 2'), "format 2"),
        (lambda path: os.symlink("model", path / "link"), "neither a file nor a folder"),
    ],
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage, words):
    checkpoints = at(tmp_path)
    checkpoints.save(3, PARTS)
    damage(tmp_path / "checkpoints" / "update-00000003")
    with pytest.raises(StateError, match=words):
        checkpoints.latest()


def edit(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def test_any_flipped_byte_is_noticed(tmp_path):
    checkpoints = at(tmp_path)
    checkpoints.save(3, {"a": b"0123456789"})
    for file in (tmp_path / "checkpoints" / "update-00000003").iterdir():
        good = file.read_bytes()
        for place in range(len(good)):
            file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            with pytest.raises(StateError):
                checkpoints.latest()
        file.write_bytes(good)
    assert checkpoints.latest().bytes("a") == b"0123456789"


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    at(tmp_path, run="b" * 32).save(3, PARTS)
    with pytest.raises(StateError, match=f"of run {'b' * 32}, not to run {RUN}; move it away"):
        at(tmp_path).latest()
    os.rename(
        tmp_path / "checkpoints" / "update-00000003", tmp_path / "checkpoints" / "update-00000007"
    )
    with pytest.raises(StateError, match="belongs to update 3"):
        at(tmp_path, run="b" * 32).latest()


def test_death_at_any_step_leaves_the_old_checkpoint_or_the_new_one(tmp_path):
    """A child dies at its n-th operation on the disk, for every n until one gets through."""
    seen, number = set(), 0
    while True:
        folder = tmp_path / str(number)
        at(folder, keep=1).save(1, {"a": b"old"})
        child = os.fork()
        if child == 0:
            die_at(number)
            at(folder, keep=1).save(2, {"a": b"new", "b": b"new"})
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        checkpoints = at(folder, keep=1)
        loaded = checkpoints.latest()
        seen.add((loaded.update, loaded.bytes("a")))
        checkpoints.sweep()
        checkpoints.save(3, {"a": b"next"})
        assert checkpoints.updates() == (3,)
        assert sorted(os.listdir(folder / "checkpoints" / ".staging")) == []
        if status == 0:
            break
        number += 1
    assert seen == {(1, b"old"), (2, b"new")}
    assert number > 10


def die_at(number):
    left = number

    def mortal(function):
        def dying(*args, **kwargs):
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return function(*args, **kwargs)

        return dying

    for name in ("mkdir", "open", "fsync", "rename", "rmdir", "unlink", "utime", "chmod"):
        setattr(os, name, mortal(getattr(os, name)))
    builtins.open = io.open = mortal(open)


TRAIN = """
import ast, random, sys, time
from pathlib import Path
from spade_train.config import resolve
from spade_train.runs import RunDir

path, updates = Path(sys.argv[1]), int(sys.argv[2])
rng = random.Random(1)
if (path / "run.json").exists():
    run, checkpoint = RunDir.resume(path)
    done = checkpoint.update if checkpoint else 0
    if checkpoint:
        rng.setstate(ast.literal_eval(checkpoint.bytes("rng").decode()))
else:
    run, done = RunDir.create(path, resolve("quickstart")), 0
for update in range(done, updates):
    run.metrics.log(update, {"agent/success": rng.random(), "loss": rng.gauss(0, 1)})
    run.events.note("updated", update)
    if update % 3 == 2:
        with run.stage(update + 1) as stage:
            stage.put("rng", repr(rng.getstate()).encode())
            stage.put("model", bytes(500_000))
    print(update, flush=True)
run.close()
"""


def test_a_run_that_is_killed_again_and_again_equals_one_that_is_not(tmp_path):
    def command(folder):
        return [sys.executable, "-c", TRAIN, str(tmp_path / folder), "120"]

    subprocess.run(command("whole"), check=True, capture_output=True)
    rng, kills = random.Random(0), 0
    while True:
        child = subprocess.Popen(command("killed"), stdout=subprocess.PIPE)
        if kills == 4:
            child.communicate()
            assert child.returncode == 0
            break
        for _ in range(rng.randrange(1, 16)):
            assert child.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.01))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        kills += 1
    whole, killed = (
        (tmp_path / folder / "metrics.jsonl").read_bytes() for folder in ("whole", "killed")
    )
    assert killed == whole
    assert len(read_metrics(tmp_path / "killed" / "metrics.jsonl")) == 120
    events = [
        json.loads(line) for line in (tmp_path / "killed" / "events.jsonl").read_text().splitlines()
    ]
    assert sum(event["kind"] == "resumed" for event in events) >= 4
    run, checkpoint = RunDir.resume(tmp_path / "killed", resolve("quickstart"))
    run.close()
    assert checkpoint.update == 120
