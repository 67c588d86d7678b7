"""Small stand-ins for other projects' libraries, with the same calls."""

import sys
from types import ModuleType

REASONING_GYM = """
import os
import pathlib
import socket
from random import Random


class Dataset:
    def __init__(self, name, seed, size):
        if name.startswith("no_"):
            raise KeyError(name)
        self.name, self.seed, self.size = name, seed, size
        if name == "words":
            self.text = pathlib.Path(__file__).with_name("words.txt").read_text()
        if name == "late":
            import fake_late_module

    def __getitem__(self, index):
        rng = Random(self.seed + index)
        a, b = rng.randint(1000, 99999), rng.randint(1000, 99999)
        item = {"question": f"What is {a} + {b}?", "answer": str(a + b)}
        if self.name == "words":
            words = [rng.choice(self.text.split()) for _ in range(6)]
            item = {"question": "Sort: " + " ".join(words), "answer": ", ".join(sorted(words))}
        if self.name == "spy":
            item["question"] = str(spy())
        if self.name == "unanswered":
            item["answer"] = None
        return item

    def score_answer(self, answer, entry):
        if self.name == "gullible":
            return float(bool(answer))
        return 1.0 if answer == entry["answer"] else 0.01 if answer else 0.0


def spy():
    found = []
    for name, act in {
        "read": lambda: open("/etc/passwd").read(),
        "list": lambda: os.listdir("/root"),
        "write": lambda: open("/tmp/fake_library_was_here", "w"),
        "net": lambda: socket.socket(),
        "fork": lambda: os.fork(),
        "package": lambda: pathlib.Path(__file__).with_name("words.txt").read_text(),
    }.items():
        try:
            act()
        except OSError:
            continue
        found.append(name)
    return found


def create_dataset(name, seed, size):
    return Dataset(name, seed, size)
"""

WORDS = "apple birch cedar delta ember fjord grove hazel inlet jetty knoll larch maple north ocean"


class FakeGame:
    """A TextArena game: guess a digit; three guesses."""

    def reset(self, num_players, seed):
        assert num_players == 1
        self.digit, self.left = seed % 10, 3

    def get_observation(self):
        return 0, f"Guess a digit; {self.left} guesses left."

    def step(self, action):
        self.left -= 1
        self.won = action == str(self.digit)
        return self.won or self.left == 0, {}

    def close(self):
        return {0: 1.0 if self.won else -1.0}, {0: {"reason": "won" if self.won else "lost"}}


class FakeGem:
    """A GEM game: say the word that is shown."""

    def reset(self, seed):
        self.word = f"w{seed % 1000}"
        return f"Say {self.word}.", {"suffix": "Now."}

    def step(self, action):
        won = action == self.word
        return "Well.", 1.0 if won else -0.1, won, False, {"suffix": "Again."}


class FakeController:
    def __init__(self):
        self.most = 10

    def update(self):
        self.most *= 10

    def get_parameter_list(self):
        return [{"most": self.most}]


class FakeProblem:
    def generator(self, seed, parameter):
        if seed % 3 == 0:
            return False
        number = seed % parameter["most"]
        self.parameter = {**parameter, "number": number, "reference_answer": str(number)}
        return True

    def prompt_generator(self):
        return f"Repeat {self.parameter['number']}, below {self.parameter['most']}."

    def verifier(self, output):
        given = output.rpartition("<answer>")[2].removesuffix("</answer>")
        right = given == self.parameter["reference_answer"]
        return {"reward": 1.0 if right else -1.0, "accuracy": int(right), "format_score": 1}


def modules():
    """Return fake modules by name."""
    textarena, gem = ModuleType("textarena"), ModuleType("gem")
    textarena.make = lambda ident: FakeGame()
    gem.make = lambda ident: FakeGem()
    gym, envs = ModuleType("Gym"), ModuleType("Gym.environments")
    controllers = ModuleType("Gym.parameter_controllers")
    envs.identifier2environment = {"Repeat": FakeProblem}
    controllers.identifier2controller = {"Repeat": FakeController}
    found = (textarena, gem, gym, envs, controllers)
    return {module.__name__: module for module in found}


def loaded(code, monkeypatch):
    """Execute a wrapped source in this process, with the fakes in place of the libraries."""
    from spade_envs.api.loading import find_entry

    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    namespace = {"__name__": "wrapped"}
    exec(code, namespace)
    return find_entry(namespace)
