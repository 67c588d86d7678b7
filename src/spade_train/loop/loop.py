"""`Loop`: where the trainer's batches come from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from spade_envs.corpus import Corpus
from spade_train.batch import Batch, Row, UpdateStats, World
from spade_train.config import Config
from spade_train.config.roles import Sampling
from spade_train.curriculum import is_design_update
from spade_train.delayed import DelayedDesigns, DueDesign
from spade_train.errors import StateError
from spade_train.loop import events, health, memory, metrics, pools
from spade_train.loop.briefs import Desk
from spade_train.loop.events import Book
from spade_train.loop.grade import Grades, Scored, graded, remembered, scored
from spade_train.loop.held import HeldOut, held_jobs, held_metrics
from spade_train.loop.hints import hint_metrics, shown_hints, with_hints
from spade_train.loop.jobs import env_jobs, moved_windows, play_jobs, with_counts, with_hint
from spade_train.loop.outcomes import Outcome, cost
from spade_train.loop.phase import Draft, design_cost, design_phase, streamed
from spade_train.loop.ports import Rollouts, Shelf, Spans
from spade_train.loop.spread import gathered, mine
from spade_train.loop.state import LiveEnv, LoopState, from_bytes, to_bytes
from spade_train.rollouts.jobs import DesignJob, EpisodeJob, Played
from spade_train.runs import Spent
from spade_train.runs.checkpoint import Checkpoint, Stage
from spade_train.types import Role, as_json

PART = "loop.json"
"""Name of the loop's part of a checkpoint."""


