import re

from spade_envs.api import TextEnv, answer_of


class LagoonGauges(TextEnv):
    """Find which gauges of a lagoon act directly on which, by fixing gauges and reading the rest.

    Each gauge is a base value plus weighted values of the gauges that act on it. Effects run on
    through chains, so telling direct from indirect ones takes several gauges fixed at once. At the
    upper levels some direct effects are cancelled exactly by a chain.
    """

    levels = 5
    max_turns = 20

    # gauges, direct effects, experiments
    plans = ((4, 3, 10), (5, 5, 12), (6, 7, 14), (7, 9, 14), (8, 12, 14))
    most = 200

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, effects, self.experiments = self.plans[self.level]
        self.names = "ABCDEFGH"[:count]
        self.order = self.shuffled(self.names)
        pairs = [(a, b) for i, a in enumerate(self.order) for b in self.order[i + 1 :]]
        weights = (-3, -2, -1, 1, 2, 3)
        self.weights = {pair: self.draw(weights) for pair in self.draw_many(pairs, effects)}
        if self.level >= 3:
            self.cancel_one()
        self.base = {name: self.draw_int(-9, 9) for name in self.names}
        return (
            f"A lagoon has {count} gauges, {', '.join(self.names)}. Each shows a base value plus, "
            "for every gauge that acts on it directly, that gauge's value times a fixed whole "
            "number from -6 to 6, not 0; there are no loops. Left alone they show:\n"
            f"{self.reading({})}\n"
            f"You may do {self.experiments} experiments. In one you fix any gauges at whole "
            f"numbers from {-self.most} to {self.most}; a fixed gauge ignores what acts on it, "
            "all others adjust.\nEach message is one of\n"
            "  set A=5, C=0\n"
            "  the final answer: all direct effects in \\boxed{}, such as A>C, B>A if A acts "
            f"directly on C and B on A (there are {len(self.weights)} in all)\nYou can answer once."
        ), {}

    def cancel_one(self):
        """Make one direct effect cancel a chain of two others, if the drawn effects allow it."""
        for (a, b), first in list(self.weights.items()):
            for c in self.order:
                second = self.weights.get((b, c))
                if second is not None and (a, c) in self.weights and abs(first * second) <= 6:
                    self.weights[a, c] = -first * second
                    return

    def reading(self, fixed):
        """Return what all gauges show if some are fixed, as text."""
        value = {}
        for name in self.order:
            acting = [value[a] * w for (a, b), w in self.weights.items() if b == name]
            value[name] = fixed.get(name, self.base[name] + sum(acting))
        return ", ".join(f"{name}={value[name]}" for name in self.names)

    def step(self, action):
        text = re.sub(r"\s", "", answer_of(action)).upper()
        if text.startswith("SET"):
            return self.experiment(text[3:])
        edges = text.replace("->", ">").split(",")
        letters = f"[{self.names}]"
        if not all(re.fullmatch(f"{letters}>{letters}", edge) for edge in edges):
            return self.go_on("I read neither `set A=5, C=0` nor effects such as A>C, B>A.")
        if sorted(edges) == sorted(f"{a}>{b}" for a, b in self.weights):
            return self.win("Right, those are the direct effects.")
        return self.lose("No, those are not exactly the direct effects.")

    def experiment(self, text):
        """Fix the gauges that `text` names and show all of them."""
        if self.experiments == 0:
            return self.go_on("No experiments are left. Name the direct effects.")
        fixed = {}
        for part in text.split(","):
            match = re.fullmatch(f"([{self.names}])=([+-]?[0-9]{{1,3}})", part)
            if not match or abs(int(match[2])) > self.most:
                return self.go_on(
                    f"Write for example set A=5, C=0 with values from {-self.most} to {self.most}."
                )
            fixed[match[1]] = int(match[2])
        self.experiments -= 1
        return self.go_on(f"{self.reading(fixed)}\nExperiments left: {self.experiments}.")

    def hint(self):
        first, last = self.order[0], self.order[-1]
        return (
            f"Nothing acts on {first}, and {last} acts on nothing. To read the weights into one "
            "gauge, leave only that gauge free and fix all the others at numbers of very different "
            "size, such as 0, 1, 13 and 169: with weights from -6 to 6 the shown value, less the "
            "base, then reads like a number in base 13. A zero total effect does not mean that "
            "there is no direct one."
        )

    def solution(self):
        edges = ", ".join(f"{a}>{b}" for a, b in sorted(self.weights))
        trial = ", ".join(f"{name}=0" for name in self.names)
        return [*([f"set {trial}"] if self.experiments else []), f"\\boxed{{{edges}}}"]
