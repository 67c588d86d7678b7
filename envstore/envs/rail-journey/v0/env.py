from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

TOWNS = "Arvik Belmont Corsa Dunmoor Elsby Fenwick Garda Holm Istria Jarow Kelso Lorn".split()
GUESTS = "Okafor Lindqvist Moreau Tanaka Novak Herrera Whitlock Aydin".split()


class RailJourney(ToolEnv):
    """Find and reserve the cheapest train journeys that arrive in time, and report the price.

    Stations have codes, the timetable shows one leg at a time, fares are quoted per leg in the
    currency of the railway that runs the train, and changing trains takes time.
    """

    levels = 4
    max_turns = 30

    # towns, trains per pair of towns, journeys to book, whether a change may be needed
    plans = ((3, 3, 1, False), (4, 4, 2, False), (5, 3, 2, True), (6, 4, 3, True))
    change_minutes = 10

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        towns, trains, journeys, self.changes = self.plans[self.level]
        self.towns = self.draw_many(TOWNS, towns)
        self.codes = dict(zip(self.towns, self.draw_many(range(100, 1000), towns)))
        self.rates = {"crown": self.draw_int(2, 4), "mark": self.draw_int(5, 9)}  # in pence
        numbers = iter(self.draw_many(range(100, 1000), towns * towns * trains))
        self.trains = {}
        for start in self.towns:
            for end in self.towns:
                for _ in range(trains if start != end else 0):
                    leave = self.draw_int(6 * 60, 20 * 60)
                    ride, fare = self.draw_int(25, 150), self.draw_int(10, 99)
                    money = self.draw(list(self.rates))
                    self.trains[next(numbers)] = (start, end, leave, leave + ride, fare, money)
        self.state = {"booked": {}}
        self.tasks, self.wishes, total = [], [], 0
        for guest in self.draw_many(GUESTS, journeys):
            start, end, latest, legs = self.draw_journey()
            self.wishes.append((guest, legs))
            total += self.price(legs)
            goal = {name: list(way) for name, way in self.wishes}
            self.tasks.append(
                Task(
                    f"{guest} must go from {start} to {end} and be there by {clock(latest)}. "
                    "Please reserve the cheapest way"
                    + (", with at most one change." if self.changes else ", without a change."),
                    done=lambda s, goal=goal: s["booked"] == goal,
                )
            )
        self.tasks.append(Task("What does all of that cost together, in pence?", answer=str(total)))
        return self.begin(
            "You book trains for the guests of a hotel. A guest needs at least "
            f"{self.change_minutes} minutes to change from one train to the next. Prices are "
            "compared in pence."
        )

    def draw_journey(self):
        """Draw a wish with exactly one cheapest way, which takes a change where that is allowed."""
        while True:
            start, end = self.draw_many(self.towns, 2)
            latest = self.draw_int(12 * 60, 22 * 60)
            ways = sorted(self.ways(start, end, latest), key=self.price)
            unique = len(ways) >= 2 and self.price(ways[0]) < self.price(ways[1])
            if unique and len(ways[0]) == (2 if self.changes else 1):
                return start, end, latest, ways[0]

    def ways(self, start, end, latest):
        """Return every way from `start` to `end` that arrives in time, as tuples of trains."""
        last = {n: t for n, t in self.trains.items() if t[1] == end and t[3] <= latest}
        found = [(number,) for number, train in last.items() if train[0] == start]
        for first, (leaves, via, _, arrive, *_) in self.trains.items():
            if leaves == start and via != end and self.changes:
                ready = arrive + self.change_minutes
                found += [(first, n) for n, t in last.items() if t[0] == via and t[2] >= ready]
        return found

    def price(self, legs):
        """Return the price of some trains in pence."""
        return sum(self.trains[leg][4] * self.rates[self.trains[leg][5]] for leg in legs)

    @tool
    def station_code(self, town: str) -> str:
        """Look up the code of a town's station.

        Args:
            town: name of the town, any case.
        """
        for name, code in self.codes.items():
            if name.casefold() == town.strip().casefold():
                return f"{name} has station code {code}"
        raise ToolError(f"no town is called {town[:40]}; towns: {', '.join(self.towns)}")

    @tool
    def departures(self, station: int, towards: int) -> list[str]:
        """List the direct trains from one station to another, for the whole day.

        Args:
            station: code of the station where the train leaves.
            towards: code of the station where it arrives.
        """
        town = {code: name for name, code in self.codes.items()}
        if station not in town or towards not in town:
            raise ToolError("there is no station with that code")
        rows = [
            (train[2], number)
            for number, train in self.trains.items()
            if train[:2] == (town[station], town[towards])
        ]
        return [
            f"train {n}: leaves {clock(leave)}, arrives {clock(self.trains[n][3])}"
            for leave, n in sorted(rows)
        ]

    @tool
    def fare(self, train: int) -> str:
        """Quote the fare of a train, in the currency of its railway."""
        if train not in self.trains:
            raise ToolError("there is no train with that number")
        *_, amount, money = self.trains[train]
        return f"{amount} {money}s"

    @tool
    def exchange_rate(self, currency: Literal["crown", "mark"]) -> str:
        """Tell what one unit of a currency is worth in pence."""
        return f"1 {currency} = {self.rates[currency]} pence"

    @tool
    def reserve(self, guest: str, trains: list[int]) -> str:
        """Reserve seats, in place of whatever was reserved for this guest before.

        Args:
            guest: surname of the guest.
            trains: numbers of the trains in the order of travel.
        """
        if not trains or any(train not in self.trains for train in trains):
            raise ToolError("there is no train with that number")
        self.state["booked"][guest.strip().title()] = list(trains)
        return f"reserved for {guest[:40]}: {trains}"

    @tool
    def cancel(self, guest: str) -> str:
        """Cancel whatever is reserved for a guest."""
        if self.state["booked"].pop(guest.strip().title(), None) is None:
            raise ToolError("nothing is reserved for that guest")
        return "cancelled"

    @tool
    def platform(self, train: int) -> str:
        """Tell the platform from which a train leaves."""
        return f"platform {train % 9 + 1}" if train in self.trains else "unknown train"

    def hint(self):
        steps = (
            "each direct train" if not self.changes else "each first train and each second train"
        )
        return (
            f"Get all station codes first. For every wish list {steps} in the timetable (a change "
            "may be in any other town), drop what arrives too late or leaves too short a change, "
            "ask the fares of what is left, and turn them into pence before you compare. Keep the "
            "sums."
        )

    def solution(self):
        looks = [call("station_code", town=town) for town in self.towns]
        fares = [call("fare", train=leg) for _, legs in self.wishes for leg in legs]
        books = [call("reserve", guest=guest, trains=list(legs)) for guest, legs in self.wishes]
        total = sum(self.price(legs) for _, legs in self.wishes)
        return [calls(*looks), calls(*fares), *books, finish(f"\\boxed{{{total}}}")]


def clock(minutes):
    """Write minutes after midnight as HH:MM."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
