"""Lines of a cache are believed only if this user's key made their code."""

import pytest

from spade_envs.errors import Corrupt
from spade_envs.store import cache, open_store

NAME = "things-1.jsonl"


@pytest.fixture
def root(tmp_path, monkeypatch):
    as_user(monkeypatch, tmp_path / "me")
    return open_store(tmp_path / "store", create=True).root


def as_user(monkeypatch, home):
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(cache, "_keys", {})  # another process


def test_lines_come_back_in_order_and_in_another_process(root, tmp_path, monkeypatch):
    assert cache.read_lines(root, NAME) == []
    for line in (b"one", b"two \xff three"):
        cache.append_line(root, NAME, line)
    as_user(monkeypatch, tmp_path / "me")
    assert cache.read_lines(root, NAME) == [b"one", b"two \xff three"]
    key = tmp_path / "me" / "spade-envs" / cache.KEY_FILE
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)


def test_changed_torn_and_moved_lines_are_passed_over(root):
    cache.append_line(root, NAME, b"one")
    path = root / ".cache" / NAME
    good = path.read_bytes()
    for bad in (good.replace(b"one", b"own"), good[:-2], b"one\n", b"0" * 64 + b" one\n", b"\xff "):
        path.write_bytes(bad)
        assert cache.read_lines(root, NAME) == []
    path.write_bytes(good)
    (root / ".cache" / "other-1.jsonl").write_bytes(good)
    assert cache.read_lines(root, "other-1.jsonl") == []
    assert cache.read_lines(root, NAME) == [b"one"]


def test_lines_of_another_user_are_passed_over(root, tmp_path, monkeypatch):
    cache.append_line(root, NAME, b"mine")
    as_user(monkeypatch, tmp_path / "somebody")
    assert cache.read_lines(root, NAME) == []
    cache.append_line(root, NAME, b"theirs")
    assert cache.read_lines(root, NAME) == [b"theirs"]
    as_user(monkeypatch, tmp_path / "me")
    assert cache.read_lines(root, NAME) == [b"mine"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 64])
def test_without_a_key_that_can_be_kept_nothing_is_believed_later(
    root, tmp_path, monkeypatch, content
):
    key = tmp_path / "me" / "spade-envs" / cache.KEY_FILE
    key.parent.mkdir(parents=True)
    key.write_bytes(content)
    cache.append_line(root, NAME, b"one")
    assert cache.read_lines(root, NAME) == [b"one"]
    as_user(monkeypatch, tmp_path / "me")
    assert cache.read_lines(root, NAME) == []
    assert key.read_bytes() == content


def test_a_cache_that_is_a_link_is_refused(root, tmp_path):
    (root / ".cache").symlink_to(tmp_path)
    with pytest.raises(Corrupt, match="symbolic link"):
        cache.append_line(root, NAME, b"one")
    assert cache.read_lines(root, NAME) == []
