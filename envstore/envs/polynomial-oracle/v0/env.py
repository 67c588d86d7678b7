import re

from spade_envs.api import TextEnv, answer_of


class PolynomialOracle(TextEnv):
    """Recover a hidden polynomial from a few of its values.

    The agent chooses where to look. At the upper levels there are fewer questions than
    coefficients, so that it must use that the coefficients are small whole numbers.
    """

    levels = 6
    max_turns = 10

    # degree, least and greatest coefficient, farthest input, questions
    plans = (
        (1, 0, 9, 9, 3),
        (2, 0, 9, 10, 4),
        (3, -9, 9, 10, 4),
        (4, -9, 9, 6, 5),
        (5, -9, 9, 12, 2),
        (7, -20, 20, 30, 2),
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.degree, low, high, self.reach, self.questions = self.plans[self.level]
        top = self.draw([c for c in range(low, high + 1) if c != 0])
        self.coefficients = [top] + [self.draw_int(low, high) for _ in range(self.degree)]
        shown = self.draw_int(2, 4)
        powers = ", ".join(f"x^{power}" for power in range(self.degree, -1, -1))
        return (
            f"A sealed box computes a polynomial f of degree {self.degree}. Its "
            f"{self.degree + 1} coefficients are whole numbers from {low} to {high}. You may ask "
            f"for its value {self.questions} times, at whole numbers from {-self.reach} to "
            f"{self.reach}.\nOne value is known: f({shown}) = {self.value(shown)}.\n"
            "Each message is one of\n"
            "  ask N        for example: ask 3\n"
            f"  the final answer: the coefficients of {powers}, in this order, separated by "
            "commas, in \\boxed{}\nYou can answer once."
        ), {}

    def value(self, x):
        """Return f(x) by Horner's rule."""
        total = 0
        for coefficient in self.coefficients:
            total = total * x + coefficient
        return total

    def step(self, action):
        text = answer_of(action).lower()
        question = re.fullmatch(r"ask\s*\(?\s*([+-]?\d{1,6})\s*\)?", text)
        if question:
            return self.ask(int(question[1]))
        parts = re.sub(r"[\[\]()\s]", "", text).split(",")
        if len(parts) != self.degree + 1 or not all(
            re.fullmatch(r"[+-]?\d{1,6}", p) for p in parts
        ):
            return self.go_on(
                f"I read neither `ask N` nor {self.degree + 1} numbers separated by commas."
            )
        if [int(part) for part in parts] == self.coefficients:
            return self.win("The box opens: these are the coefficients.")
        return self.lose("The box stays shut: these are not the coefficients.")

    def ask(self, x):
        """Answer one question, if one is left and `x` is in range."""
        if abs(x) > self.reach:
            return self.go_on(f"Inputs go from {-self.reach} to {self.reach}.")
        if self.questions == 0:
            return self.go_on("No questions are left. Give the coefficients.")
        self.questions -= 1
        return self.go_on(f"f({x}) = {self.value(x)}. Questions left: {self.questions}.")

    def hint(self):
        if self.level < 4:
            return (
                "Ask for f(0): it is the constant term. Every further value gives one linear "
                "equation; differences of neighbouring values remove one degree each. Solve for "
                "the rest and test your polynomial on the known value before you answer."
            )
        return (
            f"Ask at {self.reach} and at {-self.reach}. Half the sum of the two values holds only "
            "even powers, half the difference only odd ones. Each is then a number written in base "
            f"{self.reach}^2 whose digits are the coefficients; digits may be negative, so take "
            "the remainder nearest to zero each time, from the lowest power upwards."
        )

    def solution(self):
        asks = [f"ask {x}" for x in (self.reach, -self.reach, 0)[: self.questions]]
        return [*asks, f"\\boxed{{{', '.join(map(str, self.coefficients))}}}"]
