"""`Loop`: where the trainer's batches come from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spade_envs.corpus import Corpus
from spade_envs.store import plays as ledger
from spade_train.batch import Batch, Row, UpdateStats, World
from spade_train.config import Config
from spade_train.curriculum import is_design_update
from spade_train.delayed import DelayedDesigns, DueDesign
from spade_train.errors import StateError
from spade_train.loop import events, health, memory, metrics, pools
from spade_train.loop.acting import Acting, Plays
from spade_train.loop.briefs import Desk
from spade_train.loop.designing import Designing, Phase
from spade_train.loop.events import Book
from spade_train.loop.grade import Grades, Scored, graded, remembered, scored
from spade_train.loop.held import HeldOut
from spade_train.loop.hints import hint_metrics, shown_hints, with_hints
from spade_train.loop.jobs import moved_windows, play_jobs, with_counts
from spade_train.loop.outcomes import cost
from spade_train.loop.plays import lines_of
from spade_train.loop.ports import Rollouts, Shelf, Spans
from spade_train.loop.state import LiveEnv, LoopState, from_bytes, to_bytes
from spade_train.runs import Spent
from spade_train.runs.checkpoint import Checkpoint, Stage
from spade_train.types import Role

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
        fallback: Sequence[LiveEnv] = (),
        interrupted: Callable[[], str] = lambda: "",
        family: Callable[[str], str] = lambda code: "",
        exams: Callable[[int], Mapping[str, float]] = lambda update: {},
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
            fallback: what is played as long as no program was accepted.
            interrupted: says why the run is to stop after this update; empty if it is not.
            family: names the family of a source for the records.
            exams: plays benchmarks with the weights as they are; gives figures by name.
        """
        self.config, self.rollouts, self.book, self.world = config, rollouts, book, world
        self.held = held or HeldOut()
        self._exams = exams
        self._interrupted, self._fallback = interrupted, tuple(fallback)
        self._acting = Acting(config, rollouts, world)
        self._designing = Designing(
            config,
            Desk(config, corpus, shelf),
            rollouts,
            book,
            world,
            held=self.held.digests,
            family=family,
        )
        state = LoopState(
            delayed=DelayedDesigns(delay=config.designer.delay),
            potential=config.designer.score.potential(),
        )
        self._state = pools.with_pool(state, pool, config.pool.seed) if pool else state
        self._next = self._state
        self._values: dict[str, float] = {}
        self._lines: list[ledger.Plays] = []  # plays since the last checkpoint, in the main process
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
            CorpusChanged: a document is not as it was when the run began.
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
                self._state = self._designing.pool(self._state)
                self._wrote_pool = True
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
        """Write the state; plays go into the ledger first, since a repeated line counts once."""
        self.book.plays(self._lines)
        self._lines = []
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
            return self._train(update, state, Plays((), ()), due)
        values = self._evaluate(update)
        if values:
            values |= metrics.budget_metrics(self._state.spent)
            self.book.log(update, dict(sorted(values.items())))
        self._state = replace(self._state, ended=why)
        self.book.note("stopped", update, why=why)
        return None

    def _play(self, update: int) -> Batch:
        state, config = self._state, self.config
        phase = Phase((), state)
        if is_design_update(update, config.designer.interval):
            phase = self._designing.phase(state, update)
        state, fresh = phase.state, phase.fresh
        envs = list(state.active) or pools.stand_ins(config, self._fallback, update)
        if state.cursor is not None:
            places, cursor = state.cursor.draw(config.designer.environments)
            state = replace(state, cursor=cursor)
            envs = [state.pool[place] for place in places]
        if phase.played:
            plays = Plays.alone(phase.played)
        else:
            hinted = self._hinted(update, fresh=bool(fresh))
            jobs = play_jobs(config, state, envs, update=update, hinted=hinted)
            if config.hint.writer == "policy":
                jobs, state = self._acting.with_hints(jobs, state)
            plays = self._acting.play(jobs)
        state = self._counted(update, state, envs, plays)
        if fresh and config.hint.writer == "policy":
            shown = shown_hints([each for _, each in plays.played], self.world)
            state = replace(state, waiting=with_hints(state.waiting, shown))
        self._values |= metrics.design_metrics(phase.drafts)
        self._values |= metrics.difficulty_metrics(fresh, plays.outcomes)
        self._values |= hint_metrics([state.waiting[env.digest] for env in fresh])
        due, delayed = state.delayed.due(update)
        return self._train(update, replace(state, delayed=delayed), plays, due)

    def _hinted(self, update: int, *, fresh: bool) -> int:
        """Return how often each environment is played with the hint in an update."""
        interval, hint = self.config.designer.interval, self.config.hint
        if fresh:
            return hint.episodes_per_env
        last = interval > 1 and (update + 1) % interval == 0
        return hint.replay_episodes if last else 0

    def _counted(
        self, update: int, state: LoopState, envs: Sequence[LiveEnv], plays: Plays
    ) -> LoopState:
        """Return the state with the episodes in its counts, after a look at their faults."""
        results = [each.result for each in plays.outcomes]
        health.check_faults(self.config, self.book, update, results)
        if self.world.rank == 0:
            self._lines += lines_of(self.config, update, results)
        pooled = state.cursor is not None
        events.note_episodes(self.book, update, plays.played, envs, pooled=pooled)
        windows = state.windows
        if self.config.levels.rule == "sliding":
            windows = moved_windows(self.config, state, envs, results)
        return replace(
            state,
            spent=state.spent + cost(plays.outcomes),
            delayed=state.delayed.with_results(results),
            levels=with_counts(state.levels, envs, results),
            windows=windows,
        )

    def _train(
        self,
        update: int,
        state: LoopState,
        plays: Plays,
        due: Sequence[DueDesign],
    ) -> Batch:
        """Score what falls due and make the rows; the state moves on with the update."""
        designs, potential = scored(self.config, state, due)
        grades = graded(
            self.config, state, plays.outcomes, designs if self.config.designer.train else ()
        )
        events.note_scores(self.book, update, designs)
        self._values |= metrics.agent_metrics(plays.outcomes, grades.groups)
        self._values |= metrics.score_metrics(designs)
        rows = (
            *self._agent_rows(plays, grades),
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

    def _agent_rows(self, plays: Plays, grades: Grades) -> list[Row]:
        temperature = self.config.agent.sampling.temperature or 1.0
        return [
            Row(
                dialogue=each.dialogue,
                advantage=grades.agent[place],
                role=Role.AGENT,
                temperature=temperature,
            )
            for place, each in plays.played
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

    def _evaluate(self, update: int) -> dict[str, float]:
        begun = time.perf_counter()
        found = {**self._acting.evaluate(self.held, update), **self._exams(update)}
        if found:
            wall_s = round(time.perf_counter() - begun, 4)
            self.book.note("evaluated", update, values=found, wall_s=wall_s)
        return found

    def _note_times(self, update: int, *, trained_s: float) -> None:
        spans = self.rollouts.spans() + Spans({"model_s": trained_s})
        now = time.perf_counter()
        wall_s, self._begun = now - (self._begun or now), now
        events.note_times(self.book, update, spans, wall_s)
