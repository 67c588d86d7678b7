"""`generate`: a stream of certified environments and of refused designs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_envs.corpus import Corpus
from spade_envs.design.brief import choose_skills
from spade_envs.design.clients import Designer
from spade_envs.errors import ConfigError, NotFound, Withdrawn
from spade_envs.gates import GATES_VERSION, check
from spade_envs.pipeline.design import Check, Design, run_block
from spade_envs.pipeline.ledger import Ledger, Line
from spade_envs.pipeline.plan import Plan
from spade_envs.pipeline.seen import Seen
from spade_envs.store import EnvStore
from spade_envs.types import EnvKind, EnvSource, Record, Rejection, RejectionStage, Skill

if TYPE_CHECKING:
    from spade_envs.sandbox import Sandbox

_MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come."""

    accepted: int
    rejected: int
    count: int
    """Environments wanted."""
    max_attempts: int
    replayed: int
    """Attempts that an earlier process had finished."""


def generate(
    designer: Designer,
    corpus: Corpus | None,
    store: EnvStore,
    *,
    count: int,
    seed: int = 0,
    max_attempts: int | None = None,
    skills: Sequence[Skill | str] = (),
    kinds: Sequence[EnvKind] = (),
    sandbox: Sandbox | None = None,
    repair_turns: int = 0,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    block: int = 16,
    temperature: float = 0.8,
    max_tokens: int = 4096,
    licence: str = "MIT",
    checker: Check | None = None,
) -> Iterator[Record | Rejection]:
    """Design environments until `count` are certified; yield each outcome, in order of attempts.

    Attempt i depends on the settings and on i alone. What is finished is in the store and noted in
    its ledger before it is yielded; a run that is started again with the same settings yields what
    was finished and goes on behind it.

    Args:
        designer: who writes.
        corpus: what the ideas come from; None for ideas from the skill alone.
        store: where certified environments are published and refused ones kept for study.
        count: environments wanted, >= 1.
        seed: of passages, skills and sampling, >= 0.
        max_attempts: where to give up, >= 1; twice `count` if None.
        skills: what to design for, each equally often; every skill if empty.
        kinds: kinds of environments to design; both if empty.
        sandbox: where the gates run; the process-wide one if None.
        repair_turns: how often a refused design goes back to the designer with the evidence, >= 0.
        workers: sources that are checked at once, >= 1.
        progress: called after each outcome.
        block: attempts that are handed to the designer together, >= 1.
        temperature: of sampling, >= 0.
        max_tokens: most tokens per completion, >= 1.
        licence: SPDX identifier of the environments.
        checker: what checks a source instead of `gates.check`, for tests.

    Raises:
        ConfigError: a setting cannot be used.
        ClientError: the designer answered none of a block's requests.
        StoreError: the store cannot be written to.
    """
    for name, value in (("count", count), ("workers", workers), ("block", block)):
        if value < 1:
            raise ConfigError(f"{name} must be >= 1, not {value}")
    limit = 2 * count if max_attempts is None else max_attempts
    if limit < 1:
        raise ConfigError(f"max_attempts must be >= 1, not {limit}")
    plan = Plan(
        seed=seed,
        skills=choose_skills(skills, kinds),
        corpus=corpus,
        designer=designer.name,
        temperature=temperature,
        max_tokens=max_tokens,
        repair_turns=repair_turns,
        gates=GATES_VERSION,
    )
    run = _Run(plan, designer, store, checker or _gates(sandbox), licence)
    return run.stream(count, limit, block, workers, progress or (lambda _: None))


def _gates(sandbox: Sandbox | None) -> Check:
    return lambda source: check(source, sandbox=sandbox)


