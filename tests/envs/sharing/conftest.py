"""Two teams on one machine: each with a store, and with notes, settings and caches of its own."""

import os

import pytest

from spade_envs.store import open_store


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name.lower()))
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # nobody cuts the power here
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def stores(tmp_path):
    return [open_store(tmp_path / name, create=True) for name in ("alice", "bob", "carol")]
