"""Family L5: the environment is new, not an evaluation task, and its certificate is its own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from spade_envs.api.answers import answer_of
from spade_envs.design.novelty import ast_hash
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.finding import MAX_EXAMPLES, Finding, failed, passed, skipped, warned
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.probes import scripts
from spade_envs.gates.subject import Subject
from spade_envs.gates.thresholds import (
    GRAM_WORDS,
    OVERLAP_FAIL,
    OVERLAP_WARN,
    SAME_SHARE,
    SAME_TASKS,
)
from spade_envs.gates.trace import Trace, clip
from spade_envs.gates.withheld import is_call, leaves
from spade_envs.types import EnvSource, Fault, Json

FIXED_SEEDS = range(8)
"""The same for every source, unlike the seeds of the other gates."""
REPLY_SEEDS = 4
MIN_GRAMS = 3


def fingerprint(
    source: EnvSource, subject: Subject | None = None, *, name: str = ""
) -> Fingerprint:
    """Return the fingerprint of a source.

    Args:
        source: the environment.
        subject: the same source, loaded; without it nothing is run, and a duplicate is found only
            if it has the same program under other names.
        name: id or file name, for messages.
    """
    text = Fingerprint(
        name=name or source.origin,
        source_sha256=source.sha256,
        program=ast_hash(source),
        replies="",
    )
    if subject is None or isinstance(subject.loaded, Fault):
        return text
    return Fingerprint(
        text.name, text.source_sha256, text.program, _replies(subject), _solutions(subject)
    )


def nearest(own: Fingerprint, known: Iterable[Fingerprint]) -> tuple[Fingerprint, str] | None:
    """Return the first known environment that `own` repeats, and how; None if there is none."""
    for other in known:
        if own.source_sha256 == other.source_sha256:
            return other, "the same source"
        if own.program == other.program:
            return other, "the same program under other names"
        if own.replies and own.replies == other.replies:
            return other, "another program that says and pays the same"
        if _same_solutions(own.solutions, other.solutions):
            return other, "the same tasks, answers and rewards in other words"
    return None


def _same_solutions(own: Sequence[str], other: Sequence[str]) -> bool:
    if len(own) != len(other) or len(set(own)) < SAME_TASKS:
        return False
    same = sum(a == b for a, b in zip(own, other, strict=True))
    return same >= SAME_SHARE * len(own)


def _replies(subject: Subject) -> str:
    """Return a hash of what is said and paid in fixed episodes of the lowest level."""
    jobs = [
        Job(0, seed, script(actions))
        for seed in FIXED_SEEDS[:REPLY_SEEDS]
        for actions in scripts(subject.interface)
    ]
    keys = [trace.key() for trace in subject.plain.run(jobs, fresh=False)]
    return _hash(keys)


def _solutions(subject: Subject) -> tuple[str, ...]:
    """Return, for fixed seeds of the lowest and highest level, hashes of answers and rewards.

    Of calls only the values count, since tools and parameters may have been renamed.
    """
    if not subject.has_reference:
        return ()
    found = []
    for level in sorted({0, subject.levels[-1]}):
        traces = {t.seed: t for t in subject.references(level, list(FIXED_SEEDS))}
        for seed in FIXED_SEEDS:
            found.append(_hash(_played(traces[seed])) if seed in traces else "")
    return tuple(found)


def _played(trace: Trace) -> Json:
    said = [
        list(leaves((action,))) if is_call(action) else answer_of(action).casefold()
        for action in trace.actions
    ]
    paid = [(round(got.reward, 6), got.done) for _, got in trace.steps]
    return [said, paid]


def _hash(value: Json) -> str:
    raw = json.dumps(value, default=repr).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:32]


def not_a_duplicate(subject: Subject) -> Finding:
    """L5.1: no near duplicate is known."""
    known = subject.context.known
    if not known:
        return skipped("no other environments were given to compare with")
    found = nearest(fingerprint(subject.source), known)
    if found is None and any(other.replies or other.solutions for other in known):
        found = nearest(fingerprint(subject.source, subject), known)
    if found is not None:
        other, how = found
        return failed(
            f"it repeats {other.name}: {how}; write another task",
            repeats=other.name,
            how=how,
            other_sha256=other.source_sha256,
        )
    return passed(f"it repeats none of {len(known)} environments", compared=len(known))


# L5.2

_WORD = re.compile(r"[^\W_]+")


def too_short(text: str) -> bool:
    """Whether a text has too few words for L5.2 to compare it with anything."""
    return not _grams(text)


def _grams(text: str) -> list[str]:
    words = _WORD.findall(text.casefold())
    return [" ".join(words[i : i + GRAM_WORDS]) for i in range(len(words) - GRAM_WORDS + 1)]


def not_contaminated(subject: Subject) -> Finding:
    """L5.2: no declared evaluation task is in its prompts."""
    texts = subject.context.evaluation
    if not texts:
        return skipped("no evaluation texts were given")
    starts = [trace for level in subject.levels for trace in subject.starts(level)]
    shown = {id(trace): set(_grams(trace.start.observation)) for trace in starts}
    every = set().union(*shown.values()) if shown else set()
    worst: tuple[float, Trace, str] | None = None
    judged = 0
    for text in texts:
        grams = set(_grams(text))
        judged += bool(grams)
        if len(grams & every) < min(MIN_GRAMS, len(grams)) or not grams:
            continue
        for trace in starts:
            share = len(grams & shown[id(trace)]) / len(grams)
            if worst is None or share > worst[0]:
                worst = (share, trace, text)
    if worst is None or worst[0] < OVERLAP_WARN:
        return passed(f"none of {judged} evaluation texts is in its prompts", compared=judged)
    share, trace, text = worst
    verdict = failed if share >= OVERLAP_FAIL else warned
    return verdict(
        f"{share:.0%} of an evaluation text ({GRAM_WORDS} words in a row at a time) stands in the "
        f"first observation at level {trace.level}, seed {trace.seed}; leave evaluation tasks out",
        overlap=round(share, 4),
        evaluation_text=clip(text),
        **trace.evidence(),
    )


# L5.3


_NEED_CONTEXT = frozenset({"L5.1", "L5.2", "L5.3"})
"""Gates that a certificate may have left out, for want of something to compare with."""


def certificate_holds(subject: Subject) -> Finding:
    """L5.3: the certificate is of this content and these gates, and says what was found now."""
    certificate = subject.context.certificate
    if certificate is None:
        return skipped("no certificate was given")
    if certificate.source_sha256 != subject.source.sha256:
        return failed(
            "the certificate is of another source; check this one anew",
            certified=certificate.source_sha256,
            source=subject.source.sha256,
        )
    version = subject.context.gates_version
    if certificate.gates_version != version:
        return failed(
            f"the certificate is of gates version {certificate.gates_version}, not {version}; "
            "check it anew",
            certified=certificate.gates_version,
        )
    said = {result.gate: result.outcome for result in certificate.results}
    differ: list[Json] = []
    grave = False
    for result in subject.results:
        before = said.get(result.gate, "skip")
        if result.outcome == "skip" or before == result.outcome:
            continue
        if before == "skip" and result.gate in _NEED_CONTEXT:
            continue
        grave = grave or "fail" in (before, result.outcome) or before == "skip"
        differ.append({"gate": result.gate, "certificate": before, "now": result.outcome})
    if differ:
        first = differ[0]
        return (failed if grave else warned)(
            f"the certificate says {first['certificate']} for {first['gate']}, measured was "
            f"{first['now']}; check it anew",
            differences=differ[:MAX_EXAMPLES],
        )
    return passed(f"the certificate agrees with {len(subject.results)} results")
