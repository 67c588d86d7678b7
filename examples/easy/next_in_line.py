from spade_envs.api import TextEnv, answer_of

LINES = {
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "month": "January February March April May June July August September October November "
    "December",
    "number": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
}


class NextInLine(TextEnv):
    """Say which day, month or number comes next, three times in a row.

    All three right wins, and each right one pays a sixth otherwise. Higher levels go on by two or
    by three steps.
    """

    levels = 3
    max_turns = 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.items = []
        for kind in self.shuffled(list(LINES)):
            line = LINES[kind].split()
            last = len(line) - 1 if kind == "number" else 3 * len(line)
            shown = [self.draw_int(0, last - 3 * (self.level + 1))]
            for _ in range(3):
                shown.append(shown[-1] + self.level + 1)
            self.items.append([kind, [line[place % len(line)] for place in shown]])
        self.right = 0
        return self.question(), {}

    def question(self):
        kind, (*shown, _) = self.items[self.turn]
        return f"Which {kind} comes next? {', '.join(shown)}, ... Reply with one word."

    def step(self, action):
        good = answer_of(action).lower() == self.items[self.turn - 1][1][-1].lower()
        self.right += good
        told = "Right." if good else "No."
        if self.turn < 3:
            return self.go_on(f"{told} {self.question()}")
        if self.right == 3:
            return self.win("Right, all three.")
        return self.lose(told, reward=self.right / 6)

    def hint(self):
        step = ("the one after", "the second after", "the third after")[self.level]
        return f"Say {step} the last one shown; after the end of a week or year it begins again."

    def solution(self):
        return [shown[-1] for _, shown in self.items[self.turn :]]