class Loop:
    """One run's source of batches. All that evolves is one frozen `LoopState`.

    In a world of several processes each plays its share; everything that is decided follows from
    values that all of them have.
    """

    def __init__(
        self,
        config: Config,
        rollouts: Rollouts,
        shelf: Shelf,
        book: Book,
        world: World,
        *,
        corpus: Corpus | None = None,
        held: HeldOut | None = None,
        pool: Sequence[LiveEnv] = (),
        interrupted: Callable[[], str] = lambda: "",
        family: Callable[[str], str] = lambda code: "",
    ) -> None:
        """Take everything; nothing is sampled or played yet.

        Args:
            config: the run's configuration.
            rollouts: samples and plays.
            shelf: sources of environments that briefs show.
            book: records of the run.
            world: the processes that train together.
            corpus: documents for briefs; None designs without.
            held: held-out environments; None evaluates nothing.
            pool: environments of a fixed pool that is there already.
            interrupted: says why the run is to stop after this update; empty if it is not.
            family: names the family of a source for the records.
        """
        self.config, self.rollouts, self.book, self.world = config, rollouts, book, world
        self.held = held or HeldOut()
        self._desk = Desk(config, corpus, shelf)
        self._interrupted, self._family = interrupted, family
        state = LoopState(
            delayed=DelayedDesigns(delay=config.designer.delay),
            potential=config.designer.score.potential(),
        )
        self._state = pools.with_pool(state, pool, config.pool.seed) if pool else state
        self._next = self._state
        self._values: dict[str, float] = {}
        self._stop = ""
        self._wrote_pool = False
        self._begun: float | None = None
        self._handed = 0.0

    @property
    def state(self) -> LoopState:
        """The state after the last update that is done."""
        return self._state

    @property
    def stopped(self) -> str:
        """Why the run is over, such as `updates`; empty while it is not."""
        return self._stop or self._state.ended

    # What the trainer asks

    def batch(self, update: int) -> Batch | None:
        """Return the batch of an update; None if the run is over.

        Raises:
            StateError: it is not the update that comes next.
            HealthError: the update breaks a limit of the section `health`.
        """
        if update != self._state.update:
            raise StateError(f"the loop is at update {self._state.update}, not at {update}")
        self._begun = time.perf_counter() if self._begun is None else self._begun
        self._values, self._wrote_pool = {}, False
        why = self._state.ended or self._limit(update, self._state.spent)
        if why:
            batch = self._last(update, why)
        else:
            interval = self.config.evaluation.interval
            if interval and update % interval == 0:
                self._values |= self._evaluate(update)
            if self.config.pool.source == "designer" and not self._state.pool:
                self._write_pool()
            batch = self._play(update)
        self._handed = time.perf_counter()
        return batch

    def updated(self, update: int, stats: UpdateStats) -> bool:
        """Write the numbers of an update and move the state on; return whether to go on."""
        self._state = replace(self._next, update=update + 1)
        values = {**self._values, **metrics.budget_metrics(self._state.spent), **stats.values}
        self.book.log(update, dict(sorted(values.items())))
        self._note_times(update, trained_s=time.perf_counter() - self._handed)
        reasons = [str(why) for why in self.world.gather(self._interrupted()) if why]
        if reasons:
            self._stop = reasons[0]
            self.book.note("stopped", update, why=self._stop)
        return not self._stop

    def wants_save(self, update: int) -> bool:
        """Return whether a checkpoint is due: by the interval, or since the run pauses or ends."""
        done = update + 1
        due = done % self.config.run.save_interval == 0
        ends = bool(self.stopped or self._limit(done, self._state.spent))
        return due or ends or self._wrote_pool

    def save(self, stage: Stage) -> None:
        """Write the state."""
        stage.put(PART, to_bytes(self._state))

    def load(self, checkpoint: Checkpoint) -> None:
        """Take up the state of a checkpoint.

        Raises:
            StateError: it is damaged or of another update.
        """
        state = from_bytes(checkpoint.bytes(PART))
        if state.update != checkpoint.update:
            raise StateError(
                f"{checkpoint.path} is of update {checkpoint.update}, its loop of {state.update}"
            )
        # A budget or a number of updates that was raised since lets the run go on.
        self._state = self._next = replace(state, ended="")

    # The parts of an update

    def _limit(self, update: int, spent: Spent) -> str:
        limit = spent.reached(self.config.budget)
        if limit:
            return f"budget: {limit}"
        return "updates" if update >= self.config.run.updates else ""

    def _last(self, update: int, why: str) -> Batch | None:
        """Return the designer samples that still wait; once there are none, end the run."""
        due, delayed = self._state.delayed.flush()
        if due and self.config.designer.train:
            state = replace(self._state, delayed=delayed, ended=why)
            return self._train(update, state, (), (), due)
        values = self._evaluate(update)
        if values:
            values |= metrics.budget_metrics(self._state.spent)
            self.book.log(update, dict(sorted(values.items())))
        self._state = replace(self._state, ended=why)
        self.book.note("stopped", update, why=why)
        return None

    def _play(self, update: int) -> Batch:
        state = self._state
        drafts: tuple[Draft, ...] = ()
        done: list[Played] = []
        if is_design_update(update, self.config.designer.interval):
            drafts, done, state = self._stream(update) if self._streams else self._design(update)
        fresh = pools.accepted(drafts)
        if state.cursor is not None:
            places, cursor = state.cursor.draw(self.config.designer.environments)
            state = replace(state, cursor=cursor)
            envs = [state.pool[place] for place in places]
        else:
            envs = list(state.active)
        if done:
            played = list(enumerate(done))
            outcomes = [Outcome.of(place, each) for place, each in played]
        else:
            jobs = play_jobs(self.config, state, envs, update=update, fresh=bool(fresh))
            if self.config.hint.writer == "policy":
                jobs, state = self._hint(jobs, state)
            played, outcomes = self._act(jobs)
        results = [each.result for each in outcomes]
        health.check_faults(self.config, self.book, update, results)
        state = replace(
            state,
            spent=state.spent + cost(outcomes),
            delayed=state.delayed.with_results(results),
            levels=with_counts(state.levels, envs, results),
        )
        if self.config.levels.rule == "sliding":
            state = replace(state, windows=moved_windows(self.config, state, envs, results))
        if fresh and self.config.hint.writer == "policy":
            shown = shown_hints([each for _, each in played], self.world)
            state = replace(state, waiting=with_hints(state.waiting, shown))
        self._values |= hint_metrics([state.waiting[env.digest] for env in fresh])
        events.note_episodes(self.book, update, played, envs, pooled=state.cursor is not None)
        self._values |= metrics.design_metrics(drafts)
        self._values |= metrics.difficulty_metrics(fresh, outcomes)
        due, delayed = state.delayed.due(update)
        return self._train(update, replace(state, delayed=delayed), played, outcomes, due)

    @property
    def _streams(self) -> bool:
        """Whether a program is played as soon as it is certified, while others are checked.

        The episodes are the same either way. Several processes first agree on what was accepted,
        further attempts come after the first, and hints are written together.
        """
        config = self.config
        return (
            self.world.size == 1
            and config.designer.attempts == 1
            and config.hint.writer == "environment"
            and config.pool.source == "none"
        )

    def _stream(self, update: int) -> tuple[tuple[Draft, ...], list[Played], LoopState]:
        """Design and play at once."""
        before = self._state
        slots = range(self._slots)
        asked, state = self._desk.jobs(before, update=update, attempt=0, slots=slots)
        drafts: list[Draft] = []

        def jobs() -> Iterator[EpisodeJob]:
            place = 0
            for draft in streamed(
                asked, known=self._known(before), rollouts=self.rollouts, family=self._family
            ):
                drafts.append(draft)
                if draft.env is not None:
                    yield from env_jobs(
                        self.config, before, draft.live, place=place, update=update, fresh=True
                    )
                    place += 1

        played = self.rollouts.act(jobs())
        state = replace(state, spent=state.spent + design_cost(drafts))
        return tuple(drafts), played, self._adopted(update, drafts, state)

    def _design(self, update: int) -> tuple[tuple[Draft, ...], list[Played], LoopState]:
        """Design, and leave the playing for afterwards."""
        drafts, state = design_phase(
            self._state,
            lambda state, attempt, slots: self._desk.jobs(
                state, update=update, attempt=attempt, slots=slots
            ),
            slots=self._slots,
            attempts=self.config.designer.attempts,
            known=self._known(self._state),
            rollouts=self.rollouts,
            world=self.world,
            family=self._family,
        )
        return drafts, [], self._adopted(update, drafts, state)

    @property
    def _slots(self) -> int:
        designer = self.config.designer
        return designer.environments // designer.completions_per_brief

    def _adopted(self, update: int, drafts: Sequence[Draft], state: LoopState) -> LoopState:
        """Return the state in which the new environments are played and their designs wait."""
        config = self.config
        events.note_drafts(self.book, update, drafts)
        health.check_acceptance(config, update, drafts)
        fresh = pools.accepted(drafts)
        if config.gates.auditor == "policy":
            state = self._audit(update, fresh, state)
        active = tuple(fresh) or state.active
        kept = {env.digest for env in (*active, *state.pool)}
        return replace(
            state,
            active=active,
            levels={key: counts for key, counts in state.levels.items() if key in kept},
            windows={key: window for key, window in state.windows.items() if key in kept},
            accepted=(*state.accepted, *(env.digest for env in fresh)),
            waiting={**state.waiting, **{env.digest: env for env in fresh}},
            dialogues={**state.dialogues, **{draft.key: draft.dialogue for draft in drafts}},
            delayed=state.delayed.with_samples([draft.sample for draft in drafts]),
        )

    def _audit(self, update: int, fresh: Sequence[LiveEnv], state: LoopState) -> LoopState:
        """Let the policy remark on new environments; each process asks about its share."""
        share = [env for _, env in mine(fresh, self.world)]
        found = self.rollouts.audit([self._desk.shelf.source(env.digest) for env in share])
        remarks = [
            [env.digest, audit.status, audit.reason, [as_json(each) for each in audit.remarks]]
            for env, audit in zip(share, found.audits, strict=True)
        ]
        parts = self.world.gather([found.tokens, remarks])
        events.note_audits(self.book, update, [each for _, part in parts for each in part])
        return replace(state, spent=state.spent + Spent(hint_tokens=sum(n for n, _ in parts)))

    def _known(self, state: LoopState) -> frozenset[str]:
        """Digests that the designer must not write: of late all, else those that still count."""
        earlier = state.accepted if self.config.gates.novelty else state.waiting
        return self.held.digests | frozenset(earlier) | {env.digest for env in state.pool}

    def _hint(
        self, jobs: Sequence[EpisodeJob], state: LoopState
    ) -> tuple[tuple[EpisodeJob, ...], LoopState]:
        """Let the policy write the hints of this process's hinted episodes."""
        share = [(place, job) for place, job in self._share(jobs) if job.hinted]
        written = self.rollouts.write_hints([job for _, job in share])
        told = {place: hint.text for (place, _), hint in zip(share, written, strict=True)}
        tokens = sum(hint.dialogue.sampled_tokens for hint in written)
        spent = Spent(hint_tokens=sum(map(int, self.world.gather(tokens))))
        jobs = tuple(
            with_hint(job, told[place]) if place in told else job for place, job in enumerate(jobs)
        )
        return jobs, replace(state, spent=state.spent + spent)

    def _share(self, jobs: Sequence[EpisodeJob]) -> list[tuple[int, EpisodeJob]]:
        return mine(jobs, self.world, together=lambda job: job.env)

    def _act(
        self, jobs: Sequence[EpisodeJob], sampling: Sampling | None = None
    ) -> tuple[list[tuple[int, Played]], list[Outcome]]:
        """Return this process's episodes, and what is to be known of all of them."""
        share = self._share(jobs)
        done = self.rollouts.act([job for _, job in share], sampling=sampling)
        played = [(place, each) for (place, _), each in zip(share, done, strict=True)]
        own = [Outcome.of(place, each) for place, each in played]
        return played, gathered(own, Outcome, self.world)

    def _train(
        self,
        update: int,
        state: LoopState,
        played: Sequence[tuple[int, Played]],
        outcomes: Sequence[Outcome],
        due: Sequence[DueDesign],
    ) -> Batch:
        """Score what falls due and make the rows; the state moves on with the update."""
        designs, potential = scored(self.config, state, due)
        grades = graded(self.config, state, outcomes, designs if self.config.designer.train else ())
        events.note_scores(self.book, update, designs)
        self._values |= metrics.agent_metrics(outcomes, grades.groups)
        self._values |= metrics.score_metrics(designs)
        rows = (
            *self._agent_rows(played, grades),
            *self._designer_rows(update, state, designs, grades),
        )
        gone = {each.key for each in designs}
        waits = {sample.env for sample in state.delayed.samples}
        size = self.config.memory.size
        self._next = replace(
            state,
            potential=potential,
            memory=memory.remember(state.memory, remembered(designs, state.waiting), size),
            dialogues={key: each for key, each in state.dialogues.items() if key not in gone},
            waiting={key: env for key, env in state.waiting.items() if key in waits},
        )
        return Batch(rows=rows, tokens=grades.tokens)

    def _agent_rows(self, played: Sequence[tuple[int, Played]], grades: Grades) -> list[Row]:
        temperature = self.config.agent.sampling.temperature or 1.0
        return [
            Row(
                dialogue=each.dialogue,
                advantage=grades.agent[place],
                role=Role.AGENT,
                temperature=temperature,
            )
            for place, each in played
            if place in grades.agent
        ]

    def _designer_rows(
        self, update: int, state: LoopState, designs: Sequence[Scored], grades: Grades
    ) -> list[Row]:
        temperature = self.config.designer.sampling.temperature or 1.0
        return [
            Row(
                dialogue=state.dialogues[each.key],
                advantage=grades.designer[each.key],
                role=Role.DESIGNER,
                temperature=temperature,
                on_policy=each.due.sample.update == update,
            )
            for place, each in enumerate(designs)
            if place % self.world.size == self.world.rank and each.key in grades.designer
        ]

    def _write_pool(self) -> None:
        """Let the untrained designer write the fixed pool."""
        state = self._state
        found: list[LiveEnv] = []
        round_ = 0
        while slots := pools.missing_slots(self.config, found, round_):
            drafts, state = design_phase(
                state,
                partial(self._pool_jobs, round_, slots),
                slots=len(slots),
                attempts=1,
                known=self.held.digests | {env.digest for env in found},
                rollouts=self.rollouts,
                world=self.world,
                family=self._family,
            )
            events.note_drafts(self.book, -1, drafts)
            found += pools.accepted(drafts)
            round_ += 1
        self._state = pools.with_pool(state, found, self.config.pool.seed)
        self._wrote_pool = True

    def _pool_jobs(
        self, round_: int, slots: Sequence[int], state: LoopState, _: int, places: Sequence[int]
    ) -> tuple[tuple[DesignJob, ...], LoopState]:
        return self._desk.pool_jobs(state, attempt=round_, slots=[slots[each] for each in places])

    def _evaluate(self, update: int) -> dict[str, float]:
        """Return held-out success with the weights as they are; it counts in no budget."""
        settings = self.config.evaluation
        jobs = held_jobs(self.held, episodes=settings.episodes, seed=settings.seed, update=update)
        if not jobs:
            return {}
        sampling = self.config.agent.sampling
        if settings.greedy:
            sampling = sampling.model_copy(update={"temperature": 0.0})
        begun = time.perf_counter()
        _, outcomes = self._act(jobs, sampling)
        found = held_metrics(self.held, [each.result for each in outcomes])
        wall_s = round(time.perf_counter() - begun, 4)
        self.book.note("evaluated", update, values=found, wall_s=wall_s)
        return found

    def _note_times(self, update: int, *, trained_s: float) -> None:
        spans = self.rollouts.spans() + Spans({"model_s": trained_s})
        now = time.perf_counter()
        wall_s, self._begun = now - (self._begun or now), now
        events.note_times(self.book, update, spans, wall_s)
