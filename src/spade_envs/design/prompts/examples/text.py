"""Sort crates by weight with a balance that compares two at a time."""

from spade_envs.api import TextEnv, answer_of

NAMES = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty"]


class BalanceYard(TextEnv):
    """Find the order of crates by weight from comparisons of two."""

    levels = 4
    max_turns = 24

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.order = self.draw_many(NAMES, 5 + self.level)  # lightest first
        listed = ", ".join(self.shuffled(self.order))
        return (
            f"These crates look alike but all weigh differently: {listed}.\n"
            "Each turn write 'weigh X Y' to compare two crates, or 'order' and all crates from the "
            "lightest to the heaviest, such as 'order X Y Z'. You may give one order only. "
            f"You have {self.max_turns} turns."
        ), {}

    def step(self, action):
        words = answer_of(action).lower().replace(",", " ").split()[:20]
        if words[:1] == ["order"]:
            if words[1:] == self.order:
                return self.win("The crates stand in order.")
            return self.lose("That is not the order.")
        if words[:1] == ["weigh"] and len(words) == 3 and set(words[1:]) <= set(self.order):
            first, second = words[1:]
            lighter = self.order.index(first) < self.order.index(second)
            return self.go_on(
                f"{first} is {'lighter' if lighter else 'not lighter'} than {second}."
            )
        return self.go_on(
            "Write 'weigh X Y' with two of the crates, or 'order ...' with all of them."
        )

    def hint(self):
        half = len(self.order) // 2
        light = ", ".join(sorted(self.order[:half]))
        return (
            f"The {half} lightest crates are, in no special order: {light}. Sort each part alone."
        )

    def solution(self):
        return ["order " + " ".join(self.order)]
