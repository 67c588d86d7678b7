from spade_envs.api import TextEnv, answer_of

GROUPS = {
    "animal": "horse cow sheep goat tiger lion rabbit mouse wolf bear fox duck",
    "fruit": "apple banana cherry grape lemon peach pear plum mango kiwi melon fig",
    "colour": "red blue green yellow black white purple pink brown grey silver gold",
    "tool": "hammer saw drill wrench pliers shovel axe chisel rake spade file knife",
}


class OddOne(TextEnv):
    """Find the one word of its kind among others, twice.

    Both right wins, and one of them pays a fifth. Higher levels show more words.
    """

    levels = 3
    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.rounds = []
        for kind in self.draw_many(list(GROUPS), 2):
            word = self.draw(GROUPS[kind].split())
            others = [item for name in GROUPS if name != kind for item in GROUPS[name].split()]
            shown = self.shuffled([word, *self.draw_many(others, 3 + 2 * self.level)])
            self.rounds.append((kind, word, shown))
        self.hits = 0
        return self.ask(0), {}

    def ask(self, number):
        kind, _, shown = self.rounds[number]
        article = "an" if kind == "animal" else "a"
        asked = f"Which of these words is {article} {kind}: {', '.join(shown)}?"
        return f"{asked} Reply with that word alone."

    def step(self, action):
        right = answer_of(action).lower().rstrip(".!") == self.rounds[self.turn - 1][1]
        self.hits += right
        if self.turn == 1:
            return self.go_on(f"{'Yes' if right else 'No'}. {self.ask(1)}")
        if self.hits == 2:
            return self.win("Yes, both.")
        return self.lose("Yes." if right else "No.", reward=self.hits / 5)

    def hint(self):
        told = []
        for kind, word, shown in self.rounds:
            left = [item for item in shown if item != word]
            told.append(f"no {kind} are {', '.join(left[: len(left) - 1])}")
        return f"First {told[0]}; then {told[1]}."

    def solution(self):
        return [word for _, word, _ in self.rounds[self.turn :]]
