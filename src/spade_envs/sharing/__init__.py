"""Envstores between people: remotes, push, pull, sync, names that do not clash, lock files.

    pull("https://github.com/alice/envs.git", open_store("mystore", create=True), namespace="alice")

A remote is anything that can keep an envstore of format 1: a folder, a git repository, a bucket, a
data set on the Hub. Nothing that comes from one is executed, and nothing is ever overwritten.
"""

from __future__ import annotations

from spade_envs.sharing.install import install
from spade_envs.sharing.lock import Lock, make_lock, read_lock, write_lock
from spade_envs.sharing.outcome import Outcome, Transfer
from spade_envs.sharing.pull import pull
from spade_envs.sharing.push import push
from spade_envs.sharing.remotes import open_remote
from spade_envs.sharing.sync import sync
from spade_envs.sharing.wanted import Wanted

__all__ = [
    "Lock",
    "Outcome",
    "Transfer",
    "Wanted",
    "install",
    "make_lock",
    "open_remote",
    "pull",
    "push",
    "read_lock",
    "sync",
    "write_lock",
]
