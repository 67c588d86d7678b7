"""A bounded record of what the environment tried, from Python's audit events."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

_PREFIXES = (
    "open", "os.", "socket.", "subprocess.", "ctypes.", "shutil.", "tempfile.", "mmap.",
    "gc.", "signal.", "fcntl.", "pty.", "resource.", "http.", "urllib.", "ftplib.", "smtplib.",
    "sqlite3.", "webbrowser.", "import", "sys.settrace", "sys.setprofile", "sys.addaudithook",
    "code.__new__", "pickle.find_class", "marshal.", "builtins.input", "syslog.", "_thread.",
)  # fmt: skip
_MAX_EVENTS = 200

_seen: dict[tuple[str, str], int] = {}
_started = False
_muted = False


def start() -> None:
    """Begin to record; cannot be undone in this process."""
    global _started
    if not _started:
        _started = True
        sys.addaudithook(_hook)


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """Do not record what the worker itself does."""
    global _muted
    _muted = True
    try:
        yield
    finally:
        _muted = False


def events() -> list[dict[str, Any]]:
    """Return what was recorded, each as `event`, `detail` and `count`."""
    return [
        {"event": event, "detail": detail, "count": count}
        for (event, detail), count in list(_seen.items())
    ]


_told: dict[str, bool] = {}


def _is_told(event: str) -> bool:
    known = _told.get(event)
    if known is None:
        known = event.startswith(_PREFIXES)
        if len(_told) < _MAX_EVENTS:
            _told[event] = known
    return known


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _muted or not _is_told(event):
        return
    detail = ascii(args[0])[:120] if args and type(args[0]) in (str, bytes, int) else ""
    key = (event, detail)
    if key in _seen or len(_seen) < _MAX_EVENTS:
        _seen[key] = _seen.get(key, 0) + 1
