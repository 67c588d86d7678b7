"""Runs one gate on one source, for the tests of single gates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spade_envs.gates.check import other_sandbox
from spade_envs.gates.finding import Finding
from spade_envs.gates.subject import Subject
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource


@contextmanager
def subject_of(code: str) -> Iterator[Subject]:
    """Yield the subject of a source, with its workers, and end them."""
    source = EnvSource(code=code)
    subject = Subject(source=source, sandbox=default_sandbox(), elsewhere=other_sandbox)
    try:
        yield subject
    finally:
        subject.close()


def finding_of(gate: Callable[[Subject], Finding], code: str) -> Finding:
    """Return what one gate says about a source."""
    with subject_of(code) as subject:
        return gate(subject)


def spoilt(code: str, *changes: tuple[str, str]) -> str:
    """Return a source with replacements, each of which must apply."""
    for old, new in changes:
        assert old in code, old
        code = code.replace(old, new)
    return code
