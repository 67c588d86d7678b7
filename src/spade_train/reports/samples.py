"""Three environments of a run, from early, middle and late training, with what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from spade_envs.errors import SpadeError
from spade_envs.store import open_store
from spade_envs.types import Json
from spade_train.reports.record import RunRecord
from spade_train.reports.series import number
from spade_train.rollouts.shelf import Shelf, Stocked

When: TypeAlias = Literal["early", "middle", "late"]
_WHEN: tuple[When, ...] = ("early", "middle", "late")

MAX_SOURCE_LINES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """An episode as the run noted it; the texts are the environment's and the agent's."""

    level: int
    seed: int
    hinted: bool
    success: bool
    fault: str
    """Kind of the fault; empty if there was none."""
    hint: str
    first_observation: str
    turns: tuple[Mapping[str, Json], ...]
    """Each with `action`, `observation` and `reward`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One environment that the designer wrote."""

    when: When
    update: int
    """Update in which it was accepted."""
    env: str
    """Digest."""
    certified: bool
    """Whether it passed every gate and lies in the run's envstore; else it passed a quick check."""
    title: str
    skill: str
    challenge: str
    family: str
    score: float | None
    regret: float | None
    success: float | None
    """Success rate without the hint when it was scored."""
    success_hinted: float | None
    lines: tuple[str, ...]
    """Its source, as far as it is shown; empty if the store does not hold it."""
    lines_left_out: int = 0
    transcripts: tuple[Transcript, ...] = ()
    """At most one without and one with the hint."""


def samples(record: RunRecord) -> tuple[Sample, ...]:
    """Return an environment of each third of the run, as far as something was accepted in it.

    Of each third it is the one whose regret is the median of those that have transcripts, or of all
    if none has: typical ones, not the best.
    """
    accepted = [event for event in record.of_kind("designed") if isinstance(event.get("env"), str)]
    scored = {event.get("env"): event for event in record.of_kind("scored")}
    played: dict[str, list[Mapping[str, Json]]] = {}
    for event in record.of_kind("episode"):
        if isinstance(event.get("env"), str):
            played.setdefault(event["env"], []).append(event)
    shelf = _shelf(record)
    found = []
    for when, group in zip(_WHEN, _thirds(accepted, record.updates), strict=True):
        shown = [event for event in group if event["env"] in played] or group
        chosen = _typical(shown, scored)
        if chosen is not None:
            env = chosen["env"]
            found.append(_sample(when, chosen, scored.get(env, {}), played.get(env, []), shelf))
    return tuple(found)


def _thirds(
    events: Sequence[Mapping[str, Json]], updates: int
) -> tuple[list[Mapping[str, Json]], ...]:
    last = max([updates - 1, *(event["update"] for event in events)], default=0)
    ends = [(last + 1) / 3, 2 * (last + 1) / 3, last + 1]
    groups: tuple[list[Mapping[str, Json]], ...] = ([], [], [])
    for event in events:
        groups[next(n for n, end in enumerate(ends) if event["update"] < end)].append(event)
    return groups


def _typical(
    events: Iterable[Mapping[str, Json]], scored: Mapping[Any, Mapping[str, Json]]
) -> Mapping[str, Json] | None:
    known = [event for event in events if number(scored.get(event["env"], {}).get("regret"))]
    pool = known or list(events)
    order = sorted(pool, key=lambda event: _regret(event, scored))
    return order[len(order) // 2] if order else None


def _regret(event: Mapping[str, Json], scored: Mapping[Any, Mapping[str, Json]]) -> float:
    value = scored.get(event["env"], {}).get("regret")
    return float(value) if number(value) else 0.0


def _shelf(record: RunRecord) -> Shelf | None:
    try:
        return Shelf(open_store(record.store_path), record.path / "quick")
    except SpadeError:
        return None


def _sample(
    when: When,
    designed: Mapping[str, Json],
    scored: Mapping[str, Json],
    episodes: Sequence[Mapping[str, Json]],
    shelf: Shelf | None,
) -> Sample:
    held = _held(shelf, designed["env"])
    lines = held.source.code.splitlines() if held is not None else []
    arms = [
        next((e for e in episodes if bool(e.get("hinted")) is hinted), None)
        for hinted in (False, True)
    ]
    return Sample(
        when=when,
        update=designed["update"],
        env=designed["env"],
        certified=held is not None and held.certified,
        title=_text(designed, "title") or (held.title if held else ""),
        skill=_text(designed, "skill"),
        challenge=_text(designed, "challenge"),
        family=_text(designed, "family"),
        score=_number(scored, "score"),
        regret=_number(scored, "regret"),
        success=_number(scored, "success"),
        success_hinted=_number(scored, "success_hinted"),
        lines=tuple(lines[:MAX_SOURCE_LINES]),
        lines_left_out=max(0, len(lines) - MAX_SOURCE_LINES),
        transcripts=tuple(_transcript(event) for event in arms if event is not None),
    )


def _held(shelf: Shelf | None, digest: str) -> Stocked | None:
    try:
        return shelf.get(digest) if shelf is not None else None
    except SpadeError:
        return None  # a copied or cleaned folder; the page says that the source is not there


def _transcript(event: Mapping[str, Json]) -> Transcript:
    turns = event.get("turns")
    level, seed = event.get("level"), event.get("seed")
    return Transcript(
        level=level if isinstance(level, int) else 0,
        seed=seed if isinstance(seed, int) else 0,
        hinted=bool(event.get("hinted")),
        success=bool(event.get("success")),
        fault=_text(event, "fault"),
        hint=_text(event, "hint"),
        first_observation=_text(event, "first_observation"),
        turns=tuple(turn for turn in turns if isinstance(turn, Mapping))
        if isinstance(turns, list)
        else (),
    )


def _text(event: Mapping[str, Json], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _number(event: Mapping[str, Json], key: str) -> float | None:
    value = event.get(key)
    return float(value) if number(value) else None
