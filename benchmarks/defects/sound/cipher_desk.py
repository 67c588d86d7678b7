import random
import re

WORDS = [
    "harbour",
    "lantern",
    "orchard",
    "granite",
    "meadow",
    "thunder",
    "whisper",
    "compass",
    "velvet",
    "saddle",
    "bramble",
    "copper",
    "falcon",
    "glacier",
    "juniper",
    "kettle",
    "mosaic",
    "nectar",
    "pebble",
    "quarry",
    "ribbon",
    "sparrow",
    "timber",
    "walnut",
    "anchor",
    "basket",
    "candle",
    "dagger",
    "ember",
    "feather",
]


class CipherDeskEnv:
    """Read a message whose letters were moved along the alphabet and whose words were turned."""

    def __init__(self, max_turns=4):
        self.max_turns = max_turns

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        self.words = rng.sample(WORDS, 3)
        shift = rng.randint(2, 24)
        coded = [self.moved(word[::-1], shift) for word in self.words]
        text = (
            f"Three English words were written backwards, then each letter was moved {shift} "
            f"places forward in the alphabet (after z comes a). The result: {' '.join(coded)}. "
            "Give the three words in their order, separated by single spaces, in \\boxed{}."
        )
        return text, {}

    def moved(self, word, shift):
        return "".join(chr((ord(letter) - 97 + shift) % 26 + 97) for letter in word)

    def step(self, action):
        self.turns += 1
        found = re.findall(r"\\boxed\{([^{}]*)\}", action)
        if not found:
            out = self.turns >= self.max_turns
            return "Put the three words in \\boxed{}.", 0.0, False, out, {}
        given = found[-1].lower().split()
        if given == self.words:
            return "That is the message.", 1.0, True, False, {}
        return "That is not the message.", 0.0, True, False, {}

    def solution(self):
        return " ".join(self.words)
