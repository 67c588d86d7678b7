import math

from spade_envs.api import TextEnv, answer_of

GLAZES = ("blue", "green", "red", "white")


class KilnSchedule(TextEnv):
    """Order the firings of a kiln so that the penalty for late pots is as small as can be.

    Every order of least penalty wins. From the third level on the kiln must be cleaned when the
    glaze changes, at the top some clay is not dry at the start.
    """

    levels = 5
    max_turns = 3
    pot_counts = (5, 6, 6, 7, 8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count = self.pot_counts[self.level]
        self.names = "ABCDEFGH"[:count]
        self.cleaning = self.draw_int(1, 3) if self.level >= 2 else 0
        while True:
            self.hours = [self.draw_int(2, 9) for _ in self.names]
            total = sum(self.hours)
            self.due = [self.draw_int(total // 4, total * 5 // 6) for _ in self.names]
            self.fines = [self.draw_int(1, 9) for _ in self.names]
            self.glaze = [self.draw(GLAZES[:3] if count < 8 else GLAZES) for _ in self.names]
            self.dry = [self.draw_int(0, total // 2) if self.level >= 4 else 0 for _ in self.names]
            self.least, ways, self.order = self.best()
            if self.least > 0 and ways <= max(1, math.factorial(count) // 50):
                break
        return self.prompt(), {}

    def prompt(self):
        """Return the task as text."""
        rows = []
        for i, name in enumerate(self.names):
            row = f"{name}: fires {self.hours[i]} h, due at hour {self.due[i]}"
            row += f", fine {self.fines[i]} per hour late"
            row += f", glaze {self.glaze[i]}" if self.cleaning else ""
            row += f", dry from hour {self.dry[i]}" if self.level >= 4 else ""
            rows.append(row)
        rules = ["The kiln fires one pot at a time, from hour 0, and waits only where it must."]
        if self.cleaning:
            rules.append(
                f"Between two pots of different glaze it is cleaned for {self.cleaning} h."
            )
        if self.level >= 4:
            rules.append(
                "A pot may not go in before it is dry; the kiln can be cleaned while it dries."
            )
        return (
            " ".join(rules)
            + "\n"
            + "\n".join(rows)
            + "\nA pot that is finished after its due hour costs its fine for every hour of delay. "
            "In which order must the pots be fired so that the sum of fines is as small as "
            "possible? Give the letters, separated by commas, in \\boxed{}."
        )

    def after(self, hour, last, pot):
        """Return when `pot` is finished if the kiln is free at `hour` after firing `last`."""
        clean = self.cleaning if last >= 0 and self.glaze[last] != self.glaze[pot] else 0
        return max(hour + clean, self.dry[pot]) + self.hours[pot]

    def fine(self, order):
        """Return the sum of fines of an order of pot numbers."""
        hour, last, total = 0, -1, 0
        for pot in order:
            hour, last = self.after(hour, last, pot), pot
            total += self.fines[pot] * max(0, hour - self.due[pot])
        return total

    def best(self):
        """Return the least sum of fines, how many orders reach it, and one of them.

        Branch and bound: pots that would be late even if they were next are counted at once.
        """
        least, ways, best = math.inf, 0, ()
        stack = [(0, 0, ())]
        while stack:
            hour, total, order = stack.pop()
            last = order[-1] if order else -1
            left = [pot for pot in range(len(self.names)) if pot not in order]
            late_now = sum(self.fines[p] * max(0, hour + self.hours[p] - self.due[p]) for p in left)
            if total + late_now > least:
                continue
            if not left:
                ways = ways + 1 if total == least else 1
                least, best = total, order
            for pot in sorted(left, key=lambda pot: -self.due[pot]):
                end = self.after(hour, last, pot)
                cost = total + self.fines[pot] * max(0, end - self.due[pot])
                stack.append((end, cost, (*order, pot)))
        return least, ways, best

    def step(self, action):
        text = answer_of(action).upper()
        letters = [part.strip() for part in text.split(",")] if "," in text else list(text)
        if sorted(letters) != list(self.names):
            return self.go_on(f"Give each of the letters {', '.join(self.names)} once.")
        total = self.fine([self.names.index(letter) for letter in letters])
        if total == self.least:
            return self.win(f"Right: the fines are {total}, and no order has less.")
        return self.lose(f"The fines of that order are {total}; there is a better one.")

    def hint(self):
        return (
            f"The least sum of fines is {self.least}. Pot {self.names[self.order[-1]]} is fired "
            "last. Build the order from its end: a pot goes late where its fine is small for the "
            "hours it takes, and exchange neighbours as long as the sum falls."
        )

    def solution(self):
        return [f"\\boxed{{{', '.join(self.names[pot] for pot in self.order)}}}"]
