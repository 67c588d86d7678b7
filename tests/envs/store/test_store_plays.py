"""Ledgers of plays: many writers, sums, torn and hostile lines."""

import json
import os
import signal
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.store import open_store
from spade_envs.store.plays import Cell, Figures, PlayReader, Plays, PlayWriter

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
    assert figures[ONE].regret == 2 / 4 - 3 / 8
    assert figures[ONE].mean_return == 4.0 / 8
    assert (figures[TWO].success, figures[TWO].regret) == (None, None)
    assert not [problem for problem in open_store(root).verify() if problem.kind == "unknown"]


def test_new_plays_are_read_as_they_arrive_and_old_ones_once(root):
    writer, reader = PlayWriter(root), PlayReader(root)
    assert reader.figures() == {}
    for number in range(1, 4):
        writer.append([Plays(digest=ONE, plays=1, successes=1, returns=1.0)])
        assert reader.figures()[ONE] == Figures(
            plays=number, successes=number, returns=number, squares=None
        )
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
    b'{"digest":"%s","plays":1,"pairs":1}' % ONE.encode(),
    b'{"digest":"%s","plays":1,"level":-1}' % ONE.encode(),
    b'{"digest":"%s","plays":1,"hint":"../x"}' % ONE.encode(),
    b'{"digest":"%s","hinted":2,"plays":2,"pairs":2,"both":1}' % ONE.encode(),
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


def test_a_line_of_old_counts_for_no_level_and_the_instance_hint(root):
    (root / "ledger").mkdir()
    old = (
        b'{"digest":"%s","hinted":4,"hinted_returns":2.0,"hinted_successes":2,"plays":4,'
        b'"policy":"m","returns":1.0,"successes":1}\n' % ONE.encode()
    )
    (root / "ledger" / "plays-old.jsonl").write_bytes(old)
    reader = PlayReader(root)
    assert list(reader.cells()) == [Cell(ONE, "m", None, "instance")]
    figures = reader.figures()[ONE]
    assert (figures.regret, figures.hints) == (0.25, ("instance",))
    assert figures.return_interval is None


def test_plays_are_divided_by_player_level_and_hint(root):
    writer = PlayWriter(root)
    writer.append(
        [
            Plays(digest=ONE, policy="m", level=level, hint=hint, plays=2, successes=won, hinted=2)
            for level, hint, won in (
                (0, "instance", 2),
                (1, "instance", 1),
                (1, "strategy:0123456789ab", 0),
            )
        ]
    )
    reader = PlayReader(root)
    won = {(cell.level, cell.hint): f.success for cell, f in reader.cells().items()}
    assert won == {(0, "instance"): 1.0, (1, "instance"): 0.5, (1, "strategy:0123456789ab"): 0.0}
    assert reader.figures()[ONE].success == 0.5
    assert reader.figures()[ONE].hints == ("instance", "strategy:0123456789ab")


def test_lines_with_one_key_count_once_whoever_wrote_them(root):
    reader = PlayReader(root)
    for writer in (PlayWriter(root, "run"), PlayWriter(root, "run")):
        writer.append([Plays(digest=ONE, plays=2, successes=1, key="run/3")])
        writer.append([Plays(digest=TWO, plays=2, successes=1, key="run/3")])
        assert reader.figures()[ONE].plays == reader.figures()[TWO].plays == 2
    writer.append([Plays(digest=ONE, plays=2, successes=1, key="run/4")])
    assert reader.figures()[ONE].plays == PlayReader(root).figures()[ONE].plays == 4


def test_the_writer_of_a_run_goes_on_in_its_file_and_writes_no_key_twice(root):
    lines = [Plays(digest=ONE, plays=2, successes=1, key=f"run/{n}") for n in range(3)]
    first = PlayWriter(root, "run-a", fresh=False)
    first.append(lines[:2])
    unbroken = first.path.read_bytes()
    with first.path.open("ab") as stream:
        stream.write(unbroken[:40])  # a kill tore it
    second = PlayWriter(root, "run-a", fresh=False)
    second.append(lines)
    second.append([lines[0], Plays(digest=TWO, plays=1), Plays(digest=TWO, plays=1)])
    assert second.path == first.path
    assert second.path.read_bytes().startswith(unbroken)
    figures = PlayReader(root).figures()
    assert (figures[ONE].plays, figures[TWO].plays) == (6, 2)
    assert len(second.path.read_bytes().splitlines()) == 5


def test_a_writer_does_not_go_on_in_a_link(root, tmp_path):
    (root / "ledger").mkdir()
    (tmp_path / "outside").write_bytes(b"torn")
    (root / "ledger" / "plays-run-a.jsonl").symlink_to(tmp_path / "outside")
    with pytest.raises(Corrupt, match="symbolic link"):
        PlayWriter(root, "run-a", fresh=False)
    assert (tmp_path / "outside").read_bytes() == b"torn"


def test_pairs_narrow_the_interval_of_regret_only_where_every_play_has_its_pair():
    line = Plays(
        digest=ONE, plays=40, successes=20, hinted=40, hinted_successes=28, pairs=40, both=20
    )
    paired = Figures().plus(line)
    loose = paired.plus(Plays(digest=ONE, hinted=1, hinted_successes=1))
    low, high = paired.regret_interval
    other_low, other_high = loose.regret_interval
    assert paired.regret == pytest.approx(0.2)
    assert low < paired.regret < high
    assert high - low < other_high - other_low


@st.composite
def lines(draw):
    """Draw a sound line of paired plays."""
    pairs = draw(st.integers(0, 9))
    won, hinted = draw(st.integers(0, pairs)), draw(st.integers(0, pairs))
    both = draw(st.integers(max(0, won + hinted - pairs), min(won, hinted)))
    return Plays(
        digest=ONE,
        hint=draw(st.sampled_from(["instance", "policy"])),
        plays=pairs,
        successes=won,
        returns=float(won),
        squares=draw(st.sampled_from([float(won), None])),
        hinted=pairs,
        hinted_successes=hinted,
        hinted_returns=float(hinted),
        hinted_squares=float(hinted),
        pairs=pairs,
        both=both,
    )


@settings(deadline=None)
@given(st.lists(lines(), max_size=12), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_the_order_of_the_lines(found, random):
    forth = reduce(Figures.plus, found, Figures())
    random.shuffle(found)
    half = len(found) // 2
    parts = [reduce(Figures.plus, part, Figures()) for part in (found[half:], found[:half])]
    assert forth == parts[0].plus(parts[1])
    low, high = forth.success_interval
    assert 0 <= low <= (forth.success if forth.plays else 0.5) <= high <= 1
    if forth.regret is not None:
        low, high = forth.regret_interval
        assert -1 <= low <= forth.regret <= high <= 1


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
        *whole, _under_way = path.read_bytes().split(b"\n")
        for line in whole:
            assert json.loads(line)["digest"] == ONE
