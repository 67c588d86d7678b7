"""One played episode as the gates see it: comparable to the byte, and printable as evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from spade_envs.types import Fault, Json, ResetOutcome, StepOutcome

_as_text = json.JSONEncoder(default=repr).encode
MAX_EVIDENCE_CHARS = 400
MAX_EVIDENCE_TURNS = 8
BOASTS = 'an episode that was paid nothing reports success; set info["success"] on a win only'


@dataclass(frozen=True, slots=True)
class Trace:
    """An episode, from reset to its end or to where the policy stopped."""

    level: int
    seed: int | None
    start: ResetOutcome
    steps: tuple[tuple[str, StepOutcome], ...] = ()
    _key: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def fault(self) -> Fault | None:
        """The fault that ended the episode, if one did."""
        return self.start.fault or (self.steps[-1][1].fault if self.steps else None)

    @property
    def total(self) -> float:
        """Sum of the rewards."""
        return sum([outcome.reward for _, outcome in self.steps])

    @property
    def done(self) -> bool:
        """Whether the environment ended the episode without a fault."""
        return self.fault is None and bool(self.steps) and self.steps[-1][1].done

    @property
    def success(self) -> bool:
        """Whether the last step says so."""
        return self.done and self.steps[-1][1].info.get("success") is True

    @property
    def boasts(self) -> bool:
        """Whether the last step says that it succeeded, and neither it nor the episode paid."""
        return self.success and self.steps[-1][1].reward <= 0 and self.total <= 0

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions taken."""
        return tuple([action for action, _ in self.steps])

    def key(self) -> str:
        """Return everything that an agent or a trainer could see, as one comparable string.

        Key order inside `info` counts, since it comes from the environment's own iteration order.
        """
        if self._key:
            return self._key[0]
        rows: list[Json] = [
            [self.start.observation, dict(self.start.info), _kind(self.start.fault)]
        ]
        for action, got in self.steps:
            flags = [bool(got.terminated), bool(got.truncated)]
            row = [action, got.observation, repr(got.reward), *flags, dict(got.info)]
            rows.append([*row, _kind(got.fault)])
        self._key.append(_as_text(rows))
        return self._key[0]

    def evidence(self) -> dict[str, Json]:
        """Return level, seed and transcript, shortened, as plain JSON."""
        turns: list[Json] = []
        for action, got in self.steps[:MAX_EVIDENCE_TURNS]:
            turn = {"action": clip(action), "observation": clip(got.observation)}
            turns.append({**turn, "reward": got.reward, "done": got.done})
        found: dict[str, Json] = {
            "level": self.level,
            "seed": self.seed,
            "first_observation": clip(self.start.observation),
            "transcript": turns,
            "return": self.total,
        }
        if len(self.steps) > MAX_EVIDENCE_TURNS:
            found["turns_left_out"] = len(self.steps) - MAX_EVIDENCE_TURNS
        if self.fault is not None:
            found["fault"] = {**self.fault.as_json(), "traceback": clip(self.fault.traceback, 2000)}
        return found


def first_difference(left: Trace, right: Trace) -> dict[str, Json]:
    """Return where two traces part, as plain JSON; empty if they are equal."""
    if left.key() == right.key():
        return {}
    where: dict[str, Json] = {"level": left.level, "seed": left.seed}
    pairs = zip(left.steps, right.steps, strict=False)
    start = (left.start, right.start)
    if Trace(0, 0, start[0]).key() != Trace(0, 0, start[1]).key():
        return {**where, "turn": 0, "first": _shown(start[0]), "second": _shown(start[1])}
    blank = ResetOutcome()
    for number, (one, other) in enumerate(pairs, start=1):
        if Trace(0, 0, blank, (one,)).key() != Trace(0, 0, blank, (other,)).key():
            shown = {"first": _shown(one[1]), "second": _shown(other[1])}
            return {**where, "turn": number, "action": clip(one[0]), **shown}
    return {**where, "turns": [len(left.steps), len(right.steps)]}


def clip(text: str, limit: int = MAX_EVIDENCE_CHARS) -> str:
    """Return `text` shortened for evidence, with lone surrogates escaped so that it is UTF-8."""
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def info_text(info: Mapping[str, Json]) -> str:
    """Return an info dict as one comparable string."""
    return _as_text(dict(info))


def _kind(fault: Fault | None) -> Json:
    # The text of a fault may hold addresses; its kind and exception type must agree.
    return None if fault is None else [fault.kind, fault.message.partition(":")[0]]


def _shown(outcome: ResetOutcome | StepOutcome) -> dict[str, Json]:
    shown: dict[str, Json] = {"observation": clip(outcome.observation)}
    if isinstance(outcome, StepOutcome):
        shown["reward"] = outcome.reward
        shown["done"] = outcome.done
    shown["info"] = clip(info_text(outcome.info))
    if outcome.fault is not None:
        shown["fault"] = outcome.fault.as_json()
    return shown
