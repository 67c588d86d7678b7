"""Remotes of every kind behind one small protocol; `open_remote` chooses by the address."""

from __future__ import annotations

from spade_envs.sharing.remotes.address import Address, Kind
from spade_envs.sharing.remotes.opening import open_remote
from spade_envs.sharing.remotes.protocol import Moved, Remote

__all__ = ["Address", "Kind", "Moved", "Remote", "open_remote"]
