"""One run on one store: what was finished before, and how to finish the next attempt."""

from __future__ import annotations

import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from spade_envs.design.clients import Policy, Price, Usage
from spade_envs.errors import NotFound, Withdrawn
from spade_envs.novelty import Door
from spade_envs.pipeline.answers import Answers
from spade_envs.pipeline.budget import Budget
from spade_envs.pipeline.design import Check, Design
from spade_envs.pipeline.flow import Flow
from spade_envs.pipeline.ledger import Hold, Ledger, Line
from spade_envs.pipeline.plan import Plan
from spade_envs.store import EnvStore
from spade_envs.types import EnvSource, Record, Rejection, RejectionStage

_MAX_REASON_CHARS = 500
_GATE = re.compile(r"L\d+\.\d+")
PATIENCE_S = 60.0
"""How long a run that has enough waits for answers that are under way, to count and keep them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come."""

    accepted: int
    rejected: int
    count: int | None
    """Environments wanted; None for as many as the budget allows."""
    max_attempts: int | None
    replayed: int
    """Attempts that an earlier process had finished."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Rejections by gate, or by stage where no gate refused."""
    usage: Usage = field(default_factory=Usage)
    """Of the whole run, over all processes."""
    in_flight: int = 0
    """Requests that are being answered."""
    stopped: str = ""
    """Why the run has ended: `count`, `attempts`, or the limit of the budget that is reached."""
    run: str = ""
    """Name of the run, for `summarise`."""


@dataclass(slots=True)
class _Tally:
    accepted: int = 0
    rejected: int = 0
    replayed: int = 0
    coming: int = 0
    """Environments of earlier processes that were looked up and not yet handed out."""
    refused: Counter[str] = field(default_factory=Counter)
    stopped: str = ""


