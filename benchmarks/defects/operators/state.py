"""Seeds, levels, and state that outlives its episode or its object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from benchmarks.defects.bench import GARBAGE, Bench, NotLoadedError, Played, Side, Spot
from benchmarks.defects.body import Body
from benchmarks.defects.operators.base import EVERY, SPADE, Mutate, Operator, Witness, around

_WON = "return 'Right.', 1.0, True, False, {'success': True}"


def _texts(played: Played) -> list[str]:
    return [played.start.observation, *(step.observation for step in played.steps)]


def _key(played: Played) -> tuple[object, ...]:
    return (*_texts(played), *(step.reward for step in played.steps), played.fault is None)


def _script(bench: Bench, spot: Spot) -> list[str]:
    return [GARBAGE, *(bench.original.reference(spot) or [])]


def _unsteady(bench: Bench) -> str | None:
    """Witness: the same seed and actions give two episodes, on two objects of one process."""

    def trial(spot: Spot) -> bool:
        actions = _script(bench, spot)
        mutant = {_key(bench.mutant.play(spot, actions)) for _ in range(4)}
        original = {_key(bench.original.play(spot, actions)) for _ in range(2)}
        return len(mutant) > 1 == len(original)

    found = bench.share(trial)
    return found and f"the same seed gives different episodes in {found}"


def _two_objects(bench: Bench) -> str | None:
    """Witness: two objects with one seed show different things."""

    def trial(spot: Spot) -> bool:
        differ = []
        for side in (bench.mutant, bench.original):
            with side.open(spot) as one, side.open(spot) as two:
                differ.append(one.start.observation != two.start.observation)
        return differ == [True, False]

    found = bench.share(trial)
    return found and f"two objects with the same seed differ in {found}"


_DRIVER = """
class DrivenPair(TextEnv):
    '''Plays the environment above twice, alone and with another one in between.'''

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return ("same" if self.played(False) == self.played(True) else "different"), {}

    def played(self, crowded):
        one, two = ENTRY(), ENTRY()
        texts = [one.reset(seed=5)[0]]
        for _ in range(2):
            if crowded:
                two.reset(seed=6)
                two.step("zzz")
            texts.append(one.step("zzz")[0])
        return texts

    def step(self, action):
        return self.go_on("")
"""


def _driven(bench: Bench) -> str | None:
    """Witness: two objects played in turn by one driver, since the sandbox keeps generators apart.

    The sandbox saves and restores the process-wide generators between calls, so that only code in
    the same process sees what they do to each other.
    """
    said = []
    for side in (bench.mutant, bench.original):
        body = Body(side.code)
        name = body.cls.name
        code = f"from spade_envs.api import TextEnv\n{side.code}"
        code = re.sub(rf"\b{name}\b", f"_{name}", code) + _DRIVER.replace("ENTRY", f"_{name}")
        try:
            pair = Side(side.sandbox, code)
        except NotLoadedError:
            return None
        said.append(pair.play((0, 1), []).start.observation)
        pair.close()
    return "a neighbour changes the episode" if said == ["different", "same"] else None


def _elsewhere(bench: Bench) -> str | None:
    """Witness: another hash seed gives another episode."""
    sides = [side.elsewhere(bench.other()) for side in (bench.mutant, bench.original)]
    try:

        def trial(spot: Spot) -> bool:
            actions = _script(bench, spot)
            same = [
                _key(here.play(spot, actions)) == _key(there.play(spot, actions))
                for here, there in zip((bench.mutant, bench.original), sides, strict=True)
            ]
            return same == [False, True]

        found = bench.share(trial)
    finally:
        for side in sides:
            side.close()
    return found and f"another hash seed gives another episode in {found}"


def _one_task(bench: Bench) -> str | None:
    """Witness: far fewer different first observations over 24 seeds than in the original."""
    mutant, original = (
        len({side.play((bench.top, seed), []).start.observation for seed in range(24)})
        for side in (bench.mutant, bench.original)
    )
    return f"{mutant} different starts of 24, not {original}" if mutant <= 2 < original else None


def _level_ignored(bench: Bench) -> str | None:
    """Witness: the highest level shows the same task as the lowest."""
    if bench.top == 0:
        return None
    same = [
        [
            side.play((0, seed), []).start.observation
            == side.play((bench.top, seed), []).start.observation
            for seed in range(8)
        ]
        for side in (bench.mutant, bench.original)
    ]
    return "all levels show the same task" if all(same[0]) and not any(same[1]) else None


def _second_episode(side: Side, spot: Spot, actions: list[str], before: int) -> Played:
    with side.open((spot[0], spot[1] + 500)) as live:
        for number in range(before):
            live.reset(spot[1] + 501 + number)
            live.play([GARBAGE] * 3)
        live.reset(spot[1])
        return live.play(actions)


def _carries(before: int) -> Witness:
    """Return the witness that an episode differs after `before` others on the same object."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool:
            actions = _script(bench, spot)
            differ = [
                _key(_second_episode(side, spot, actions, before)) != _key(side.play(spot, actions))
                for side in (bench.mutant, bench.original)
            ]
            return differ == [True, False]

        found = bench.share(trial)
        return found and f"an episode differs after {before} others in {found}"

    return witness


