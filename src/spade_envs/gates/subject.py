"""The thing under test: one source, its workers, and the episodes that several gates look at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from spade_envs.api.calls import parse_calls
from spade_envs.gates.context import Context
from spade_envs.gates.lane import Job, Lane, Live
from spade_envs.gates.policies import Policy, boxed, commands, cycle, null, script
from spade_envs.gates.ports import Mode, SandboxPort
from spade_envs.gates.probes import PLAIN, scripts
from spade_envs.gates.trace import Trace, info_text
from spade_envs.sandbox.policy import LintFinding, lint
from spade_envs.types import EnvSource, Fault, GateResult, Interface, Limits, ResetOutcome

Depth = Literal["quick", "standard", "deep"]
LaneName = Literal["plain", "restricted", "poisoned", "elsewhere"]

Solution = tuple[str, ...] | Fault
"""Reference actions, or why they cannot be had."""

Sample = tuple[int, int, tuple[str, ...]]
"""Level, seed and actions."""

RNG_CODE = "global-rng"
"""Code of the linter's findings on process-wide randomness and clocks: L0.3's, not L0.2's."""

MOST_SHOWN = 8
"""Actions picked from the first observation where there is no reference to play."""
REPLAYS = 4
SMALL_SEEDS, SMALL_EVERY = 100, 4
OTHER_SEEDS = 1000
UNPLAYED_SEEDS = 10_000
"""Distance of further seeds from the first ones."""
DRAWN_SEEDS = 1 << 31
GOLDEN_STEP = 1_327_217_885
"""Odd, and `DRAWN_SEEDS` divided by the golden ratio."""
SPREAD = 2_654_435_761


