"""One run on one store: what was finished before, and how to finish the next attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spade_envs.design.clients import Policy
from spade_envs.errors import NotFound, Withdrawn
from spade_envs.pipeline.design import Check, Design, run_block
from spade_envs.pipeline.ledger import Ledger, Line
from spade_envs.pipeline.plan import Plan
from spade_envs.pipeline.seen import Seen
from spade_envs.store import EnvStore
from spade_envs.types import EnvSource, Record, Rejection, RejectionStage

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


class Run:
    """One run on one store: what was finished before, and how to finish the next attempt."""

    def __init__(
        self, plan: Plan, designer: Policy, store: EnvStore, checker: Check, licence: str
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
        progress: Callable[[Progress], None] | None,
    ) -> Iterator[Record | Rejection]:
        """Yield outcomes until enough are records or the limit is reached."""
        accepted = rejected = replayed = 0
        for start in range(0, limit, block):
            attempts = range(start, min(start + block, limit))
            for outcome, old in self._block(attempts, workers):
                accepted += isinstance(outcome, Record)
                rejected += isinstance(outcome, Rejection)
                replayed += old
                if progress is not None:
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
    if (first := report.gravest) is not None:
        return f"{first.gate}: {first.message}"
    return "not every gate was run"
