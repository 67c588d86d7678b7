"""What the loop notes in the run's events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from spade_envs.store.plays import Plays
from spade_envs.types import Json
from spade_train.loop.grade import Scored
from spade_train.loop.phase import Draft
from spade_train.loop.ports import Spans
from spade_train.loop.state import LiveEnv
from spade_train.loop.transcripts import transcripts
from spade_train.rollouts.jobs import Played

_POOL_INTERVAL = 10
"""Updates from one transcript to the next in a fixed pool."""


class Book(Protocol):
    """Where a run's records go; in all processes but the main one nothing is written."""

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write the numbers of one update."""
        ...

    def note(self, kind: str, update: int, /, **fields: Json) -> None:
        """Write one event."""
        ...

    def plays(self, lines: Sequence[Plays]) -> None:
        """Add plays to the ledger of the run's store; lines that it has already are passed over.

        Players and keys are the run's: `policy` is its name, which stands before each key, too.
        """
        ...


def note_drafts(book: Book, update: int, drafts: Sequence[Draft]) -> None:
    """Note every program of a design phase."""
    for draft in drafts:
        book.note(
            "designed",
            update,
            env=draft.env,
            skill=draft.skill,
            challenge=draft.challenge,
            stage=draft.stage,
            reason=draft.reason,
            title=draft.title,
            family=draft.family,
        )


def note_audits(book: Book, update: int, audits: Sequence[Json]) -> None:
    """Note what the policy remarked on environments: digest, status, reason, remarks of each."""
    for env, status, reason, remarks in audits:
        book.note("audited", update, env=env, status=status, reason=reason, remarks=remarks)


def note_scores(book: Book, update: int, designs: Sequence[Scored]) -> None:
    """Note every score that fell due."""
    for each in designs:
        found = each.measurement
        regret = found.regret if found else None
        book.note(
            "scored",
            update,
            env=each.due.sample.env,
            score=each.score.value,
            reason=each.score.reason,
            terms=dict(each.score.terms),
            regret=each.regret,
            success=found.success.rate if found else None,
            success_hinted=regret.hinted_success if regret else None,
        )


def note_episodes(
    book: Book,
    update: int,
    played: Sequence[tuple[int, Played]],
    envs: Sequence[LiveEnv],
    *,
    pooled: bool,
) -> None:
    """Note the transcript of one instance of the first environment, in a pool now and then."""
    if not envs or (pooled and update % _POOL_INTERVAL):
        return
    for fields in transcripts([each for _, each in played], envs[0].digest):
        book.note("episode", update, **fields)


def note_times(book: Book, update: int, spans: Spans, wall_s: float) -> None:
    """Note where the wall time of an update went."""
    seconds = {key: round(value, 4) for key, value in sorted(spans.seconds.items())}
    other = round(max(0.0, wall_s - spans.total), 4)
    book.note("times", update, wall_s=round(wall_s, 4), **seconds, other_s=other)