def _moved_by_neighbour(bench: Bench) -> str | None:
    """Witness: an episode differs if another object is played in between."""

    def trial(spot: Spot) -> bool:
        actions = _script(bench, spot)
        results = []
        for side in (bench.mutant, bench.original):
            alone = _key(side.play(spot, actions))
            with side.open(spot) as one, side.open((spot[0], spot[1] + 1)) as two:
                steps = []
                for action in actions:
                    two.step(GARBAGE)
                    steps.append(one.step(action))
                    if steps[-1].done or steps[-1].fault is not None:
                        break
                results.append(alone != _key(Played(one.start, tuple(steps))))
        return results == [True, False]

    found = bench.share(trial)
    return found and f"a neighbour changes the episode in {found}"


def _not_copied(bench: Bench) -> str | None:
    """Witness: a deep copy cannot be made, or plays on differently."""
    spot = bench.spots[0]
    results = []
    for side in (bench.mutant, bench.original):
        with side.open(spot) as live:
            live.step(GARBAGE)
            value = side.worker.probe(live.number, "copy", {"how": "deepcopy"})
            results.append(isinstance(value, dict))
    return "a deep copy fails" if results == [False, True] else None


def _moves_task(call: str) -> Witness:
    """Return the witness that asking for a hint or solution changes the episode."""

    def witness(bench: Bench) -> str | None:
        def trial(spot: Spot) -> bool:
            actions = _script(bench, spot)
            differ = []
            for side in (bench.mutant, bench.original):
                plain = _key(side.play(spot, actions))
                with side.open(spot) as live:
                    for _ in range(2):
                        getattr(side.worker, call)(live.number)
                    differ.append(_key(live.play(actions)) != plain)
            return differ == [True, False]

        found = bench.share(trial)
        return found and f"asking for the {call} changes the episode in {found}"

    return witness


def _worn_out(bench: Bench) -> str | None:
    """Witness: after many episodes in one process, garbage wins."""
    side = bench.mutant.elsewhere(bench.mutant.sandbox)
    try:
        for number in range(80):
            side.play((0, number), [])
        played = side.play(bench.spots[0], [GARBAGE])
    finally:
        side.close()
    fresh = bench.original.play(bench.spots[0], [GARBAGE])
    return "garbage wins after 80 episodes" if played.won and not fresh.won else None


def _level_cached(bench: Bench) -> str | None:
    """Witness: the task of a seed depends on the level that was played before."""
    if bench.top == 0:
        return None
    seen = []
    for side in (bench.mutant, bench.original):
        here = side.elsewhere(side.sandbox)
        try:
            first = here.play((0, 5), []).start.observation
            seen.append(here.play((bench.top, 5), []).start.observation == first)
        finally:
            here.close()
    return "the top level shows the task of the lowest" if seen == [True, False] else None


def _seed_gone(body: Body) -> Iterator[Body]:
    """Hand no seed to the generator."""
    new = body.fresh()
    own = new.method("reset")
    for node in ast.walk(own) if own is not None else ():
        if isinstance(node, ast.keyword) and node.arg == "seed":
            node.value = ast.Constant(None)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "Random"
        ):
            node.args = []
    yield new


def _method_moves(name: str) -> Mutate:
    """Return the mutation in which a method draws from the environment's generator."""

    def mutate(body: Body) -> Iterator[Body]:
        new = body.fresh()
        own = new.method(name)
        if own is None:
            return
        own.name = f"inner_{name}"
        new.wrap_reset(after="self.asked = 0").wrap_step(
            after="observation = f'{observation} ({self.asked} so far)'"
        )
        new.add(f"""
def {name}(self):
    self.asked += 1
    return self.inner_{name}()
""")
        yield new

    return mutate


