import math
import re

from spade_envs.api import TextEnv, answer_of


class MarbleCrates(TextEnv):
    """Find how many marbles there are from how they pack into crates.

    Each clue is a congruence in words. The range is cut so that exactly one number meets all clues;
    higher levels add clues, share factors between crate sizes, multiply before packing, and give
    the digit sum of a number that is too large to be found by counting up.
    """

    levels = 5
    max_turns = 3

    crates = (
        (5, 7, 8, 9),
        (7, 8, 9, 11, 13),
        (6, 9, 10, 14, 15),
        (11, 12, 13, 17, 19, 25),
        (16, 17, 19, 21, 23, 26, 29, 35),
    )
    clue_counts = (2, 2, 3, 3, 4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        sizes = self.draw_many(self.crates[self.level], self.clue_counts[self.level])
        period = math.lcm(*sizes)
        marbles = self.draw_int(2 * period, 6 * period)
        self.digit_sum = digit_sum(marbles) if self.level >= 3 else None
        self.clues = []
        for size in sizes:
            factor = self.draw([f for f in (2, 3, 4, 5) if math.gcd(f, size) == 1])
            factor = factor if self.level >= 3 else 1
            self.clues.append((factor, size, factor * marbles % size))
        self.low = self.neighbour(marbles, -period) + self.draw_int(1, max(1, period // 8))
        self.high = self.neighbour(marbles, period) - self.draw_int(1, max(1, period // 8))
        lines = [self.sentence(*clue) for clue in self.clues]
        if self.digit_sum is not None:
            lines.append(f"The decimal digits of the number of marbles add up to {self.digit_sum}.")
        return (
            f"A collector owns at least {self.low} and at most {self.high} marbles.\n"
            + "\n".join(f"- {line}" for line in lines)
            + "\nHow many marbles does she own? Give the number in \\boxed{}."
        ), {}

    def neighbour(self, marbles, stride):
        """Return how far the range may reach, in steps of `stride`, without a second solution."""
        for other in range(marbles + stride, marbles + 30 * stride, stride):
            if other <= 0 or self.fits(other):
                return max(other, 0)
        return other

    def fits(self, marbles):
        """Whether a number of marbles meets every clue; the range is checked apart."""
        right_digits = self.digit_sum is None or digit_sum(marbles) == self.digit_sum
        return right_digits and all(f * marbles % size == rest for f, size, rest in self.clues)

    def sentence(self, factor, size, rest):
        """Put one congruence into words, in one of several guises."""
        owned = {1: "her marbles", 2: "twice as many marbles"}.get(
            factor, f"{factor} times as many marbles"
        )
        if rest == 0:
            return f"Packed into crates of {size}, {owned} would fill every crate."
        if self.level == 0 or self.draw((True, False)):
            return f"Packed into crates of {size}, {owned} would leave {rest} over."
        return f"With {size - rest} more, {owned} would exactly fill crates of {size}."

    def step(self, action):
        guess = answer_of(action).replace(",", "").replace(" ", "")
        if not re.fullmatch(r"\d{1,15}", guess):
            return self.go_on("That is not a whole number. Give one number in \\boxed{}.")
        marbles = int(guess)
        if self.low <= marbles <= self.high and self.fits(marbles):
            return self.win("Right, every clue is met.")
        return self.lose("No, that number does not meet every clue.")

    def hint(self):
        rules = []
        for factor, size, rest in self.clues:
            product = "N" if factor == 1 else f"{factor} * N"
            rules.append(f"{product} leaves {rest} when divided by {size}")
        return (
            f"Call the number N. In one form the clues say: {'; '.join(rules)}. Undo each factor "
            "first, then merge two clues at a time into one remainder by the product (or the least "
            "common multiple) of their sizes; step through what is left inside the range."
        )

    def solution(self):
        # meet one clue after the other, stepping by what keeps the clues before it met
        marbles, stride = self.low, 1
        for factor, size, rest in self.clues:
            while factor * marbles % size != rest:
                marbles += stride
            stride = math.lcm(stride, size)
        while not self.fits(marbles):
            marbles += stride
        return [f"\\boxed{{{marbles}}}"]


def digit_sum(number):
    """Return the sum of the decimal digits."""
    return sum(int(digit) for digit in str(number))