class Run:
    """One run on one store: what was finished before, and how to finish the next attempt.

    Raises:
        StoreError: another process is at this run.
    """

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        store: EnvStore,
        checker: Check,
        licence: str,
        *,
        budget: Budget = Budget(),  # noqa: B008 - frozen
        price: Price | None = None,
        door: Door | None = None,
    ) -> None:
        self.plan, self.policy, self.store = plan, policy, store
        self.checker, self.licence = checker, licence
        self.budget, self.price = budget, price
        self._hold = Hold(store, plan.key)
        self.ledger = Ledger(store, plan.key)
        self.answers = Answers(store, plan.key, self.ledger.__contains__)
        self.door = door or Door(store, plan.novelty)
        self._process, self._began = uuid.uuid4().hex[:12], time.monotonic()
        self._before: dict[int, Record | Rejection] = {}
        self._tally = _Tally()

    def stream(
        self,
        count: int | None,
        limit: int | None,
        block: int,
        workers: int,
        progress: Callable[[Progress], None] | None,
    ) -> Iterator[Record | Rejection]:
        """Yield outcomes until enough are records, or attempts or budget are at their limit."""
        tally = self._tally = _Tally()

        def tell() -> None:
            if progress is not None:
                progress(self._progress(count, limit, flow.in_flight))

        flow = Flow(
            self.plan,
            self.policy,
            self.checker,
            self.answers,
            known=self._known,
            workers=workers,
            block=block,
            told=tell,
        )
        patience_s = 0.0
        try:
            tell()
            attempts = iter(range(limit)) if limit is not None else _naturals()
            for attempt, design in flow.run(attempts, self._old, self._room(count)):
                outcome = self._outcome(attempt, design)
                tell()
                yield outcome
                if count is not None and tally.accepted >= count:
                    tally.stopped = "count"
                    break
            patience_s = PATIENCE_S
        finally:
            try:
                flow.close(patience_s)
            finally:
                self._hold.release()
        tally.stopped = tally.stopped or "attempts"
        tell()

    def _room(self, count: int | None) -> Callable[[int, Usage], bool]:
        """Return what tells whether one more attempt may begin."""
        tally = self._tally

        def more(begun: int, reserved: Usage) -> bool:
            if count is not None and begun >= 2 * (count - tally.accepted - tally.coming):
                return False  # what is under way is probably enough
            elapsed_s = time.monotonic() - self._began
            spent = self.budget.spent(self.answers.usage, reserved, self.price, elapsed_s)
            if spent is not None and (not begun or spent == "minutes"):
                tally.stopped = spent
            return spent is None and not tally.stopped

        return more

    def _progress(self, count: int | None, limit: int | None, in_flight: int) -> Progress:
        tally = self._tally
        return Progress(
            accepted=tally.accepted,
            rejected=tally.rejected,
            count=count,
            max_attempts=limit,
            replayed=tally.replayed,
            refused=dict(tally.refused),
            usage=self.answers.usage,
            in_flight=in_flight,
            stopped=tally.stopped,
            run=self.plan.key,
        )

    def _outcome(self, attempt: int, design: Design | None) -> Record | Rejection:
        """Finish an attempt, or take what an earlier process made of it; and count it."""
        tally = self._tally
        if design is None:
            outcome = self._before.pop(attempt)
            tally.replayed += 1
            tally.coming -= isinstance(outcome, Record)
        else:
            outcome = self._finish(design)
        if isinstance(outcome, Record):
            tally.accepted += 1
        else:
            tally.rejected += 1
            tally.refused[refused_by(outcome.stage, outcome.reason)] += 1
        return outcome

    def _old(self, attempt: int) -> bool:
        """Whether an attempt was finished before; its outcome is kept until it is handed out."""
        if attempt in self._before:
            return True
        outcome = self._replay(attempt)
        if outcome is None:
            return False
        self._before[attempt] = outcome
        self._tally.coming += isinstance(outcome, Record)
        return True

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
        if self.plan.repair_turns:
            return False
        return self.door.glance(source) is not None or self._repeats(source) is not None

    def _repeats(self, source: EnvSource) -> str | None:
        """Return why a source adds too little to what the store holds, if so."""
        desk = self.plan.desk
        if desk is None:
            return None
        if (crowd := desk.crowded(source)) is not None:
            return crowd.reason
        found = desk.too_near(source)
        if found is None:
            return None
        return (
            f"{found.record.id} is {1 - found.similarity:.2f} from it in what is said, "
            f"and {desk.apart} is the least (--apart)"
        )

    def _finish(self, design: Design) -> Record | Rejection:
        """Publish or refuse a design, and note it in the ledger."""
        if design.completion is None:
            # Not noted: such a failure says nothing about the attempt, which may be made again.
            return Rejection(stage=design.lost, reason=design.error, attempt=design.attempt)
        if design.source is None:
            return self._refuse(design, "parse", design.error)
        twin = self.door.glance(design.source)
        if twin is not None:
            mine = self.plan.tag(design.attempt)
            if twin.step == "text" and self._run_of(twin.record) == mine:
                return self._accept(design, twin.record)  # killed between store and ledger
            return self._refuse(design, "novelty", twin.reason)
        if (why := self._repeats(design.source)) is not None:
            return self._refuse(design, "novelty", why)
        if design.report is None or not design.report.accepted:
            return self._refuse(design, "gates", _why(design))
        verdict = self.door.judge(design.source)
        if verdict.refused is not None:
            return self._refuse(design, "novelty", verdict.refused.reason)
        provenance = self.plan.provenance(design.attempt, design.request.turn, design.completion)
        provenance["novelty"] = verdict.as_json()
        skill = self.plan.choice(design.attempt).skill
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
        self.door.add(record, design.source)
        if self.plan.desk is not None:
            self.plan.desk.note(record, design.source)
        return self._accept(design, record)

    def _accept(self, design: Design, record: Record) -> Record:
        self.ledger.append(self._line(design, digest=record.digest))
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
        self.ledger.append(self._line(design, stage=stage, reason=rejection.reason))
        return rejection

    def _line(
        self,
        design: Design,
        *,
        digest: str | None = None,
        stage: RejectionStage | None = None,
        reason: str = "",
    ) -> Line:
        failures = design.report.failures if design.report is not None else ()
        return Line(
            attempt=design.attempt,
            digest=digest,
            stage=stage,
            reason=reason,
            cursor=self.plan.cursor(design.attempt).as_json(),
            skill=self.plan.choice(design.attempt).skill.value,
            turn=design.request.turn,
            failed=tuple(result.gate for result in failures),
            process=self._process,
            at_s=round(time.monotonic() - self._began, 3),
        )

    def _run_of(self, record: Record) -> str | None:
        return self.store.manifest(record).provenance.run


def refused_by(stage: str, reason: str) -> str:
    """Return what a rejection is counted by: the gate's id, or the stage."""
    gate = reason.partition(":")[0]
    return gate if stage == "gates" and _GATE.fullmatch(gate) else stage


def _naturals() -> Iterator[int]:
    attempt = 0
    while True:
        yield attempt
        attempt += 1


def _why(design: Design) -> str:
    report = design.report
    if report is None:
        return "not checked"
    if (first := report.gravest) is not None:
        return f"{first.gate}: {first.message}"
    return "not every gate was run"
