"""What lets a loader of published pools play a file in our own contract, and how it is taken off.

Such loaders take the first class whose name ends in `Env`, make it without arguments or with
`max_turns`, and call `reset(seed)`, `step(text)` and perhaps `solution()`, after the end as well.
"""

from __future__ import annotations

import re

MARK = "# Adapter for loaders of SPADE pools; not a part of the environment above.\n"
_ENTRY = re.compile(r"class ([^\W\d]\w{0,99})PoolEnv:\n    # of ([^\W\d]\w{0,99})\n")


def with_adapter(code: str, entry: str) -> str:
    """Return a source of the contract `spade-1` with an adapter after it; plays level 0.

    Args:
        code: the source.
        entry: name of its class.
    """
    return f"{code}\n\n{MARK}{_adapter(entry)}"


def without_adapter(code: str) -> str:
    """Return the source in `code` without the adapter after it, if it ends with exactly that."""
    source, _, tail = code.rpartition(f"\n\n{MARK}")
    found = _ENTRY.match(tail)
    return source if found is not None and tail == _adapter(found[2]) else code


def _adapter(entry: str) -> str:
    name = f"{entry.removesuffix('Env') or entry}PoolEnv"
    return f'''class {name}:
    # of {entry}

    def __init__(self, max_turns=None):
        self.max_turns = {entry}.max_turns
        self._env = {entry}(level=0)
        self._last = None

    def reset(self, seed=None):
        self._last = None
        return self._env.reset(seed=seed)

    def step(self, action):
        if self._last is None:
            result = self._env.step(action)
            self._last = result if result[2] or result[3] else None
            return result
        return (self._last[0], 0.0, *self._last[2:])

    def solution(self):
        return self._env.solution()


for _name in [_name for _name in globals() if _name.endswith("Env") and _name != "{name}"]:
    globals()[_name] = globals().pop(_name)
del _name
'''
