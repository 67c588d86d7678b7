"""Runs single gates on a source, without the ones before them."""

from __future__ import annotations

from spade_envs.gates.check import other_sandbox
from spade_envs.gates.context import Context
from spade_envs.gates.finding import Finding, GateFunction
from spade_envs.gates.subject import Subject
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource


def subject_of(code: str, *, seeds: int = 8, **context) -> Subject:
    """Return a subject that is ready to be judged."""
    return Subject(
        source=EnvSource(code=code),
        sandbox=default_sandbox(),
        elsewhere=other_sandbox,
        seed_count=seeds,
        context=Context(**context),
    )


def judge(code: str, gate: GateFunction, **context) -> Finding:
    """Return what one gate says about a source."""
    subject = subject_of(code, **context)
    try:
        return gate(subject)
    finally:
        subject.close()
