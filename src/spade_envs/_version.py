"""Versions of the distribution and of its gates; the only place they are written."""

__version__ = "0.1.0"

GATES_VERSION = "4"
"""Whole number from 1, raised whenever a verdict can change; reports are bound to it."""