class _Run:
    """One run on one store: what was finished before, and how to finish the next attempt."""

    def __init__(
        self, plan: Plan, designer: Designer, store: EnvStore, checker: Check, licence: str
    ) -> None:
        self.plan, self.designer, self.store = plan, designer, store
        self.checker, self.licence = checker, licence
        self.ledger = Ledger(store, plan.key)
        self.seen = Seen(store)

    def stream(
        self,
        count: int,
        limit: int,
        block: int,
        workers: int,
        progress: Callable[[Progress], None],
    ) -> Iterator[Record | Rejection]:
        """Yield outcomes until enough are records or the limit is reached."""
        accepted = rejected = replayed = 0
        for start in range(0, limit, block):
            attempts = range(start, min(start + block, limit))
            for outcome, old in self._block(attempts, workers):
                accepted += isinstance(outcome, Record)
                rejected += isinstance(outcome, Rejection)
                replayed += old
                progress(
                    Progress(
                        accepted=accepted,
                        rejected=rejected,
                        count=count,
                        max_attempts=limit,
                        replayed=replayed,
                    )
                )
                yield outcome
                if accepted >= count:
                    return

    def _block(
        self, attempts: Sequence[int], workers: int
    ) -> Iterator[tuple[Record | Rejection, bool]]:
        """Yield the outcome of each attempt, and whether it was finished before."""
        old = {attempt: self._replay(attempt) for attempt in attempts}
        pending = [attempt for attempt in attempts if old[attempt] is None]
        designs = run_block(
            self.plan, self.designer, pending, self.checker, known=self._known, workers=workers
        )
        for attempt in attempts:
            before = old[attempt]
            yield (self._finish(next(designs)), False) if before is None else (before, True)

    def _replay(self, attempt: int) -> Record | Rejection | None:
        line = self.ledger.get(attempt)
        if line is None:
            return None
        if line.stage is not None:
            return Rejection(stage=line.stage, reason=line.reason, attempt=attempt)
        try:
            return self.store.get(line.digest or "")
        except Withdrawn as error:
            return Rejection(stage="gates", reason=str(error), attempt=attempt)
        except NotFound:
            self.ledger.forget(attempt)  # somebody removed it: the attempt is made again
            return None

    def _known(self, source: EnvSource) -> bool:
        # With repairs the gates' findings are part of the next request, so they are always needed.
        return self.plan.repair_turns == 0 and self.seen.twin(source) is not None

    def _finish(self, design: Design) -> Record | Rejection:
        """Publish or refuse a design, and note it in the ledger."""
        if design.completion is None:
            # Not noted: a client's failure says nothing about the attempt, which may be made again.
            return Rejection(stage="client", reason=design.error, attempt=design.attempt)
        if design.source is None:
            return self._refuse(design, "parse", design.error)
        twin = self.seen.twin(design.source)
        if twin is not None:
            if twin.exact and self._run_of(twin.record) == self.plan.tag(design.attempt):
                return self._accept(design.attempt, twin.record)  # killed between store and ledger
            how = "the same text" if twin.exact else "the same program in other words"
            return self._refuse(design, "novelty", f"{twin.record.id} has {how}")
        if design.report is None or not design.report.accepted:
            return self._refuse(design, "gates", _why(design))
        provenance = self.plan.provenance(design.attempt, design.request.turn, design.completion)
        skill = self.plan.brief(design.attempt).skill
        try:
            record = self.store.add(
                design.source,
                design.report,
                provenance,
                skills=(skill.value,),
                licence=self.licence,
            )
        except Withdrawn as error:
            return self._refuse(design, "novelty", str(error))
        self.seen.add(record, design.source)
        return self._accept(design.attempt, record)

    def _accept(self, attempt: int, record: Record) -> Record:
        self.ledger.append(
            Line(attempt=attempt, digest=record.digest, cursor=self.plan.cursor(attempt).as_json())
        )
        return record

    def _refuse(self, design: Design, stage: RejectionStage, reason: str) -> Rejection:
        rejection = Rejection(
            stage=stage,
            reason=" ".join(reason.split())[:_MAX_REASON_CHARS],
            attempt=design.attempt,
            source=design.source,
            report=design.report,
        )
        self.store.reject(rejection)
        self.ledger.append(
            Line(
                attempt=design.attempt,
                stage=stage,
                reason=rejection.reason,
                cursor=self.plan.cursor(design.attempt).as_json(),
            )
        )
        return rejection

    def _run_of(self, record: Record) -> str | None:
        return self.store.manifest(record).provenance.run


def _why(design: Design) -> str:
    report = design.report
    if report is None:
        return "not checked"
    if report.failures:
        first = report.failures[0]
        return f"{first.gate}: {first.message}"
    return "not every gate was run"