_TIRED = """
if self.runs > 6:
    observation = observation + " You are tired."
    reward = 0.0
"""

OPERATORS = (
    Operator("seed-discarded", "does not use its seed", _seed_gone, _unsteady, "code"),
    Operator(
        "seed-fixed",
        "uses one seed for all tasks",
        around(reset_before="seed = 7"),
        _one_task,
    ),
    Operator(
        "two-tasks",
        "has two tasks",
        around(reset_before="seed = (seed or 0) % 2"),
        _one_task,
    ),
    Operator(
        "level-ignored",
        "always plays its lowest level",
        around(reset_before="self.level = 0"),
        _level_ignored,
        kinds=SPADE,
    ),
    Operator(
        "global-generator",
        "draws from the process-wide generator",
        around(
            head="import random as dice",
            reset_after="observation = f'{observation} (case {dice.randint(1, 9999)})'",
        ),
        _driven,
    ),
    Operator(
        "global-generator-seeded",
        "seeds the process-wide generator at reset and draws from it in steps",
        around(
            head="import random as dice",
            reset_after="dice.seed(seed)",
            after="observation = f'{observation} (wind {dice.randint(1, 9999)})'",
        ),
        _driven,
    ),
    Operator(
        "hash-order",
        "shows words in the order of a set",
        around(
            reset_after="words = set('amber birch cedar dune ember fern gorse heath'.split())\n"
            "observation = f\"{observation} (colours: {' '.join(words)})\""
        ),
        _elsewhere,
    ),
    Operator(
        "clock",
        "shows the time",
        around(
            head="import time",
            reset_after="observation = f'{observation} (at {time.perf_counter_ns()})'",
        ),
        _unsteady,
    ),
    Operator(
        "identity",
        "shows an address",
        around(reset_after="observation = f'{observation} (room {id(self) // 16 % 99991})'"),
        _two_objects,
    ),
    Operator(
        "class-state",
        "counts the steps of all its objects together",
        around(
            top="COUNTS = [0]",
            reset_after="COUNTS[0] = 0",
            before="COUNTS[0] += 1",
            after="observation = f'{observation} (step {COUNTS[0]})'",
        ),
        _moved_by_neighbour,
    ),
    Operator(
        "object-state",
        "does not clear its count at reset",
        around(
            before="self.tries_made = getattr(self, 'tries_made', 0) + 1",
            after="observation = f'{observation} (try {self.tries_made})'",
        ),
        _carries(1),
    ),
    Operator(
        "tires",
        "gets harder with every episode of an object",
        around(reset_after="self.runs = getattr(self, 'runs', 0) + 1", after=_TIRED),
        _carries(9),
    ),
    Operator(
        "time-bomb",
        "pays everything once the process has seen enough episodes",
        around(
            top="EPISODES = []",
            reset_after="EPISODES.append(seed)",
            before=f"if len(EPISODES) > 60:\n    {_WON}",
        ),
        _worn_out,
    ),
    Operator(
        "stale-key",
        "compares with the answer of its object's first task",
        around(
            reset_after="self.first_gold = getattr(self, 'first_gold', self.gold)\n_ = self.gold",
            before="if action == self.gold[-1] and self.gold[-1] != self.first_gold[-1]:\n"
            "    action = 'zz'",
        ),
        _carries(1),
    ),
    Operator(
        "shared-cache",
        "keeps tasks by their seed and forgets the level",
        around(
            top="CACHE = {}",
            reset_after="observation = CACHE.setdefault(seed, observation)",
        ),
        _level_cached,
        kinds=SPADE,
    ),
    Operator(
        "not-copyable",
        "keeps a generator object",
        around(
            reset_after="self.numbers = (number for number in range(10 ** 6))",
            after="observation = f'{observation} (number {next(self.numbers)})'",
        ),
        _not_copied,
    ),
    Operator(
        "hint-moves",
        "counts how often a hint is asked for, and shows it",
        _method_moves("hint"),
        _moves_task("hint"),
        "code",
        kinds=SPADE,
    ),
    Operator(
        "solution-moves",
        "counts how often its solution is asked for, and shows it",
        _method_moves("solution"),
        _moves_task("solution"),
        "code",
        kinds=EVERY,
    ),
)