@dataclass
class Subject:
    """One source with everything that was already measured on it.

    Lanes (loaded workers) and reference episodes are made when first asked for and then kept, so
    that gates are independent functions and yet cheap together.
    """

    source: EnvSource
    sandbox: SandboxPort
    elsewhere: Callable[[], SandboxPort]
    """Gives another sandbox: other hash seed, time zone and folder."""
    limits: Limits = field(default_factory=Limits)
    depth: Depth = "standard"
    seed_count: int = 20
    trusted_imports: tuple[str, ...] = ()
    """Libraries that the source may import; what they do in the process is not held against it."""
    deadline: float = float("inf")
    """Moment on the monotonic clock after which gates stop."""
    context: Context = field(default_factory=Context)
    results: list[GateResult] = field(default_factory=list)
    """What the gates before this one said."""
    written: Callable[[int, int], str] | None = None
    """Gives the hint of a level and a seed that somebody else wrote, to be judged in place of the
    environment's own."""

    def __post_init__(self) -> None:
        self._first_seed = int(self.source.sha256[:7], 16)
        self._findings: tuple[LintFinding, ...] | None = None
        self._lanes: dict[LaneName, Lane | Fault] = {}
        self._solutions: dict[tuple[int, int], Solution] = {}
        self._references: dict[tuple[int, int], Trace] = {}
        self._starts: dict[tuple[int, int], Trace] = {}
        self._samples: dict[Sample, Trace] = {}
        self._replays: dict[Sample, Trace] = {}
        self._hints: dict[tuple[int, int], str | Fault] = {}
        self._full_episodes: dict[tuple[str, int, int], Trace] = {}
        self._start_texts: dict[int, tuple[ResetOutcome, str]] = {}
        self._asked_for_copies = False

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """What the linter says about the source."""
        return self.lint()

    def lint(self, tree: ast.Module | None = None) -> tuple[LintFinding, ...]:
        """Return what the linter says, kept; a `tree` that was parsed already saves a parse."""
        if self._findings is None:
            trusted = self.trusted_imports
            self._findings = lint(self.source, trusted_imports=trusted, tree=tree)
        return self._findings

    @property
    def seeds(self) -> list[int]:
        """Seeds that every level is judged on.

        They follow from the source's hash, so that a source cannot behave on just these. Every
        fourth is small, like those that people use; the rest lie all over those that are drawn.
        """
        return self._seeds(0, self.seed_count)

    def other_seeds(self, count: int) -> list[int]:
        """Return `count` further seeds."""
        return self._seeds(OTHER_SEEDS, count)

    def unplayed_seeds(self, count: int) -> list[int]:
        """Return `count` seeds that no other check plays."""
        return self._seeds(UNPLAYED_SEEDS, count)

    def _seeds(self, offset: int, count: int) -> list[int]:
        small = self._first_seed % SMALL_SEEDS + offset
        return [
            self._drawn(offset + i - i // SMALL_EVERY)
            if i % SMALL_EVERY
            else small + i // SMALL_EVERY
            for i in range(count)
        ]

    def _drawn(self, number: int) -> int:
        """Return a seed as play and training draw them, each number's another one.

        Golden steps leave no fifth of the range without one of ten in a row.
        """
        return (self._first_seed * SPREAD + number * GOLDEN_STEP) % DRAWN_SEEDS

    @property
    def levels(self) -> Sequence[int]:
        """All levels; the lowest and the highest in a quick check."""
        count = self.interface.levels
        return range(count) if self.depth != "quick" or count < 3 else (0, count - 1)

    @property
    def floor_levels(self) -> Sequence[int]:
        """Levels at which ignorant policies are played; the lowest alone in a quick check."""
        return self.levels if self.depth != "quick" else self.levels[:1]

    @property
    def edge_levels(self) -> list[int]:
        """The lowest, the highest and one between; in a deep check all, in a quick one the highest.

        Which one is between follows from the source's hash, so that no level is known to be safe.
        """
        if self.depth != "standard":
            return [self.levels[-1]] if self.depth == "quick" else list(self.levels)
        between = self.levels[1:-1]
        chosen = between[self._first_seed % len(between)] if between else 0
        return sorted({0, chosen, self.levels[-1]})

    @property
    def loaded(self) -> Lane | Fault:
        """The plain lane, or why the source cannot be loaded."""
        return self.lane("plain")

    @property
    def plain(self) -> Lane:
        """The plain lane of a source that can be loaded."""
        lane = self.loaded
        if isinstance(lane, Fault):
            raise TypeError(f"the source does not load: {lane.message}")
        return lane

    @property
    def interface(self) -> Interface:
        """What the loaded class declares."""
        return self.plain.worker.interface

    @property
    def has_reference(self) -> bool:
        """Whether the environment offers solutions."""
        return self.interface.has_solution

    def holds_call(self, action: str) -> bool:
        """Whether an action calls a tool; where there are none, what looks like a call is text."""
        return self.interface.kind == "tool" and bool(parse_calls(action))

    @property
    def top(self) -> float:
        """Greatest return of an episode."""
        return self.interface.reward_range[1]

    @property
    def one_poisoned(self) -> bool:
        """Whether the lane elsewhere is the poisoned one as well, which saves a process.

        Not if the source is known to use, or may use, what is poisoned.
        """
        return not self.trusted_imports and not any(f.code == RNG_CODE for f in self.findings)

    def lane(self, name: LaneName) -> Lane | Fault:
        """Return a loaded worker of the given kind, or the fault of loading it."""
        if name not in self._lanes:
            sandbox = self.elsewhere() if name == "elsewhere" else self.sandbox
            mode: Mode = "restricted" if name == "restricted" else "plain"
            poison = name == "poisoned" or (name == "elsewhere" and self.one_poisoned)
            worker = sandbox.load(
                self.source, limits=self.limits, mode=mode, poison=poison, spin=False
            )
            plain = self._lanes.get("plain")
            like = plain if isinstance(plain, Lane) else None
            self._lanes[name] = (
                worker
                if isinstance(worker, Fault)
                else Lane(worker, deadline=self.deadline, again=self.seeds, like=like)
            )
        return self._lanes[name]

    def allow_copies(self) -> None:
        """Let the plain lane copy instances from now on, if copies play like fresh objects here.

        Tried once, with the samples of the lowest and the highest level. It saves slow resets.

        Raises:
            OutOfTimeError: the deadline passed.
            StalledError: the environment broke a time limit.
        """
        if self._asked_for_copies:
            return
        self._asked_for_copies = True
        lane = self.plain
        kept = {level: self.samples(level, self.seeds[:1]) for level in self.edge_levels}
        jobs = [Job(level, self.seeds[0], script(())) for level, some in kept.items() if some]
        begun = [live for live in lane.originals(jobs) if live.start.fault is None]
        alike = len(begun) == len(kept) > 0
        # Twice, so that what a copy shares with its original is seen.
        for some in (slice(None), slice(-1, None)):
            pairs = [(live, pair) for live in begun for pair in kept[live.job.level][some]]
            alike = alike and _copies_play_alike(lane, pairs)
        for live in begun:
            lane.give(live.job.level, live.instance, keep=True)
        lane.may_copy = alike

    def close(self) -> None:
        """End every worker."""
        for lane in self._lanes.values():
            if isinstance(lane, Lane):
                lane.worker.close()
        self._lanes.clear()

    def play(
        self,
        policy: Policy,
        level: int,
        seeds: Sequence[int],
        *,
        name: str = "",
        fresh: bool = True,
    ) -> list[Trace]:
        """Play one policy on several seeds of a level, in the plain lane."""
        return self.plain.run([Job(level, seed, policy, name) for seed in seeds], fresh=fresh)

    def score(self, trace: Trace) -> float:
        """Return the share of the greatest return that an episode earned, in [0, 1]."""
        if trace.fault is not None:
            return float(trace.success)
        if self.top <= 0:  # nothing is paid, at most something is not taken away
            return float(trace.success or (trace.done and trace.total >= self.top))
        return min(1.0, max(0.0, trace.total / self.top))

    def solution(self, level: int, seed: int) -> Solution:
        """Return the reference actions for a fresh episode, asked for once and kept."""
        known = self._solutions.get((level, seed))
        return known if known is not None else self.solutions(level, [seed])[seed]

    def solutions(self, level: int, seeds: Sequence[int] | None = None) -> dict[int, Solution]:
        """Return the reference actions of several seeds, or why they cannot be had."""
        wanted = self.seeds if seeds is None else list(seeds)
        missing = [seed for seed in wanted if (level, seed) not in self._solutions]
        asked = ask_solutions(self.plain, level, missing) if missing else {}
        for seed, (start, actions) in asked.items():
            self._solutions[level, seed] = actions
            self._starts.setdefault((level, seed), start)
        return {seed: self._solutions[level, seed] for seed in wanted}

    @property
    def has_hint(self) -> bool:
        """Whether there are hints to judge."""
        return self.written is not None or self.interface.has_hint

    def hints(self, level: int, seeds: Sequence[int]) -> dict[int, str]:
        """Return the hints right after reset, asked for once and kept, without those that fail.

        Raises:
            StalledError: a hint took too long.
        """
        if self.written is not None:
            return {seed: self.written(level, seed) for seed in seeds}
        missing = [seed for seed in seeds if (level, seed) not in self._hints]
        for seed, answer in ask_hints(self.plain, level, missing).items():
            self._hints[level, seed] = answer
        found = {seed: self._hints[level, seed] for seed in seeds}
        return {seed: hint for seed, hint in found.items() if isinstance(hint, str)}

    def references(self, level: int, seeds: Sequence[int] | None = None) -> list[Trace]:
        """Return the reference episodes of a level, kept.

        Seeds whose solution cannot be had are left out.
        """
        wanted = self.seeds if seeds is None else list(seeds)
        self.play_references([level], wanted)
        return [
            self._references[level, seed] for seed in wanted if (level, seed) in self._references
        ]

    def play_references(self, levels: Sequence[int], seeds: Sequence[int]) -> None:
        """Play the references of several levels together, which is quicker than one by one."""
        jobs = [
            Job(level, seed, script(actions), "reference")
            for level in levels
            for seed, actions in self.solutions(level, seeds).items()
            if (level, seed) not in self._references and not isinstance(actions, Fault)
        ]
        for trace in self.plain.run(jobs, fresh=False) if jobs else ():
            self._references[trace.level, trace.seed or 0] = trace

    def starts(self, level: int) -> list[Trace]:
        """Return the episodes of a level's seeds before their first action."""
        if self.has_reference:
            self.solutions(level)
        missing = [seed for seed in self.seeds if (level, seed) not in self._starts]
        for trace in self.play(script(()), level, missing) if missing else ():
            self._starts[level, trace.seed or 0] = trace
        return [self._starts[level, seed] for seed in self.seeds]

    def plain_episodes(self, levels: Sequence[int], seeds: Sequence[int]) -> list[Trace]:
        """Return episodes of an agent that says harmless words to the end, kept."""
        return self._to_the_end("plain", cycle(PLAIN), levels, seeds)

    def silent_episodes(self, levels: Sequence[int], seeds: Sequence[int]) -> list[Trace]:
        """Return episodes of an agent that says nothing to the end, kept."""
        return self._to_the_end("silent", null, levels, seeds)

    def _to_the_end(
        self, name: str, policy: Policy, levels: Sequence[int], seeds: Sequence[int]
    ) -> list[Trace]:
        wanted = [(name, level, seed) for level in levels for seed in seeds]
        missing = [key for key in wanted if key not in self._full_episodes]
        jobs = [Job(level, seed, policy, name) for _, level, seed in missing]
        played = self.plain.run(jobs, fresh=not self.plain.may_copy)
        for key, trace in zip(missing, played, strict=True):
            self._full_episodes[key] = trace
        return [self._full_episodes[key] for key in wanted]

    def samples(self, level: int, seeds: Sequence[int]) -> list[tuple[tuple[str, ...], Trace]]:
        """Return fixed scripts for the seeds and how they play on new objects or copies, kept."""
        wanted = [
            (level, seed, actions) for seed in seeds for actions in self.sample_scripts(level, seed)
        ]
        missing = [key for key in wanted if key not in self._samples]
        jobs = [Job(level, seed, script(actions)) for level, seed, actions in missing]
        played = self.plain.run(jobs, fresh=not self.plain.may_copy)
        for key, trace in zip(missing, played, strict=True):
            self._samples[key] = trace
        return [(key[2], self._samples[key]) for key in wanted]

    def replays(self, wanted: Sequence[Sample]) -> list[Trace]:
        """Play actions on tasks, each pair once, and return the episodes.

        What the reference of that very seed does was played already.
        """
        for level, seed, actions in wanted:
            if self._solutions.get((level, seed)) == actions:
                own = self._references.get((level, seed))
                if own is not None:
                    self._replays.setdefault((level, seed, actions), own)
        missing = [key for key in dict.fromkeys(wanted) if key not in self._replays]
        jobs = [Job(level, seed, script(actions)) for level, seed, actions in missing]
        for key, trace in zip(missing, self.plain.run(jobs, fresh=False), strict=True):
            self._replays[key] = trace
        return [self._replays[key] for key in wanted]

    def reproduces(self, actions: tuple[str, ...], trace: Trace) -> bool:
        """Whether fresh objects play the same episode again; if not, L2.1 will say so.

        Several, since an episode without a seed may be the same twice by luck.
        """
        again = self.play(script(actions), trace.level, [trace.seed or 0] * REPLAYS)
        return all(one.key() == trace.key() for one in again)

    def sample_scripts(self, level: int, seed: int) -> list[tuple[str, ...]]:
        """Return action sequences to compare runs on: fixed ones, and the reference if any."""
        found = list(scripts(self.interface))
        actions = self.solution(level, seed) if self.has_reference else ()
        if not isinstance(actions, Fault) and actions:
            found.append(actions)
        if not self.has_reference:  # words alone may move nothing there
            shown = commands(self._start(level, seed).start.observation)[:MOST_SHOWN]
            found.append((shown * MOST_SHOWN)[:MOST_SHOWN])
        return [actions for actions in found if actions]

    def _start(self, level: int, seed: int) -> Trace:
        """Return one seed's episode before its first action."""
        if (level, seed) not in self._starts:
            self._starts[level, seed] = self.play(script(()), level, [seed])[0]
        return self._starts[level, seed]

    def task_key(self, trace: Trace) -> str:
        """Return what tells the task of an episode from others: its start and its reference."""
        actions = self.solution(trace.level, trace.seed or 0) if self.has_reference else ()
        shown = repr(actions) if not isinstance(actions, Fault) else ""
        return f"{self._start_text(trace.start)}\0{shown}"

    def _start_text(self, start: ResetOutcome) -> str:
        """Return what a reset showed as one comparable text, kept: many episodes share a start."""
        known = self._start_texts.get(id(start))
        if known is None:
            known = start, f"{start.observation}\0{info_text(start.info)}"
            self._start_texts[id(start)] = known
        return known[1]


def _copies_play_alike(
    lane: Lane, pairs: Sequence[tuple[Live, tuple[tuple[str, ...], Trace]]]
) -> bool:
    """Whether a copy of each reset instance plays the actions as the trace tells."""
    twins = lane.worker.copies([live.instance for live, _ in pairs])
    playing = [
        Live(lane, Job(trace.level, trace.seed, script(actions)), twin, live.start)
        for (live, (actions, trace)), twin in zip(pairs, twins, strict=True)
        if isinstance(twin, int)
    ]
    lane.play(playing)
    played = [live.close().key() for live in playing]
    return played == [trace.key() for _, (_, trace) in pairs]


def ask_solutions(
    lane: Lane, level: int, seeds: Sequence[int]
) -> dict[int, tuple[Trace, Solution]]:
    """Ask for the solution of each seed right after its reset.

    Raises:
        OutOfTimeError: the deadline passed.
        StalledError: a solution took too long.
    """
    found: dict[int, tuple[Trace, Solution]] = {}
    lane.check_time()
    jobs = [Job(level, seed, script(())) for seed in seeds if lane.kept(level, seed) is None]
    begun = [live for seed in seeds if (live := lane.kept(level, seed)) is not None]
    begun += lane.originals(jobs, fresh=False) if jobs else []
    sound = [live.instance for live in begun if live.start.fault is None]
    answers = iter(lane.worker.solutions(sound) if sound else ())
    for live in begun:
        answer = live.start.fault or next(answers)
        failed = isinstance(answer, Fault)
        if live.instance >= 0 and failed:
            lane.drop(live)
        elif live.instance >= 0:
            lane.settle(live)
        if isinstance(answer, Fault):
            lane.note(Trace(level, live.job.seed, replace(live.start, fault=answer)))
            found[live.job.seed or 0] = (live.trace(), answer)
        else:
            found[live.job.seed or 0] = (live.trace(), tuple(answer))
    return found


def ask_hints(lane: Lane, level: int, seeds: Sequence[int]) -> dict[int, str | Fault]:
    """Ask for the hint of each seed right after its reset.

    Raises:
        OutOfTimeError: the deadline passed.
        StalledError: a hint took too long.
    """
    lane.check_time()
    jobs = [Job(level, seed, script(())) for seed in seeds]
    begun = lane.begin(jobs, fresh=False) if jobs else []
    sound = [live.instance for live in begun if live.start.fault is None]
    answers = iter(lane.worker.hints(sound) if sound else ())
    found: dict[int, str | Fault] = {}
    for live in begun:
        answer = live.start.fault or next(answers)
        failed = isinstance(answer, Fault)
        if live.instance >= 0:
            lane.give(level, live.instance, keep=not live.copied and not failed)
        if isinstance(answer, Fault):
            lane.note(Trace(level, live.job.seed, replace(live.start, fault=answer)))
        found[live.job.seed or 0] = answer
    return found


Form = Callable[[str], str]
"""Writes an answer as an action."""


def answer_forms(subject: Subject, level: int) -> list[Form]:
    """Return how an answer has to be written: like the reference's, or in a box and bare."""
    actions = subject.solution(level, subject.seeds[0]) if subject.has_reference else ()
    if isinstance(actions, Fault) or not actions:
        return [boxed, str]
    return [boxed if "boxed" in "".join(actions) else str]
