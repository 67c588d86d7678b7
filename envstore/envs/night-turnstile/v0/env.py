import re

from spade_envs.api import TextEnv, answer_of

TRAITS = (
    ("its digits add up to a multiple of 3", lambda d: sum(d) % 3 == 0),
    ("its digits add up to more than 13", lambda d: sum(d) > 13),
    ("its last digit is even", lambda d: d[-1] % 2 == 0),
    ("its first digit is greater than its last", lambda d: d[0] > d[-1]),
    ("its middle digit is greater than its first", lambda d: d[1] > d[0]),
    ("two of its digits are equal", lambda d: len({*d}) < len(d)),
    ("its first and last digits are both odd or both even", lambda d: (d[0] + d[-1]) % 2 == 0),
    ("it holds a digit below 2", lambda d: min(d) < 2),
    (
        "two neighbouring digits differ by 1",
        lambda d: any(abs(a - b) == 1 for a, b in zip(d, d[1:])),
    ),
    ("its greatest digit is 8 or 9", lambda d: max(d) >= 8),
)
COMBINED = {
    "one": (1, lambda a: a[0]),
    "both": (2, lambda a: a[0] and a[1]),
    "either": (2, lambda a: a[0] or a[1]),
    "exactly one": (2, lambda a: a[0] != a[1]),
    "two of three": (3, lambda a: sum(a) >= 2),
    "odd number": (3, lambda a: sum(a) % 2 == 1),
}


class NightTurnstile(TextEnv):
    """Try tickets at a turnstile, infer its rule, and predict it for a batch of tickets.

    The rule depends only on the digits of the ticket. Higher levels combine two or three traits of
    a ticket. The tickets of the batch cannot be tried.
    """

    levels = 5
    max_turns = 14

    # ways to combine, digits of a ticket, tickets in all that may be tried
    plans = (
        (("one",), 3, 40),
        (("both", "either"), 3, 40),
        (("exactly one",), 3, 48),
        (("both", "either", "exactly one"), 4, 32),
        (("two of three", "odd number"), 4, 48),
    )
    batch_size = 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        ways, self.digits, self.tries = self.plans[self.level]
        while True:
            self.way = self.draw(ways)
            count, _ = COMBINED[self.way]
            self.traits = self.draw_many(range(len(TRAITS)), count)
            tickets = self.draw_many(range(10 ** (self.digits - 1), 10**self.digits), 60)
            opening = [str(t) for t in tickets if self.opens(str(t))]
            shut = [str(t) for t in tickets if not self.opens(str(t))]
            if min(len(opening), len(shut)) >= 12:
                break
        share = self.draw_int(4, 6)
        self.batch = self.shuffled(opening[:share] + shut[: self.batch_size - share])
        examples = self.shuffled(opening[8:10] + shut[8:10])
        seen = "\n".join(self.verdict(ticket) for ticket in examples)
        return (
            f"A turnstile opens for some tickets. A ticket is a number of {self.digits} digits "
            "that does not begin with 0, and a fixed rule about its digits decides. Some nights "
            "ago:\n"
            f"{seen}\nTonight's {self.batch_size} tickets are: {' '.join(self.batch)}\n"
            f"You may try up to {self.tries} other tickets, at most 4 in one message.\n"
            "Each message is one of\n"
            "  try T T ...   with one to four tickets\n"
            f"  the final answer: {self.batch_size} letters in \\boxed{{}}, one for each of "
            "tonight's tickets in the order given, O if it opens and S if it stays shut\nYou can "
            "answer once."
        ), {}

    def opens(self, ticket):
        """Whether the turnstile opens for `ticket`."""
        digits = [int(digit) for digit in ticket]
        return bool(COMBINED[self.way][1]([TRAITS[i][1](digits) for i in self.traits]))

    def verdict(self, ticket):
        """Say what the turnstile does for `ticket`."""
        return f"{ticket} {'opens' if self.opens(ticket) else 'stays shut'}"

    def step(self, action):
        text = answer_of(action).upper()
        if text.startswith("TRY"):
            return self.try_tickets(re.split(r"[\s,]+", text[3:].strip()))
        letters = re.sub(r"[\s,]", "", text)
        if len(letters) != self.batch_size or letters.strip("OS"):
            return self.go_on(f"I read neither `try T` nor {self.batch_size} letters O or S.")
        if letters == "".join("O" if self.opens(ticket) else "S" for ticket in self.batch):
            return self.win("Right for every ticket.")
        return self.lose("Not right for every ticket.")

    def try_tickets(self, tickets):
        """Try one to four tickets that are not in the batch."""
        well_formed = rf"[1-9][0-9]{{{self.digits - 1}}}"
        if not 1 <= len(tickets) <= 4 or not all(re.fullmatch(well_formed, t) for t in tickets):
            return self.go_on(f"Try one to four tickets of {self.digits} digits.")
        if any(ticket in self.batch for ticket in tickets):
            return self.go_on("Tonight's tickets cannot be tried.")
        if len(tickets) > self.tries:
            return self.go_on(f"Only {self.tries} more tickets can be tried.")
        self.tries -= len(tickets)
        lines = [self.verdict(ticket) for ticket in tickets]
        return self.go_on("\n".join([*lines, f"Tickets left to try: {self.tries}."]))

    def hint(self):
        way = {
            "one": "one trait decides",
            "both": "two traits must both hold",
            "either": "at least one of two traits must hold",
            "exactly one": "exactly one of two traits must hold",
            "two of three": "at least two of three traits must hold",
            "odd number": "one or all three of three traits must hold",
        }[self.way]
        known = [TRAITS[index][0] for index in self.traits[1:]] or ["a property of all its digits"]
        return (
            f"In this rule {way}. Part of it: {'; '.join(known)}. Find the rest with pairs of "
            "tickets that differ in one digit, holding the known traits fixed: look at sums, "
            "parity, order, equal digits and extreme digits."
        )

    def solution(self):
        spare = next(
            str(t)
            for t in range(10 ** (self.digits - 1), 10**self.digits)
            if str(t) not in self.batch
        )
        letters = "".join("O" if self.opens(ticket) else "S" for ticket in self.batch)
        return [*([f"try {spare}"] if self.tries else []), f"\\boxed{{{letters}}}"]
