"""Whether an environment plays alike where its tools are left to a chat template, as in training.

Part of L1.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spade_envs.gates.finding import Finding, failed
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace, clip, first_difference, info_text
from spade_envs.types import Json

_NATIVE: Mapping[str, Json] = {"native_tools": True}
_SEEDS = 2
_WORDS = ("nothing", "I do not know.", "3")


def plays_otherwise(subject: Subject) -> Finding | None:
    """Return what differs after a reset with `native_tools=True`, None if nothing does.

    The first observation may leave lines out, those about the tools, and show no others.
    """
    if subject.interface.kind != "tool":
        return None
    usual = _played(subject)
    jobs = [Job(trace.level, trace.seed, script(trace.actions), options=_NATIVE) for trace in usual]
    for plain, native in zip(usual, subject.plain.run(jobs), strict=True):
        new = _not_shown(plain, native)
        if new or native.start.fault is not None:
            return failed(
                "a reset with native_tools shows what the usual one does not; leave out the text "
                "about the tools, as begin() does, and nothing else",
                shown=clip(new),
                **native.evidence(),
            )
        difference = first_difference(plain, replace(native, start=plain.start))
        if difference and subject.reproduces(plain.actions, plain):
            return failed(
                "after a reset with native_tools the episode plays otherwise; the option is about "
                "the text of the tools alone",
                difference=difference,
            )
    return None


def _played(subject: Subject) -> Sequence[Trace]:
    """Return usual episodes to compare with: of the reference, and of words that say nothing."""
    seeds = subject.seeds[:_SEEDS]
    found = []
    for level in subject.edge_levels:
        if subject.has_reference:
            found += subject.references(level, seeds)
        found += subject.play(script(_WORDS), level, seeds)
    return [trace for trace in found if trace.fault is None]


def _not_shown(plain: Trace, native: Trace) -> str:
    """Return the first line or info of a native start that the usual one lacks."""
    known = {line.strip() for line in plain.start.observation.splitlines()}
    for line in native.start.observation.splitlines():
        if line.strip() not in known:
            return line
    told = info_text(native.start.info)
    return "" if told == info_text(plain.start.info) else told
