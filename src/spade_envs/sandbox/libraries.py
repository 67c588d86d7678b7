"""Libraries that a registered source may need: a closed list, since trust never comes from a store.

A source that imports one of them runs under every layer, in a sandbox that imported the library
before it locked itself.
"""

from __future__ import annotations

import re
import threading

from spade_envs.sandbox.pool import Sandbox, default_sandbox, open_sandbox
from spade_envs.types import EnvSource

KNOWN = ("reasoning_gym", "textarena", "gem")

_IMPORT = re.compile(rf"^import ({'|'.join(KNOWN)})$", re.MULTILINE)
_shared: dict[str, Sandbox] = {}
_lock = threading.Lock()


def library_in(source: EnvSource) -> str:
    """Return the known library that a source imports; empty if it imports none or several."""
    found = set(_IMPORT.findall(source.code))
    return found.pop() if len(found) == 1 else ""


def sandbox_for(source: EnvSource) -> Sandbox:
    """Return the process-wide sandbox that has what a source imports; mostly the default one."""
    library = library_in(source)
    if not library:
        return default_sandbox()
    with _lock:
        if library not in _shared:
            _shared[library] = open_sandbox(libraries=(library,))
        return _shared[library]
