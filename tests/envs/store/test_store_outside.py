"""What a person lets write outside a store: whole or not at all, and never through a link."""

import errno
import os

import pytest

from spade_envs.errors import ConfigError, StorageError
from spade_envs.store import outside
from spade_envs.store.outside import new_folder, write_whole


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "out.lock"
    for data in (b"one", b"two"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["out.lock"]


def test_what_is_no_ordinary_file_stays_and_no_link_is_written_through(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(victim)
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    before = sorted(os.listdir(tmp_path))
    for name in ("pipe", "link", "dangling"):
        with pytest.raises(ConfigError, match="no ordinary file"):
            write_whole(tmp_path / name, b"x")
    with pytest.raises(ConfigError, match="its folder is not there"):
        write_whole(tmp_path / "no/out", b"x")
    assert (victim.read_text(), sorted(os.listdir(tmp_path))) == ("precious", before)


def test_where_nothing_may_be_written_one_error_names_the_mend(tmp_path, monkeypatch):
    def refused(*words, **more):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(outside, "write_new", refused)
    mend = "cannot be written: Permission denied; give yourself the right to write there, or name"
    with pytest.raises(StorageError, match=f"a.lock {mend} another place"):
        write_whole(tmp_path / "a.lock", b"x")
    monkeypatch.setattr("pathlib.Path.mkdir", refused)
    with (
        pytest.raises(StorageError, match=f"pool {mend} another place"),
        new_folder(tmp_path / "pool"),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_a_folder_is_there_once_it_is_filled(tmp_path):
    with (
        pytest.raises(StorageError, match="name another place"),
        new_folder(tmp_path / "pool") as stage,
    ):
        (stage / "no/a").write_text("half")
    assert os.listdir(tmp_path) == []
    with new_folder(tmp_path / "deep/pool") as stage:
        (stage / "a").write_text("whole")
        assert not (tmp_path / "deep/pool").exists()
    assert (tmp_path / "deep/pool/a").read_text() == "whole"
    with pytest.raises(ConfigError, match="holds something"), new_folder(tmp_path / "deep"):
        pass
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"name another place$"), new_folder(tmp_path / "file/p"):
        pass
