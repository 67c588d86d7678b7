"""Ledgers of plays: many writers, sums, torn and hostile lines."""

import json
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.errors import ConfigError
from spade_envs.store import open_store
from spade_envs.store.plays import Figures, PlayReader, Plays, PlayWriter

ONE, TWO = (f"sha256:{number:064x}" for number in (1, 2))


@pytest.fixture
def root(tmp_path):
    return open_store(tmp_path / "store", create=True).root


def test_success_and_regret_come_from_the_plays_of_all_writers(root):
    first, second = PlayWriter(root, "run-1"), PlayWriter(root, "run-1")
    first.append([Plays(digest=ONE, plays=4, successes=1, returns=1.5)])
    second.append([Plays(digest=ONE, plays=4, successes=2, returns=2.5, hinted=2)])
    second.append([Plays(digest=ONE, hinted=2, hinted_successes=2, hinted_returns=3.0)])
    second.append([Plays(digest=TWO, hinted=1, hinted_successes=1, hinted_returns=1.0)])

    figures = PlayReader(root).figures()

    assert first.path != second.path
    assert figures[ONE].success == 3 / 8
    assert figures[ONE].regret == 3.0 / 4 - 4.0 / 8
    assert (figures[TWO].success, figures[TWO].regret) == (None, None)
    assert not [problem for problem in open_store(root).verify() if problem.kind == "unknown"]


def test_new_plays_are_read_as_they_arrive_and_old_ones_once(root):
    writer, reader = PlayWriter(root), PlayReader(root)
    assert reader.figures() == {}
    for number in range(1, 4):
        writer.append([Plays(digest=ONE, plays=1, successes=1, returns=1.0)])
        assert reader.figures()[ONE] == Figures(plays=number, successes=number, returns=number)
    assert reader.figures()[ONE].plays == 3


def test_one_policy_can_be_asked_for(root):
    writer = PlayWriter(root)
    writer.append([Plays(digest=ONE, policy="small", plays=3, successes=0)])
    writer.append([Plays(digest=ONE, policy="large", plays=2, successes=2)])

    assert PlayReader(root, policy="large").figures()[ONE].success == 1.0
    assert PlayReader(root).figures()[ONE].success == 2 / 5


def test_a_half_written_line_counts_once_it_is_whole(root):
    whole = b'{"digest":"%s","plays":2,"successes":1}\n' % ONE.encode()
    (root / "ledger").mkdir()
    path = root / "ledger" / "plays-torn.jsonl"
    path.write_bytes(whole + whole[:30])
    reader = PlayReader(root)
    assert reader.figures()[ONE].plays == 2
    path.write_bytes(whole + whole)
    assert reader.figures()[ONE].plays == 4
    assert reader.passed_over == 0


def test_a_replaced_file_is_read_anew(root):
    (root / "ledger").mkdir()
    path = root / "ledger" / "plays-a.jsonl"
    line = b'{"digest":"%s","plays":2,"successes":1}\n' % ONE.encode()
    path.write_bytes(line * 3)
    reader = PlayReader(root)
    reader.figures()
    path.write_bytes(line)
    assert reader.figures()[ONE].plays == 2
    path.unlink()
    assert reader.figures() == {}


HOSTILE = [
    b"not json",
    b'{"digest":"x","plays":1}',
    b'{"digest":"%s","plays":-1}' % ONE.encode(),
    b'{"digest":"%s","plays":1,"successes":2}' % ONE.encode(),
    b'{"digest":"%s","plays":1,"returns":NaN}' % ONE.encode(),
    b'{"digest":"%s","plays":1,"returns":1e999}' % ONE.encode(),
    b'{"digest":"%s","plays":1e3}' % ONE.encode() + b"x",
    b'{"digest":"%s","plays":1,"more":2}' % ONE.encode(),
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"attempt":0,"digest":null}',
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_that_is_no_sound_figure_is_passed_over_alone(root, line):
    (root / "ledger").mkdir()
    good = b'{"digest":"%s","plays":2,"successes":1}' % ONE.encode()
    (root / "ledger" / "plays-a.jsonl").write_bytes(good + b"\n" + line + b"\n" + good + b"\n")
    reader = PlayReader(root)
    assert reader.figures()[ONE].plays == 4
    assert reader.passed_over == 1


def test_long_ledgers_and_endless_lines_are_read_in_pieces(root, monkeypatch):
    monkeypatch.setattr("spade_envs.store.plays._CHUNK_BYTES", 250)
    (root / "ledger").mkdir()
    line = b'{"digest":"%s","plays":2,"successes":1}\n' % ONE.encode()
    path = root / "ledger" / "plays-a.jsonl"
    path.write_bytes(line * 20 + b"x" * 1000 + b"\n" + line * 20 + line[:50])
    reader = PlayReader(root)
    assert reader.figures()[ONE].plays == 80
    assert reader.passed_over >= 1
    path.write_bytes(path.read_bytes() + line[50:])
    assert reader.figures()[ONE].plays == 82


def test_links_are_not_followed(root, tmp_path):
    (root / "ledger").mkdir()
    (tmp_path / "outside").write_bytes(b'{"digest":"%s","plays":2}\n' % ONE.encode())
    (root / "ledger" / "plays-a.jsonl").symlink_to(tmp_path / "outside")
    assert PlayReader(root).figures() == {}


@pytest.mark.parametrize(
    "line",
    [
        Plays(digest=ONE, plays=1, successes=2),
        Plays(digest=ONE, plays=1, returns=float("nan")),
        Plays(digest="maze", plays=1),
        Plays(digest=ONE, plays=-1),
    ],
)
def test_a_writer_refuses_what_no_reader_would_take(root, line):
    with pytest.raises(ConfigError, match="no sound figures"):
        PlayWriter(root).append([line])


@pytest.mark.parametrize("name", ["", "../up", "A", "a" * 61])
def test_a_writer_needs_a_plain_name(root, name):
    with pytest.raises(ConfigError, match="slug"):
        PlayWriter(root, name)


COUNTS = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)


@settings(deadline=None)
@given(st.lists(COUNTS, max_size=12), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_the_lines(pairs, random):
    lines = [Plays(digest=ONE, plays=b, successes=a, returns=float(a)) for a, b in pairs]
    forth = Figures()
    for line in lines:
        forth = forth.plus(line)
    random.shuffle(lines)
    back = Figures()
    for line in lines:
        back = back.plus(line)
    assert forth == back
    assert forth.success is None or 0 <= forth.success <= 1


def _append_for_ever(root, pipe):
    writer = PlayWriter(root)
    while True:
        writer.append([Plays(digest=ONE, plays=2, successes=1, returns=1.0)])
        os.write(pipe, b".")


def test_killed_writers_lose_at_most_the_line_under_way(root):
    finished = 0
    for _ in range(5):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _append_for_ever(root, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            finished += len(stream.read(3))
            os.kill(pid, signal.SIGKILL)
            finished += len(stream.read())
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    reader = PlayReader(root)
    figures = reader.figures()[ONE]
    assert finished <= figures.plays / 2 <= finished + 5
    assert figures.success == 0.5
    assert reader.passed_over == 0
    for path in (root / "ledger").iterdir():
        for line in path.read_bytes().splitlines():
            assert json.loads(line)["digest"] == ONE
