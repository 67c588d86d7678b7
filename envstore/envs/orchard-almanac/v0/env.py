import re

from spade_envs.api import TextEnv, answer_of

THINGS = (
    "rain", "sunshine", "soil moisture", "canal level", "bees", "blossoms", "aphids", "ladybirds",
    "fruit set", "birds", "harvest", "pickers", "cider", "market price", "takings",
)  # fmt: skip


class OrchardAlmanac(TextEnv):
    """Say what a past day in an orchard would have looked like if one thing had been different.

    Every quantity follows a known law plus a chance amount of that day. The agent reads the chance
    amounts off the record, changes what the question changes, and lets the rest follow.
    """

    levels = 5
    max_turns = 3

    # quantities, changes, outcomes asked for
    plans = ((4, 1, 1), (6, 1, 1), (8, 1, 2), (10, 2, 2), (14, 3, 3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, changes, asked = self.plans[self.level]
        while True:
            chosen = sorted(self.draw_many(range(len(THINGS)), count))
            self.things = [THINGS[index] for index in chosen]
            self.laws = [self.draw_law(place) for place in range(count)]
            self.chance = [self.draw_int(-9, 9) for _ in self.things]
            self.seen = self.follow({})
            places = sorted(self.draw_many(range(count - asked - 1), changes))
            self.changed = {
                p: self.seen[p] + self.draw((-1, 1)) * self.draw_int(6, 25) for p in places
            }
            after = self.follow(self.changed)
            self.asked = list(range(count - asked, count))
            self.answer = [after[place] for place in self.asked]
            moved = all(abs(value) > 9 and value not in self.seen for value in self.answer)
            if moved and max(map(abs, after + self.seen)) < 2000:
                return self.prompt(), {}

    def draw_law(self, place):
        """Draw how the quantity at `place` follows from earlier ones: kind, sources and numbers."""
        if place < 2:
            return "free", [], [self.draw_int(20, 60)]
        kinds = (
            ("sum", "sum", "less") if self.level == 0 else ("sum", "less", "scarce", "step", "over")
        )
        # one source is a neighbour, so that changes run on
        sources = [place - 1, self.draw_int(0, place - 2)]
        return (
            self.draw(kinds),
            sources,
            [self.draw_int(1, 3), self.draw_int(1, 3), self.draw_int(10, 50)],
        )

    def law_value(self, law, values):
        """Return what a law gives, without chance."""
        kind, sources, (first, *more) = law
        if kind == "free":
            return first
        a, b = (values[source] for source in sources)
        second, limit = more
        return {
            "sum": first * a + second * b,
            "less": first * a - second * b + limit,
            "scarce": min(first * a, b + limit),
            "step": first * a + (limit if b >= limit else 0),
            "over": first * max(0, a - limit) + second * b,
        }[kind]

    def law_text(self, place):
        """Write the law of the quantity at `place`."""
        kind, sources, (first, *more) = self.laws[place]
        if kind == "free":
            return f"{self.things[place]} = {first} + chance"
        a, b = (self.things[source] for source in sources)
        second, limit = more
        text = {
            "sum": f"{first} * {a} + {second} * {b}",
            "less": f"{first} * {a} - {second} * {b} + {limit}",
            "scarce": f"the smaller of {first} * {a} and {b} + {limit}",
            "step": f"{first} * {a}, and {limit} more if {b} is at least {limit},",
            "over": f"{first} * (the part of {a} above {limit}, else 0) + {second} * {b}",
        }[kind]
        return f"{self.things[place]} = {text} + chance"

    def follow(self, changed):
        """Return all quantities, with those in `changed` held at a value."""
        values = []
        for place, law in enumerate(self.laws):
            values.append(changed.get(place, self.law_value(law, values) + self.chance[place]))
        return values

    def prompt(self):
        """Return the task as text."""
        laws = "\n".join(f"- {self.law_text(place)}" for place in range(len(self.things)))
        record = ", ".join(f"{thing} {value}" for thing, value in zip(self.things, self.seen))
        changes = " and ".join(
            f"{self.things[p]} been {value}" for p, value in self.changed.items()
        )
        asked = ", then ".join(self.things[place] for place in self.asked)
        form = (
            "the number"
            if len(self.asked) == 1
            else f"{len(self.asked)} numbers, separated by commas,"
        )
        return (
            "In an orchard every quantity follows a law; each has its own chance amount, which "
            f"differs from day to day and may be negative.\n{laws}\nOne day's record: {record}.\n"
            f"Had {changes} on that day, by somebody's doing and with the same chance amounts, "
            f"what would these have been: {asked}? Give {form} in \\boxed{{}}."
        )

    def step(self, action):
        parts = re.sub(r"\s", "", answer_of(action)).split(",")
        if len(parts) != len(self.asked) or not all(
            re.fullmatch(r"[+-]?\d{1,9}", p) for p in parts
        ):
            return self.go_on(f"Give {len(self.asked)} whole number(s), separated by commas.")
        if [int(part) for part in parts] == self.answer:
            return self.win("Right.")
        return self.lose("No, that is not what would have happened.")

    def hint(self):
        chance = ", ".join(f"{thing} {value}" for thing, value in zip(self.things, self.chance))
        return (
            f"The chance amounts of that day were: {chance}. Put the changed values in place of "
            "their laws, keep everything before them as recorded, and compute each later quantity "
            "anew from its law and its chance amount, in the order of the list."
        )

    def solution(self):
        return [f"\\boxed{{{', '.join(map(str, self.answer))}}}"]
