"""`generate`: a stream of certified environments and of refused designs.

Without a desk, attempt i is a pure function of the settings and of i; with one, also of what the
store held when it was asked for, which is kept beside the ledger. Every answer is on disk before
anything is made of it, every outcome before it is yielded, so a run may be killed at any point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from spade_envs.corpus import Corpus
from spade_envs.design.brief import choose_skills
from spade_envs.design.clients import Policy, Price
from spade_envs.design.modes import PARENTS, choose_modes
from spade_envs.errors import ConfigError
from spade_envs.gates import check
from spade_envs.novelty import Door, Thresholds
from spade_envs.pipeline.budget import Budget
from spade_envs.pipeline.design import Check
from spade_envs.pipeline.desk import Desk
from spade_envs.pipeline.plan import Plan
from spade_envs.pipeline.run import Progress, Run
from spade_envs.store import EnvStore
from spade_envs.types import EnvKind, Mode, Record, Rejection, Skill

if TYPE_CHECKING:
    from spade_envs.sandbox import Sandbox


class DesignSettings(TypedDict, total=False):
    """What decides what is designed; defaults as in `Plan`."""

    seed: int
    """Of passages, skills and sampling, >= 0."""
    temperature: float
    """Of sampling, >= 0."""
    max_tokens: int
    """Most tokens per completion, >= 1."""
    repair_turns: int
    """How often a refused design goes back to the designer with the evidence, >= 0."""
    prompt_tokens: int
    """Longest prompt of a design, by `design.length.estimate`."""
    novelty: Thresholds
    """How near to another environment of the store a new one may be (docs/novelty.md)."""


def generate(
    designer: Policy,
    corpus: Corpus | None,
    store: EnvStore,
    *,
    count: int | None,
    max_attempts: int | None = None,
    skills: Sequence[Skill | str] = (),
    kinds: Sequence[EnvKind] = (),
    sandbox: Sandbox | None = None,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    block: int = 16,
    licence: str = "MIT",
    checker: Check | None = None,
    budget: Budget | None = None,
    price: Price | None = None,
    modes: Sequence[str] = (),
    desk: Desk | None = None,
    **design: Unpack[DesignSettings],
) -> Iterator[Record | Rejection]:
    """Yield the outcomes of attempts, in their order, until `count` environments are certified.

    A run that is started again yields what it had finished, and goes on behind it.

    Args:
        designer: who writes.
        corpus: what the ideas come from; None for ideas from the skill alone.
        store: where certified environments are published and refused ones kept for study.
        count: environments wanted, >= 1; None for as many as `max_attempts` and `budget` allow.
        max_attempts: where to give up, >= 1; twice `count` if None, no limit without `count`.
        skills: what to design for, each equally often; every skill if empty.
        kinds: kinds of environments to design; both if empty.
        sandbox: where the gates run; the process-wide one if None.
        workers: sources that are checked at once, >= 1.
        progress: called at the beginning, after each outcome and each answer, and at the end.
        block: attempts that are under way at once, >= 1; more for a server that answers more.
        licence: SPDX identifier of the environments.
        checker: what checks a source instead of `gates.check`, for tests.
        budget: an attempt begins only if its longest answers are covered; those begun are finished.
        price: of tokens, for a budget in dollars.
        modes: sorts of design to rotate through (`design.modes.MODES`); by the skill if empty.
        desk: of this store; chooses briefs by what it holds. Modes with parents get one anyway.
        design: what decides what is designed, see `DesignSettings`.

    Raises:
        ConfigError: a setting cannot be used.
        ClientError: the designer answers nothing (any more).
        StoreError: another process is at the same run of this store.
    """
    budget = budget or Budget()
    limit = _limit(count, max_attempts, budget, price)
    _at_least_one(count=count, workers=workers, block=block, max_attempts=limit)
    wanted = choose_skills(skills, kinds)
    chosen = choose_modes(modes, wanted)
    plan = _plan(designer, corpus, wanted, chosen, desk or _desk_for(chosen, store), design)
    gates = checker or partial(check, sandbox=sandbox)
    door = Door(store, plan.novelty, sandbox=sandbox)
    run = Run(plan, designer, store, gates, licence, budget=budget, price=price, door=door)
    return run.stream(count, limit, block, workers, progress)


def _plan(
    designer: Policy,
    corpus: Corpus | None,
    skills: tuple[Skill, ...],
    modes: tuple[Mode, ...],
    desk: Desk | None,
    design: DesignSettings,
) -> Plan:
    name = designer.name
    return Plan(skills=skills, modes=modes, desk=desk, corpus=corpus, designer=name, **design)


def _desk_for(modes: Sequence[Mode], store: EnvStore) -> Desk | None:
    return Desk(store) if any(mode in PARENTS for mode in modes) else None


def _limit(
    count: int | None, max_attempts: int | None, budget: Budget, price: Price | None
) -> int | None:
    """Return the number of attempts at which to give up; None for none."""
    if budget.usd is not None and price is None:
        raise ConfigError("a budget in usd needs the price of tokens, such as in=0.15,out=0.6")
    if max_attempts is not None or count is not None:
        return 2 * (count or 0) if max_attempts is None else max_attempts
    if not budget.limited:
        raise ConfigError("without count the run needs max_attempts or a budget")
    return None


def _at_least_one(**settings: int | None) -> None:
    for name, value in settings.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name} must be >= 1, not {value}")
