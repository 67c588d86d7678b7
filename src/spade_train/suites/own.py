"""Modules of the user's own, which commands name as `MODULE:FUNCTION`."""

from __future__ import annotations

import os
import sys


def look_here() -> None:
    """Let modules in the current folder be imported, after all that are installed.

    A console script, unlike `python -m`, does not look there by itself.
    """
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
