import random
import re

STEPS = {"n": (-1, 0), "s": (1, 0), "w": (0, -1), "e": (0, 1)}


class BargeRouteEnv:
    """Steer a barge through a marsh by letters, one message of moves at a time."""

    def __init__(self):
        self.max_turns = 12

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.turns = 0
        while True:
            cells = [(row, column) for row in range(7) for column in range(7)]
            self.reeds = set(rng.sample(cells, 17))
            free = [cell for cell in cells if cell not in self.reeds]
            self.at, self.quay = rng.sample(free, 2)
            if len(self.route() or "") >= 7:
                break
        return (
            "A barge b has to reach the quay q. It goes n, s, w or e, one square at a time; reeds "
            "(#) and the edge sink it. Write moves such as nnew in \\boxed{}; you may give them "
            f"in several messages.\n{self.chart()}"
        ), {}

    def chart(self):
        marks = {**dict.fromkeys(self.reeds, "#"), self.quay: "q", self.at: "b"}
        return "\n".join("".join(marks.get((r, c), ".") for c in range(7)) for r in range(7))

    def route(self):
        ways = {self.at: ""}
        queue = [self.at]
        for row, column in queue:
            if (row, column) == self.quay:
                return ways[row, column]
            for letter, (down, right) in STEPS.items():
                there = row + down, column + right
                inside = 0 <= there[0] < 7 and 0 <= there[1] < 7
                if inside and there not in self.reeds and there not in ways:
                    ways[there] = ways[row, column] + letter
                    queue.append(there)
        return None

    def step(self, action):
        self.turns += 1
        out = self.turns >= self.max_turns
        boxes = re.findall(r"\\boxed\{([^{}]*)\}", action)
        moves = re.sub(r"[\s,]", "", boxes[-1].lower()) if boxes else ""
        if not re.fullmatch(r"[nswe]{1,40}", moves):
            return "Write moves with the letters n, s, w and e.", 0.0, False, out, {}
        for letter in moves:
            self.at = self.at[0] + STEPS[letter][0], self.at[1] + STEPS[letter][1]
            if self.at in self.reeds or not (0 <= self.at[0] < 7 and 0 <= self.at[1] < 7):
                return "The barge is lost.", 0.0, True, False, {}
            if self.at == self.quay:
                return "The barge is moored.", 1.0, True, False, {}
        return self.chart(), 0.0, False, out, {}

    def solution(self):
        route = self.route()
        half = len(route) // 2
        return [route[:half], route[half:]]
