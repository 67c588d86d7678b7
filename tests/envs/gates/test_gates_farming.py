"""L3.12: going in circles earns nothing."""

import pytest

from envs.gates.answer_zoo import SOUND
from envs.gates.gatebench import finding_of, spoilt
from envs.gates.zoo import PARCELS, WALK
from spade_envs.gates.farming import cannot_be_farmed

SHAPED = '''
from spade_envs.api import TextEnv, answer_of

MOVES = {"east": 1, "west": -1}


class Shaped(TextEnv):
    """Walk along a street; every house that is passed for the first time pays a little."""

    max_turns = 40

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.goal = self.draw_int(5, 9) * self.draw([-1, 1])
        self.at, self.best, self.paid = 0, 0, 0.0
        side = "east" if self.goal > 0 else "west"
        return f"The inn lies {abs(self.goal)} houses to the {side}. Say east or west.", {}

    def step(self, action):
        self.at += MOVES.get(answer_of(action).lower(), 0)
        nearer = abs(self.goal) - abs(self.goal - self.at)
        reward = 0.0
        if nearer > self.best:
            self.best = nearer
            reward = 0.5 / abs(self.goal)
        self.paid += reward
        if self.at == self.goal:
            return self.win("You are there.", reward=reward + 1.0 - self.paid)
        return self.go_on("You walk on.", reward=reward)

    def solution(self):
        way = self.goal - self.at
        return ["east" if way > 0 else "west"] * abs(way)
'''

APPLES = '''
from spade_envs.api import TextEnv, answer_of


class Apples(TextEnv):
    """Pick the ripe apples of a tree, then say how many there were."""

    max_turns = 20

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.ripe = self.picked = 0
        self.ripe = self.draw_int(4, 12)
        return "Say 'pick' until no apple is ripe, then say how many you picked.", {}

    def step(self, action):
        given = answer_of(action)
        if given == "pick" and self.picked < self.ripe:
            self.picked += 1
            return self.go_on("You pick an apple.", reward=0.5 / self.ripe)
        if given == "pick":
            return self.go_on("No apple is ripe.")
        if self.picked == self.ripe and given == str(self.ripe):
            return self.win("Right.", reward=0.5)
        return self.lose("Wrong.")

    def solution(self):
        return ["pick"] * (self.ripe - self.picked) + [str(self.ripe)]
'''


@pytest.mark.parametrize("code", [*SOUND.values(), PARCELS, WALK, SHAPED, APPLES])
def test_an_environment_that_pays_progress_once_passes(code):
    finding = finding_of(cannot_be_farmed, code)
    assert finding.outcome == "pass", finding
    assert finding.evidence["played"] >= 3


FARMS = {
    "forth and back": (
        SHAPED,
        ("self.best = nearer", "self.best = nearer"),
        ("> self.best", "> last"),
    ),
    "standing still": (SHAPED, ("reward = 0.0\n", "reward = 0.02\n")),
    "any call": (
        WALK,
        ("return self.go_on(self.place())", "return self.go_on(self.place(), reward=0.03)"),
        ("self.left -= 1", "self.left -= 0"),
    ),
}


@pytest.mark.parametrize("name", FARMS)
def test_a_circle_that_earns_is_refused(name):
    base, *changes = FARMS[name]
    code = spoilt(base, *changes)
    if name == "forth and back":
        code = spoilt(
            code,
            (
                "        self.at += MOVES",
                "        last = abs(self.goal) - abs(self.goal - self.at)\n"
                "        self.at += MOVES",
            ),
        )
    finding = finding_of(cannot_be_farmed, code)
    assert finding.outcome == "fail", finding
    assert finding.evidence["payments"] >= 3
    assert finding.evidence["earned"] >= 0.2
    assert finding.evidence["circle"]


def test_without_a_way_to_measure_progress_it_is_a_warning():
    base, *changes = FARMS["standing still"]
    code = spoilt(base, *changes, ("    def solution", "    def _solution"))
    assert finding_of(cannot_be_farmed, code).outcome == "warn"


THREE = '''
from spade_envs.api import TextEnv, answer_of


class Three(TextEnv):
    """Answer three sums."""

    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.sums = {name: (self.draw_int(10, 99), self.draw_int(10, 99)) for name in "ABC"}
        self.done = []
        shown = ", ".join(f"{name}: {a} + {b}" for name, (a, b) in self.sums.items())
        return f"Three sums: {shown}. One message for each, like A=12.", {}

    def step(self, action):
        name, _, value = answer_of(action).partition("=")
        right = value == str(sum(self.sums.get(name, (0,))))
        self.done += [name] if right and name not in self.done else []
        if len(self.done) == 3:
            return self.win("All done.", reward=1 / 3)
        return self.go_on("Next.", reward=1 / 3 if right else 0.0)

    def hint(self):
        return "Add the tens first."

    def solution(self):
        return [f"{name}={a + b}" for name, (a, b) in self.sums.items()]
'''


@pytest.mark.parametrize("kept", [True, False])
def test_one_part_said_again_and_again_must_not_win_everything(kept):
    code = THREE if kept else spoilt(THREE, (" and name not in self.done", ""))
    finding = finding_of(cannot_be_farmed, code)
    assert (finding.outcome == "fail") is not kept
    assert finding.message.startswith("one part of the answer") is not kept
