"""Tool environments: what their tools promise and do."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def tools_described(subject: Subject) -> Finding:
    """L1.9: schema, signature and docstring of every tool agree."""
    return skipped("not measured")


def tools_work(subject: Subject) -> Finding:
    """L3.13: every tool can succeed."""
    return skipped("not measured")


def tasks_open_until_done(subject: Subject) -> Finding:
    """L3.14: every task is open until the reference does it, and they are met in order."""
    return skipped("not measured")


def values_can_be_found(subject: Subject) -> Finding:
    """L3.15: every value that the reference uses is shown by the user or by a tool."""
    return skipped("not measured")


def reading_changes_nothing(subject: Subject) -> Finding:
    """L3.16: tools that only read leave no trace."""
    return skipped("not measured")
