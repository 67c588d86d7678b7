import random
import re

MOVES = ("fill a", "fill b", "empty a", "empty b", "pour a b", "pour b a")


class TwoJugsEnv:
    """Measure an amount of water with two jugs."""

    def __init__(self):
        self.max_turns = 30

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.sizes = (rng.randint(3, 13), rng.randint(3, 17))
            self.goal = rng.randint(1, max(self.sizes) - 1)
            self.held = (0, 0)
            if self.goal not in self.sizes and len(self.plan() or ()) >= 5:
                break
        self.turns = 0
        return (
            f"Jug a holds {self.sizes[0]} litres, jug b holds {self.sizes[1]}; both are empty. "
            f"Get exactly {self.goal} litres into one of them. Each turn say one move in "
            "\\boxed{}: fill a, fill b, empty a, empty b, pour a b, or pour b a."
        ), {}

    def after(self, held, move):
        a, b = held
        size_a, size_b = self.sizes
        if move.startswith("fill"):
            return (size_a, b) if move == "fill a" else (a, size_b)
        if move.startswith("empty"):
            return (0, b) if move == "empty a" else (a, 0)
        if move == "pour a b":
            poured = min(a, size_b - b)
            return a - poured, b + poured
        poured = min(b, size_a - a)
        return a + poured, b - poured

    def plan(self):
        ways = {self.held: []}
        queue = [self.held]
        for held in queue:
            if self.goal in held:
                return ways[held]
            for move in MOVES:
                reached = self.after(held, move)
                if reached not in ways:
                    ways[reached] = [*ways[held], move]
                    queue.append(reached)
        return None

    def step(self, action):
        self.turns += 1
        out = self.turns >= self.max_turns
        found = re.findall(r"\\boxed\{([^{}]*)\}", action)
        move = " ".join(found[-1].lower().split()) if found else ""
        if move not in MOVES:
            return "Say one of the six moves in \\boxed{}.", 0.0, False, out, {}
        self.held = self.after(self.held, move)
        shown = f"Jug a: {self.held[0]} litres, jug b: {self.held[1]} litres."
        if self.goal in self.held:
            return f"{shown} That is it.", 1.0, True, False, {}
        return shown, 0.0, False, out, {}

    def solution(self):
        return self.plan()
