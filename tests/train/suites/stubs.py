"""Libraries of our own making in place of the real ones, for tests of what stands around them."""

from pathlib import Path

REASONING = """
import time

class Data:
    def __init__(self, name, size, seed, settings):
        self.name, self.size, self.seed, self.settings = name, size, seed, settings

    def __getitem__(self, index):
        told = {"index": index, "pair": (1, 2), "seed": self.seed, **self.settings}
        if self.name == "rush_hour":
            return {"question": f"rush_hour {index}?", "answer": None, "metadata": told}
        if self.name == "bf":
            told["odd"] = object()
        return {"question": f"{self.name} {index}?", "answer": f"a{index}", "metadata": told}

    def score_answer(self, answer, entry):
        assert entry["metadata"]["pair"] == (1, 2)
        if answer == "hang":
            time.sleep(1000)
        if answer == "crash":
            raise RuntimeError("scorer")
        if self.name == "countdown":
            return float(eval(answer) == 4)
        return 1.0 if answer == f"a{entry['metadata']['index']}" else 0.99


def create_dataset(name, size, seed, **settings):
    return Data(name, size, seed, settings)
"""

MATHS = """
def parse(text, parsing_timeout=5):
    return [text.strip().removeprefix("\\\\boxed{").removesuffix("}")]


def verify(gold, said, timeout_seconds=5):
    return float(gold[0]) == float(said[0])
"""

GAMES = """
import random

class Guess:
    def reset(self, num_players, seed):
        assert num_players == 1
        random.seed(seed)
        self.turns = 0

    def get_observation(self):
        self.draw = random.randrange(10**6)
        return 0, f"draw {self.draw}"

    def step(self, said):
        self.turns += 1
        self.last = said
        return said in ("win", "lose", "half"), {}

    def close(self):
        return {0: {"win": 1, "lose": -1, "half": 0.5}[self.last]}, {0: {}}


def make(name):
    if name != "Guess-v0":
        raise ValueError(f"no game {name}")
    return Guess()
"""


def install(folder: Path, module: str, code: str, version: str = "9.9") -> Path:
    """Write a library that can be imported, and what says its version."""
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(code)
    facts = folder / f"{module}-{version}.dist-info"
    facts.mkdir()
    name = module.replace("_", "-")
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder
