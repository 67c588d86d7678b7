import random
import re

GOODS = [
    "apples",
    "bricks",
    "carpets",
    "drums",
    "engines",
    "flour",
    "glass",
    "hides",
    "ivory",
    "jars",
]


class FerryLoadsEnv:
    """Work out the takings of a ferry from its rates and loads."""

    def __init__(self):
        self.max_turns = 3
        self.turns = 0

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        goods = rng.sample(GOODS, 4)
        rates = {name: rng.randint(3, 29) for name in goods}
        trips = [[(name, rng.randint(2, 40)) for name in rng.sample(goods, 3)] for _ in range(3)]
        free = rng.randint(5, 12)
        self.total = 0
        lines = []
        for number, trip in enumerate(trips, 1):
            lines.append(f"Trip {number}: " + ", ".join(f"{n} crates of {g}" for g, n in trip))
            self.total += sum(max(0, count - free) * rates[name] for name, count in trip)
        text = (
            "A ferry asks these rates, in pence for each crate: "
            + ", ".join(f"{name} {rate}" for name, rate in rates.items())
            + f". Of each kind of goods on each trip, the first {free} crates go free.\n"
            + "\n".join(lines)
            + "\nHow many pence did the ferry take? Answer with a whole number in \\boxed{}."
        )
        return text, {"trips": 3}

    def step(self, action):
        self.turns += 1
        found = re.findall(r"\\boxed\{([^{}]*)\}", action)
        text = found[-1].replace(",", "").strip() if found else ""
        if not re.fullmatch(r"[0-9]{1,9}", text):
            done = self.turns >= self.max_turns
            return "I need a whole number in \\boxed{}.", 0.0, False, done, {}
        if int(text) == self.total:
            return "Correct.", 1.0, True, False, {}
        return "Wrong.", 0.0, True, False, {}

    def solution(self):
        return str(self.total)
