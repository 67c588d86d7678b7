from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

SHIPS = (
    "Aurora Boreas Calypso Dorado Erebus Fortuna Galatea Hesper Icarus Juno Kestrel Lyra".split()
)
CARGOES = ("timber", "grain", "passengers", "fish")
COUNTS = ("calendar_days", "nights", "working_days", "started_weeks")


class HarbourDues(ToolEnv):
    """Charge ships their harbour dues with the one counting tool that fits each of them.

    Several tools count days and give plausible, different numbers; which one applies, and which
    tariff, follows from the ship, its cargo and the harbour's rules.
    """

    levels = 4
    max_turns = 30

    # ships charged together, questions, longest stay, whether discounts apply
    plans = ((1, 1, 20, False), (1, 2, 30, True), (2, 2, 60, True), (3, 3, 90, True))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        together, questions, longest, self.discounts = self.plans[self.level]
        self.rest_day = self.draw_int(0, 6)
        self.feasts = sorted(self.draw_many(range(1, 366), 30))
        self.rules = dict(zip(CARGOES, self.shuffled(COUNTS)))
        self.tariffs = {cargo: self.draw_many(range(11, 80), 3) for cargo in CARGOES}
        self.ships = {}
        for name in self.draw_many(SHIPS, max(together * questions, 3)):
            first = self.draw_int(1, 250)
            self.ships[name] = {
                "cargo": self.draw(CARGOES),
                "class": self.draw_int(1, 3),
                "arrived on day": first,
                "left on day": first + self.draw_int(6, longest),
                "member": self.discounts and self.draw((True, False)),
            }
        self.state = {}
        names = list(self.ships)
        self.groups = [names[i * together : (i + 1) * together] for i in range(questions)]
        self.tasks = [
            Task(
                f"What harbour dues are to be paid for {' and '.join(group)}"
                f"{' together' if together > 1 else ''}, in coins?",
                answer=str(sum(map(self.dues, group))),
            )
            for group in self.groups
        ]
        return self.begin(
            "You work in a harbour office. Days of the year are numbered from 1 to 365; the last "
            f"feast was on day {self.draw(self.feasts)}. Dues are what the rules count for the "
            "cargo, times the tariff for the cargo and the ship's class."
        )

    def count(self, method, first, last):
        """Count a stay by one of the methods."""
        days = range(first, last + 1)
        return {
            "calendar_days": len(days),
            "nights": last - first,
            "working_days": sum(d % 7 != self.rest_day and d not in self.feasts for d in days),
            "started_weeks": -(-len(days) // 7),
        }[method]

    def dues(self, name):
        """Return what is to be paid for a ship."""
        ship = self.ships[name]
        counted = self.count(self.rules[ship["cargo"]], ship["arrived on day"], ship["left on day"])
        counted = max(0, counted - 2) if ship["member"] else counted
        return counted * self.tariffs[ship["cargo"]][ship["class"] - 1]

    def checked(self, first, last):
        """Refuse days that are not in the year or in the wrong order."""
        if not 1 <= first <= last <= 365:
            raise ToolError("give two days from 1 to 365, the earlier one first")
        return first, last

    @tool
    def ship_record(self, ship: str) -> dict[str, object]:
        """Look up a ship: cargo, class, arrival, departure, membership.

        Args:
            ship: name of the ship, any case.
        """
        name = ship.strip().title()
        if name not in self.ships:
            raise ToolError(f"ships in port this year: {', '.join(sorted(self.ships))}")
        return self.ships[name]

    @tool
    def rule(self, cargo: Literal["timber", "grain", "passengers", "fish"]) -> str:
        """Read the rule that says what is counted for a cargo."""
        words = {
            "calendar_days": "every day of the stay, the days of arrival and departure included",
            "nights": "every night in port",
            "working_days": "every day of the stay on which the harbour works",
            "started_weeks": "every week of seven days that has begun, from the day of arrival on",
        }
        member = " For members, two fewer of these are charged." if self.discounts else ""
        return f"For {cargo} we charge for {words[self.rules[cargo]]}.{member}"

    @tool
    def calendar_days(self, first: int, last: int) -> int:
        """Count the days from the first to the last, both included."""
        return self.count("calendar_days", *self.checked(first, last))

    @tool
    def nights(self, first: int, last: int) -> int:
        """Count the nights between two days."""
        return self.count("nights", *self.checked(first, last))

    @tool
    def working_days(self, first: int, last: int) -> int:
        """Count the days on which the harbour works, from the first to the last, both included."""
        return self.count("working_days", *self.checked(first, last))

    @tool
    def office_days(self, first: int, last: int) -> int:
        """Count the days on which this office is open, which is also open on feast days."""
        first, last = self.checked(first, last)
        return sum(day % 7 != self.rest_day for day in range(first, last + 1))

    @tool
    def started_weeks(self, first: int, last: int) -> int:
        """Count the weeks of seven days that have begun, the first on the first day."""
        return self.count("started_weeks", *self.checked(first, last))

    @tool
    def calendar_weeks(self, first: int, last: int) -> int:
        """Count the rest days between two days, which end the weeks of the calendar."""
        first, last = self.checked(first, last)
        return sum(day % 7 == self.rest_day for day in range(first, last + 1))

    @tool
    def tariff(
        self, cargo: Literal["timber", "grain", "passengers", "fish"], ship_class: int
    ) -> str:
        """Tell what one counted unit costs for a cargo.

        Args:
            cargo: what the ship carries.
            ship_class: class of the ship, 1 to 3.
        """
        if not 1 <= ship_class <= 3:
            raise ToolError("classes go from 1 to 3")
        return f"{self.tariffs[cargo][ship_class - 1]} coins"

    @tool
    def storage_tariff(self, cargo: Literal["timber", "grain", "fish"]) -> str:
        """Tell what a day in the harbour's sheds costs for a cargo that was unloaded."""
        return f"{self.tariffs[cargo][0] + 5} coins"

    def hint(self):
        names = ", ".join(
            f"{name}: {self.rules[self.ships[name]['cargo']]}"
            for group in self.groups
            for name in group
        )
        return (
            "For each ship read its record, the rule of its cargo and the tariff of its cargo and "
            f"class; count with the tool that the rule describes ({names}), take off what a member "
            "does not pay, multiply, and add up the ships of the question."
        )

    def solution(self):
        actions = []
        for group in self.groups:
            steps = []
            for name in group:
                ship = self.ships[name]
                stay = {"first": ship["arrived on day"], "last": ship["left on day"]}
                steps += [
                    call("ship_record", ship=name),
                    call("rule", cargo=ship["cargo"]),
                    call(self.rules[ship["cargo"]], **stay),
                    call("tariff", cargo=ship["cargo"], ship_class=ship["class"]),
                ]
            actions += [calls(*steps), finish(f"\\boxed{{{sum(map(self.dues, group))}}}")]
        return actions
