"""Part of L3.10: an agent that copies one piece of the first observation does not win."""

from __future__ import annotations

from collections.abc import Sequence

from spade_envs.gates.finding import Finding, failed
from spade_envs.gates.hints import Way, copies, way_name
from spade_envs.gates.lane import Job
from spade_envs.gates.policies import script
from spade_envs.gates.reference import wins
from spade_envs.gates.stats import Rate
from spade_envs.gates.subject import Subject, answer_forms
from spade_envs.gates.thresholds import LEAK_SHARE
from spade_envs.gates.trace import Trace

SEEDS = 3
MOST_PIECES = 40
Said = dict[int, dict[Way, tuple[str, ...]]]


def copied_piece(subject: Subject, level: int) -> Finding | None:
    """Return a failure if a line, number, word or phrase at a fixed place of the task wins.

    Pieces that differ from seed to seed are tried on one seed of the highest level, and what won
    there on all of them, also in place of another seed's.
    """
    if subject.interface.kind == "tool" or level != subject.levels[-1]:
        return None
    if subject.depth == "quick":
        return None
    if any(len(trace.actions) != 1 for trace in subject.references(level)):
        return None
    few = subject.starts(level)[:SEEDS]
    said = _pieces(subject, few)
    seed = few[0].seed or 0
    rows = said.values()
    varied = [way for way, text in said[seed].items() if any(row.get(way) != text for row in rows)]
    ways: dict[tuple[str, ...], list[Way]] = {}
    for way in varied:
        ways.setdefault(said[seed][way], []).append(way)
    tried = list(ways)[:MOST_PIECES]
    traces = subject.replays([(level, seed, text) for text in tried])
    won = [text for text, trace in zip(tried, traces, strict=True) if wins(subject, trace)]
    for way in [way for text in won for way in ways[text]]:
        others = [(level, one, row[way]) for one, row in said.items() if way in row]
        if all(wins(subject, trace) for trace in subject.replays(others)):
            finding = _judged(subject, level, way)
            if finding is not None:
                return finding
    return None


def _pieces(subject: Subject, starts: Sequence[Trace]) -> Said:
    """Return the messages by seed and by where in the first observation they are copied from."""
    form = answer_forms(subject, starts[0].level)[0]
    return {
        trace.seed or 0: {
            way: text
            for way, text in copies(trace.start.observation, form).items()
            if len(text) == 1
        }
        for trace in starts
    }


def _judged(subject: Subject, level: int, way: Way) -> Finding | None:
    said = _pieces(subject, subject.starts(level))
    seeds = list(said)
    turned = [*seeds[1:], *seeds[:1]]
    played = []
    for source in (seeds, turned):
        texts = [said[one].get(way, ("",)) for one in source]
        jobs = [Job(level, s, script(text)) for s, text in zip(seeds, texts, strict=True)]
        played.append(subject.plain.run(jobs, fresh=False))
    own, other = (Rate.of([float(wins(subject, t)) for t in traces]) for traces in played)
    if own.mean < LEAK_SHARE or other.mean >= LEAK_SHARE / 2:
        return None
    return failed(
        f"an agent that copies {way_name(way)} of the first observation wins {own.mean:.0%} at "
        f"level {level}; what is shown must not be an answer",
        copied=list(way),
        own=own.as_json(),
        other=other.as_json(),
        **next(trace for trace in played[0] if wins(subject, trace)).evidence(),
    )
