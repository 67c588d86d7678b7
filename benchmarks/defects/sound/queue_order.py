import itertools
import random
import re

PEOPLE = [
    "Amal",
    "Berit",
    "Chidi",
    "Dana",
    "Emre",
    "Freya",
    "Goran",
    "Hana",
    "Isko",
    "Jonna",
    "Kofi",
    "Leila",
]


class QueueOrderEnv:
    """Find the one order of a queue that fits all the remarks about it."""

    max_turns = 4

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turn = 0
        self.queue = rng.sample(PEOPLE, 6)
        self.remarks = []
        orders = list(itertools.permutations(sorted(self.queue)))
        while len(orders) > 1:
            text, holds = self.remark(rng)
            fewer = [order for order in orders if holds(order)]
            if len(fewer) < len(orders):
                self.remarks.append(text)
                orders = fewer
        rng.shuffle(self.remarks)
        names = ", ".join(sorted(self.queue))
        return (
            f"Six people stand in a queue: {names}.\n"
            + "\n".join(f"- {line}" for line in self.remarks)
            + "\nWrite the queue from front to back as names separated by commas, in \\boxed{}."
        ), {}

    def remark(self, rng):
        first, second = sorted(rng.sample(range(6), 2))
        one, other = self.queue[first], self.queue[second]
        gap = second - first - 1
        if rng.random() < 0.5:
            text = f"{one} stands somewhere in front of {other}."
            return text, lambda order: order.index(one) < order.index(other)
        people = "person stands" if gap == 1 else "people stand"
        text = f"Between {one} and {other}, {gap or 'no'} {people}."
        return text, lambda order: abs(order.index(one) - order.index(other)) == gap + 1

    def step(self, action):
        self.turn += 1
        boxes = re.findall(r"\\boxed\{([^{}]*)\}", action)
        names = [part.strip().lower() for part in boxes[-1].split(",")] if boxes else []
        if sorted(names) != sorted(name.lower() for name in self.queue):
            out = self.turn >= self.max_turns
            return "I need each of the six names once, in \\boxed{}.", 0.0, False, out, {}
        won = names == [name.lower() for name in self.queue]
        return ("Right." if won else "Wrong."), float(won), True, False, {}

    def solution(self):
        return ", ".join(self.queue)
