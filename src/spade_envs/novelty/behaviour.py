"""What an environment does, as a vector: equal under renaming and rewording, not under new rules.

Fixed scripts and the reference solution are played on fixed seeds of the lowest and the highest
level, in the sandbox. Three things are kept, each as hashed features of one length:

* shown: the numbers in the first observation, without those that every seed shows;
* asked: the answers of the reference, and the values (not the names) in its calls;
* paid: rewards, endings and numbers of turns, of the scripts and of the reference.

The distance of two environments is one minus the weighted mean of the three cosines. Words of the
prompts do not count, and neither do names of tools or parameters. An environment whose tasks have
too few different answers and numbers has no vector: any two of those would be alike.
"""

from __future__ import annotations

import re
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spade_envs.api.answers import answer_of
from spade_envs.gates.check import other_sandbox
from spade_envs.gates.lane import Job, OutOfTimeError, StalledError
from spade_envs.gates.policies import script
from spade_envs.gates.ports import SandboxPort
from spade_envs.gates.probes import scripts
from spade_envs.gates.subject import Subject
from spade_envs.gates.trace import Trace
from spade_envs.gates.withheld import is_call, leaves
from spade_envs.sandbox import sandbox_for
from spade_envs.types import EnvSource, Fault, StepOutcome

PROBE_VERSION = 1
"""Changes with anything below: vectors of two versions are not comparable."""

TASKS = 12
"""Level and seed; of two levels half each."""
MIN_TASKS = 6
"""How many of them must differ in what they show, or in what they ask."""
DEADLINE_S = 30.0
BLOCK = 512
WEIGHTS = {"shown": 0.3, "asked": 0.4, "paid": 0.3}
DIMENSION = BLOCK * len(WEIGHTS)

Vector = NDArray[np.float32]
Played = Sequence[tuple[int, Trace]]
"""Number of the script, and episode."""


class Cell(NamedTuple):
    """Features of one task; tasks count equally, however much they hold."""

    label: str
    """Features of two cells can only be equal if the labels are."""
    holds: tuple[str, ...]


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def behaviour(source: EnvSource, sandbox: SandboxPort | None = None) -> Vector | None:
    """Return what an environment does, float32 of shape (DIMENSION,) and length 1.

    None if it cannot be loaded or reset, takes longer than DEADLINE_S, or tells too little.

    Raises:
        SandboxError: no sandbox can be started here.
    """
    subject = Subject(
        source=source,
        sandbox=sandbox or sandbox_for(source),
        elsewhere=other_sandbox,
        deadline=time.monotonic() + DEADLINE_S,
    )
    try:
        return None if isinstance(subject.loaded, Fault) else _vector(subject)
    except (OutOfTimeError, StalledError):
        return None
    finally:
        subject.close()


def unit(row: NDArray[Any]) -> Vector:
    """Return a row at a resolution of 8 bits, as it is kept, and of length 1."""
    coarse = np.rint(row / (float(np.abs(row).max()) or 1.0) * 127).astype(np.float32)
    return np.asarray(coarse / (np.linalg.norm(coarse) or 1.0), dtype=np.float32)


def distance(one: Vector, other: Vector) -> float:
    """Return how differently two environments behave, in [0, 2]: 0 for one and the same."""
    return max(0.0, 1.0 - float(one @ other))


def _vector(subject: Subject) -> Vector | None:
    levels = sorted({0, subject.levels[-1]})
    seeds = range(TASKS // len(levels))
    shown: list[Cell] = []
    asked: list[Cell] = []
    paid: list[Cell] = []
    for name, level in zip(("low", "high"), levels, strict=False):
        played = _played(subject, level, seeds)
        solved = subject.references(level, list(seeds)) if subject.has_reference else []
        starts = [trace for number, trace in played if number == 0]
        if any(trace.start.fault is not None for trace in starts):
            return None
        shown += _shown(name, starts)
        asked += _asked(name, solved) if solved else _replied(name, played)
        paid += _paid(name, played, solved)
    different = max(len({cell.holds for cell in cells}) for cells in (shown, asked))
    if different < MIN_TASKS or not any(cell.holds for cell in asked):
        return None
    return _joined({"shown": shown, "asked": asked, "paid": paid})


def _played(subject: Subject, level: int, seeds: Sequence[int]) -> Played:
    fixed = scripts(subject.interface)
    keys = [(number, seed) for number in range(len(fixed)) for seed in seeds]
    jobs = [Job(level, seed, script(fixed[number])) for number, seed in keys]
    traces = subject.plain.run(jobs, fresh=False)
    return [(number, trace) for (number, _), trace in zip(keys, traces, strict=True)]


def _shown(level: str, starts: Sequence[Trace]) -> list[Cell]:
    found = [Counter(_NUMBER.findall(trace.start.observation)) for trace in starts]
    always = found[0]
    for each in found[1:]:
        always = always & each
    return [
        Cell(f"{level}/{trace.seed}", _each(each - always))
        for trace, each in zip(starts, found, strict=True)
    ]


def _asked(level: str, solved: Sequence[Trace]) -> list[Cell]:
    return [
        Cell(
            f"{level}/{trace.seed}",
            _each(Counter(value for action in trace.actions for value in _values(action))),
        )
        for trace in solved
    ]


def _replied(level: str, played: Played) -> list[Cell]:
    """Return what stands for the answers where there is no reference: the numbers in replies."""
    return [
        Cell(
            f"{level}/{number}/{trace.seed}",
            _each(Counter(n for _, got in trace.steps for n in _NUMBER.findall(got.observation))),
        )
        for number, trace in played
    ]


def _paid(level: str, played: Played, solved: Sequence[Trace]) -> list[Cell]:
    cells = [Cell(f"{level}/{number}", _payments(trace)) for number, trace in played]
    for trace in solved:
        length = f"turns {trace.seed}: {len(trace.steps)}"
        cells.append(Cell(f"{level}/reference", (*_payments(trace), length)))
    return cells


def _each(counts: Counter[str]) -> tuple[str, ...]:
    """Return every value as often as it occurs, each time numbered, in a fixed order."""
    return tuple(f"{value} {n}" for value in sorted(counts) for n in range(counts[value]))


def _values(action: str) -> list[str]:
    if is_call(action):
        return [str(value).casefold() for value in leaves((action,))]
    return [answer_of(action).casefold()]


def _payments(trace: Trace) -> tuple[str, ...]:
    return tuple(f"{turn}: {_pay(got)}" for turn, (_, got) in enumerate(trace.steps))


def _pay(got: StepOutcome) -> str:
    if got.fault is not None:
        return got.fault.kind
    return f"{got.reward:.4g}/{got.done}"


def _joined(blocks: Mapping[str, Sequence[Cell]]) -> Vector:
    rows = [WEIGHTS[name] ** 0.5 * _block(name, cells) for name, cells in blocks.items()]
    return unit(np.concatenate(rows))


def _block(name: str, cells: Sequence[Cell]) -> NDArray[np.float64]:
    total = np.zeros(BLOCK)
    for cell in cells:
        row = np.zeros(BLOCK)
        for feature in cell.holds:
            text = f"{name}/{cell.label}/{feature}"
            number = zlib.crc32(text.encode("utf-8", "surrogatepass"))
            row[(number >> 1) % BLOCK] += 1.0 if number & 1 else -1.0
        total += row / (np.linalg.norm(row) or 1.0)
    length = float(np.linalg.norm(total))
    if length == 0:
        total[0], length = 1.0, 1.0  # what shows nothing is like what shows nothing
    return total / length
