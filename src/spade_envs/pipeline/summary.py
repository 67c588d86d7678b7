"""What a run has come to, from its ledger, its answers and its store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from spade_envs.design.clients import Price, Usage
from spade_envs.errors import StoreError
from spade_envs.gates import GATES
from spade_envs.pipeline.advice import MANY, advice_for
from spade_envs.pipeline.answers import Answers
from spade_envs.pipeline.ledger import FOLDER, Ledger, Line
from spade_envs.pipeline.run import refused_by
from spade_envs.store import EnvStore
from spade_envs.types import Json, Record

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One environment that the run made."""

    record: Record
    attempt: int
    turn: int
    """Repairs that led to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that refused designs."""

    by: str
    """Id of the gate, or the stage."""
    title: str
    """What the gate asks for."""
    count: int
    examples: tuple[tuple[int, str], ...]
    """Attempts with their reasons."""
    advice: str
    """What to change; empty if it refused few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One border that designs have to cross."""

    name: str
    reached: int
    passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run has come to, over all processes that worked on it."""

    run: str
    attempts: int
    """Finished ones."""
    made: tuple[Made, ...]
    gone: int
    """Environments that it made and that were withdrawn or removed since."""
    causes: tuple[Cause, ...]
    """The most frequent first."""
    steps: tuple[Step, ...]
    skills: tuple[Step, ...]
    usage: Usage
    cost: float | None
    """In US dollars; None without a price."""
    elapsed_s: float
    processes: int

    def as_json(self) -> dict[str, Json]:
        """Return the summary as plain JSON, environments by id."""
        names = ("run", "attempts", "gone", "cost", "elapsed_s", "processes")
        steps = ("causes", "steps", "skills")
        return {
            **{name: getattr(self, name) for name in names},
            "accepted": [made.record.id for made in self.made],
            **{name: [asdict(one) for one in getattr(self, name)] for name in steps},
            "usage": asdict(self.usage) | {"tokens": self.usage.tokens},
        }


def runs_of(store: EnvStore) -> list[str]:
    """Return the names of the runs that worked on a store, the one that was written to last first.

    Args:
        store: whose ledgers are looked at.
    """
    found = sorted((store.root / FOLDER).glob("generate-*.jsonl"), key=lambda path: path.name)
    plain = [path for path in found if path.is_file() and not path.is_symlink()]
    return [path.stem for path in sorted(plain, key=lambda path: -path.stat().st_mtime)]


def summarise(store: EnvStore, run: str, price: Price | None = None) -> Summary:
    """Return what the run of this name has come to.

    Args:
        store: where it worked.
        run: its name, such as `Progress.run` tells it.
        price: of tokens.
    """
    lines = Ledger(store, run).lines()
    usage = Answers(store, run, lambda attempt: True).usage
    made = tuple(_made(store, lines))
    ends: dict[str, float] = defaultdict(float)
    for line in lines:
        ends[line.process] = max(ends[line.process], line.at_s)
    return Summary(
        run=run,
        attempts=len(lines),
        made=made,
        gone=sum(line.digest is not None for line in lines) - len(made),
        causes=tuple(_causes(lines)),
        steps=tuple(_steps(lines)),
        skills=tuple(_skills(lines)),
        usage=usage,
        cost=None if price is None else round(price.cost(usage), 6),
        elapsed_s=round(sum(ends.values()), 1),
        processes=len(ends),
    )


def _made(store: EnvStore, lines: Sequence[Line]) -> Iterator[Made]:
    for line in lines:
        if line.digest is None:
            continue
        try:
            record = store.get(line.digest)
        except StoreError:
            continue
        yield Made(record=record, attempt=line.attempt, turn=line.turn)


def _cause(line: Line) -> str:
    return refused_by(line.stage or "", line.reason)


def _causes(lines: Sequence[Line]) -> Iterator[Cause]:
    titles = {gate.id: gate.title for gate in GATES}
    refused = [line for line in lines if line.stage is not None]
    for by, count in Counter(map(_cause, refused)).most_common():
        examples = [line for line in refused if _cause(line) == by][:_EXAMPLES]
        many = count >= max(2, MANY * len(lines))
        yield Cause(
            by=by,
            title=titles.get(by, ""),
            count=count,
            examples=tuple((line.attempt, line.reason) for line in examples),
            advice=advice_for(by) if many else "",
        )


def _steps(lines: Sequence[Line]) -> Iterator[Step]:
    """Yield how many designs reached and crossed each border; gates by their families."""
    counts = Counter(_family(line) for line in lines if line.stage is not None)
    left = len(lines)
    for name in ("parse", "novelty", *sorted({gate.id.partition(".")[0] for gate in GATES})):
        if left:
            yield Step(name=name, reached=left, passed=left - counts[name])
        left -= counts[name]


def _family(line: Line) -> str:
    return _cause(line).partition(".")[0] if line.stage == "gates" else line.stage or ""


def _skills(lines: Sequence[Line]) -> Iterator[Step]:
    for skill in sorted({line.skill for line in lines if line.skill}):
        own = [line for line in lines if line.skill == skill]
        yield Step(name=skill, reached=len(own), passed=sum(line.stage is None for line in own))
