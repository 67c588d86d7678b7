"""Envstores: folders of certified environments, read and written without a lock.

    store = open_store("envstore", create=True)
    record = store.add(source, report, provenance)
    store.get("spade/maze-v0")

The format is described in docs/format.md.
"""

from __future__ import annotations

from spade_envs.store.discovery import default_path, discover, starter_path
from spade_envs.store.envstore import EnvStore, open_store
from spade_envs.store.locate import locate

__all__ = ["EnvStore", "default_path", "discover", "locate", "open_store", "starter_path"]
