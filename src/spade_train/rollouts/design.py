"""Designing: briefs become programs, the gates judge them, what passes is kept.

    jobs -> sample -> parse -> gates (in sandboxes, beside the sampling) -> shelf -> Designed

Outcomes come in the order of the jobs, each as soon as it and those before it are known, so that
play can begin while the gates still look at the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spade_envs.design.brief import derive_seed
from spade_envs.design.parse import parse
from spade_envs.design.prompting import prompt_version, render_repair
from spade_envs.errors import ParseError, Withdrawn
from spade_envs.store.read import clean_line
from spade_envs.types import EnvSource, GateResult, Json, Rejection, RejectionStage
from spade_train.engines import Engine, SampleRequest
from spade_train.rollouts.checking import Checker, Judge, Verdict
from spade_train.rollouts.clock import Clock
from spade_train.rollouts.jobs import Designed, DesignJob
from spade_train.rollouts.settings import DesignSettings
from spade_train.rollouts.shelf import Shelf
from spade_train.rollouts.speech import CHAT, Speech
from spade_train.tokens import ChatFormat, Dialogue

_MAX_REASON_CHARS = 500
_LINE = 300


@dataclass(slots=True)
class _Draft:
    """What a job has come to so far."""

    job: DesignJob
    dialogue: Dialogue
    text: str = ""
    turn: int = 0
    source: EnvSource | None = None
    error: str = ""
    verdict: Verdict | None = None
    twin: str | None = None
    """Digest of an environment that is the same program."""

    @property
    def mendable(self) -> bool:
        refused = self.verdict is not None and not self.verdict.accepted
        return bool(self.text) and (self.source is None or refused)


def design(
    jobs: Sequence[DesignJob],
    *,
    engine: Engine,
    form: ChatFormat,
    shelf: Shelf,
    settings: DesignSettings,
    known: Collection[str] = (),
    speech: Speech = CHAT,
    clock: Clock | None = None,
    judge: Judge | None = None,
) -> Iterator[Designed]:
    """Yield what came of each job, in order; what is accepted is on the shelf by then.

    All is sampled when the first outcome is asked for.

    Args:
        jobs: programs to write.
        engine: samples them.
        form: the designer's chat format.
        shelf: keeps what is accepted, and what is refused for study.
        settings: decoding, gates and repairs.
        known: digests of environments that must not be written again; nothing else counts as
            known, whatever is on the shelf.
        speech: how the designer is asked and read.
        clock: counts the time.
        judge: checks on other machines; None checks on this one. It is not closed here.

    Raises:
        EngineError: the engine cannot answer.
        StoreError: an environment cannot be kept.
    """
    checker = judge or Checker(
        depth=settings.depth, timeout_s=settings.timeout_s, workers=settings.workers
    )
    desk = _Desk(engine, form, shelf, settings, speech, clock or Clock(), checker, known)
    try:
        yield from desk.run(jobs)
    finally:
        engine.forget([job.key for job in jobs])
        if judge is None:
            checker.close()


class _Desk:
    """The designing of one batch of jobs."""

    def __init__(
        self,
        engine: Engine,
        form: ChatFormat,
        shelf: Shelf,
        settings: DesignSettings,
        speech: Speech,
        clock: Clock,
        judge: Judge,
        known: Collection[str],
    ) -> None:
        self._engine, self._form, self._shelf = engine, form, shelf
        self._settings, self._speech, self._clock, self._judge = settings, speech, clock, judge
        self._known = set(known)

    def run(self, jobs: Sequence[DesignJob]) -> Iterator[Designed]:
        """Yield the outcomes; see `design`."""
        with self._clock.on("tokens"):
            drafts = [self._begun(job) for job in jobs]
        rounds = self._round(drafts)
        if self._settings.repair_turns == 0:
            for draft in rounds:
                yield self._finished(draft)
            return
        drafts = list(rounds)
        for _ in range(self._settings.repair_turns):
            again = [draft for draft in drafts if draft.mendable]
            with self._clock.on("tokens"):
                asked = [draft for draft in again if self._ask_again(draft)]
            for _draft in self._round(asked):
                pass
        for draft in drafts:
            yield self._finished(draft)

    def _round(self, drafts: Sequence[_Draft]) -> Iterator[_Draft]:
        """Sample a turn of each draft; yield them in order, each with its verdict."""
        verdicts: dict[str, Iterator[Verdict] | Verdict] = {}
        size = self._settings.together
        for start in range(0, len(drafts), size):
            some = drafts[start : start + size]
            self._sample([draft for draft in some if draft.dialogue.awaits_turn])
            with self._clock.on("gates"):
                new = {d.source.sha256: d.source for d in some if d.source and not d.twin}
                new = {sha: source for sha, source in new.items() if sha not in verdicts}
                found = self._judge.check_all(list(new.values()))
                verdicts.update(dict.fromkeys(new, found))
        for draft in drafts:
            if draft.source is not None and not draft.twin:
                with self._clock.on("gates"):
                    draft.verdict = _resolved(verdicts, draft.source.sha256)
            yield draft

    def _begun(self, job: DesignJob) -> _Draft:
        dialogue = self._form.begin(self._speech.ask(job.brief))
        error = "the prompt leaves no room for an answer" if dialogue.truncated else ""
        return _Draft(job, dialogue, error=error)

    def _sample(self, drafts: Sequence[_Draft]) -> None:
        decoding = self._settings.decoding
        requests = [
            SampleRequest(
                key=draft.job.key,
                ids=tuple(draft.dialogue.ids.tolist()),
                seed=derive_seed("design", draft.job.sample_seed, draft.turn),
                max_tokens=draft.dialogue.room(self._form.window),
                temperature=decoding.temperature,
                top_p=decoding.top_p,
                top_k=decoding.top_k,
            )
            for draft in drafts
        ]
        with self._clock.on("model"):
            turns = self._engine.sample(requests) if requests else []
        with self._clock.on("tokens"):
            for draft, turn in zip(drafts, turns, strict=True):
                draft.dialogue = self._form.sampled(draft.dialogue, turn.ids, turn.logprobs)
                self._read(draft)

    def _read(self, draft: _Draft) -> None:
        """Read the program in the newest turn."""
        said = self._form.turn(draft.dialogue)
        draft.text = self._speech.read(said.raw)
        draft.source, draft.error, draft.verdict = None, "", None
        try:
            draft.source = parse(draft.text, origin=draft.job.key)
        except ParseError as error:
            draft.error = f"{error}{'' if said.ended else '; it was stopped at max_tokens'}"
            return
        if self._settings.repair_turns == 0:  # with repairs, the findings are needed
            draft.twin = self._twin(draft.source)

    def _ask_again(self, draft: _Draft) -> bool:
        """Append the evidence against a draft; False if there is no room for it."""
        findings: Sequence[GateResult | str] = [draft.error]
        if draft.verdict is not None:
            findings = draft.verdict.report.failures or [draft.verdict.reason]
        asked = render_repair((), draft.text, findings, draft.source)[-1]
        longer = self._form.reply(draft.dialogue, [asked])
        if longer.truncated:
            return False
        draft.dialogue = longer
        draft.turn += 1
        return True

    def _twin(self, source: EnvSource) -> str | None:
        return self._shelf.twin(source, self._known, in_other_words=self._settings.novelty)

    def _finished(self, draft: _Draft) -> Designed:
        """Keep a draft, or refuse it."""
        if draft.source is None:
            return self._refused(draft, "parse" if draft.text else "client", draft.error)
        twin = draft.twin or self._twin(draft.source)  # one before it may just have been kept
        if twin is not None:
            return self._refused(draft, "novelty", f"the same program as {twin[:19]}")
        verdict = draft.verdict
        if verdict is None or not verdict.accepted:
            return self._refused(draft, "gates", verdict.reason if verdict else "not checked")
        with self._clock.on("gates"):
            try:
                kept = self._shelf.add(
                    draft.source,
                    verdict.report,
                    self._provenance(draft),
                    skills=(draft.job.brief.skill.value,),
                    licence=self._settings.licence,
                )
            except Withdrawn as error:
                return self._refused(draft, "novelty", str(error))
        if kept.digest in self._known:
            return self._refused(draft, "novelty", f"the same program as {kept.digest[:19]}")
        self._known.add(kept.digest)
        return Designed(
            job=draft.job,
            dialogue=draft.dialogue,
            text=draft.text,
            env=kept.digest,
            source=draft.source,
            hints_withheld=verdict.hint is None or verdict.hint.withheld,
            levels=kept.interface.levels,
            chance=verdict.chance,
            hint=verdict.hint,
            title=kept.title,
            summary=kept.interface.summary,
        )

    def _refused(self, draft: _Draft, stage: RejectionStage, reason: str) -> Designed:
        text = " ".join(reason.split())[:_MAX_REASON_CHARS]
        if stage != "novelty":  # a repetition is in the store already
            with self._clock.on("gates"):
                self._shelf.store.reject(
                    Rejection(
                        stage=stage,
                        reason=text,
                        attempt=draft.job.update,
                        source=draft.source,
                        report=draft.verdict.report if draft.verdict else None,
                    )
                )
        return Designed(
            job=draft.job,
            dialogue=draft.dialogue,
            text=draft.text,
            source=draft.source,
            stage=stage,
            reason=text,
        )

    def _provenance(self, draft: _Draft) -> Mapping[str, Json]:
        settings, job, passage = self._settings, draft.job, draft.job.brief.passage
        return {
            "designer": {
                "model": clean_line(settings.model, _LINE) or "unnamed",
                "sampling": {
                    "max_tokens": self._form.window.turn_tokens,
                    "prompt": prompt_version(),
                    "seed": job.sample_seed,
                    "temperature": settings.decoding.temperature,
                    "top_k": settings.decoding.top_k,
                    "top_p": settings.decoding.top_p,
                    "turn": draft.turn,
                    "update": job.update,
                },
            },
            "passage": passage
            and {
                "corpus": clean_line(passage.corpus, _LINE),
                "source": clean_line(passage.source, _LINE),
                "offset": passage.offset,
                "sha256": passage.sha256,
                "licence": clean_line(passage.licence, _LINE),
                "title": clean_line(passage.title, _LINE),
            },
            "seed": job.brief.seed,
            "run": clean_line(f"{settings.run}#{job.key}", _LINE),
        }


def _resolved(verdicts: dict[str, Iterator[Verdict] | Verdict], sha256: str) -> Verdict:
    """Return a verdict; those of one call come in the order in which they were asked for."""
    found = verdicts[sha256]
    if not isinstance(found, Verdict):
        found = verdicts[sha256] = next(found)
    return found
