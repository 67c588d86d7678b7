from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

PORTS = "Ansel Brack Crail Dunes Ebbing Farrow Grune Haven".split()
PER_CENTIMETRE = {"cm": 1, "mm": 10}


class TideLedger(ToolEnv):
    """Query a database of tide readings through a narrow window and compare ports.

    Readings come in the unit of the instrument and above the instrument's own zero; both change
    when an instrument is replaced. Doubtful readings must be left out.
    """

    levels = 4
    max_turns = 40

    # ports, days, instruments per port, questions
    plans = ((2, 8, 1, 1), (3, 16, 1, 2), (3, 24, 2, 2), (4, 40, 3, 3))
    window = 8

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        ports, self.days, instruments, questions = self.plans[self.level]
        self.ports = self.draw_many(PORTS, ports)
        self.instruments = {}
        self.levels_cm = {}
        for port in self.ports:
            changes = sorted(self.draw_many(range(4, self.days), instruments - 1))
            self.instruments[port] = [
                {"from": day, "unit": self.draw(("cm", "mm")), "zero_cm": self.draw_int(-150, 150)}
                for day in [1, *changes]
            ]
            self.levels_cm[port] = [self.draw_int(180, 620) for _ in range(self.days)]
        bad = {
            port: self.draw_many(range(1, self.days + 1), max(1, self.days // 6))
            for port in self.ports
        }
        self.doubtful = {port: sorted(days) for port, days in bad.items()}
        for port in self.ports:  # doubtful readings lie beyond the true ones, so that they matter
            for day in self.doubtful[port]:
                self.levels_cm[port][day - 1] = self.draw_int(650, 900)
        self.state = {}
        self.questions = [self.draw_question() for _ in range(questions)]
        self.tasks = [Task(self.wording(q), answer=str(self.truth(q))) for q in self.questions]
        return self.begin(
            "You look after tide records: one reading a day and port. A level above chart datum "
            "is the reading plus the height of the instrument's zero, in centimetres. Readings "
            f"marked doubtful do not count. The records cover days 1 to {self.days}."
        )

    def draw_question(self):
        """Draw a question: kind, ports and days."""
        kinds = ("highest",) if self.level == 0 else ("highest", "range", "sum")
        first = self.draw_int(1, max(1, self.days // 4))
        last = self.draw_int(self.days * 3 // 4, self.days)
        return self.draw(kinds), self.draw_many(self.ports, 2), first, last

    def wording(self, question):
        """Put a question into words."""
        kind, (port, other), first, last = question
        span = f"from day {first} to day {last}"
        return {
            "highest": f"What was the highest level above chart datum at {port} {span}, in cm?",
            "range": f"By how many cm do the highest and the lowest level at {port} {span} differ?",
            "sum": f"Add the highest level at {port} and the highest at {other}, both above chart "
            f"datum and {span}. How many cm is that?",
        }[kind]

    def truth(self, question):
        """Return the answer to a question, in cm."""
        kind, ports, first, last = question
        valid = [
            [self.levels_cm[p][d - 1] for d in range(first, last + 1) if d not in self.doubtful[p]]
            for p in ports
        ]
        if kind == "range":
            return max(valid[0]) - min(valid[0])
        return max(valid[0]) + (max(valid[1]) if kind == "sum" else 0)

    def find(self, port):
        """Return the port's name as the database spells it."""
        for name in self.ports:
            if name.casefold() == port.strip().casefold():
                return name
        raise ToolError(f"ports in the database: {', '.join(self.ports)}")

    def instrument(self, port, day):
        """Return the instrument that was in use on a day."""
        return [item for item in self.instruments[port] if item["from"] <= day][-1]

    @tool
    def readings(self, port: str, first_day: int, last_day: int) -> list[str]:
        """Return raw readings, above the instrument's zero and in its unit, eight days at most.

        Args:
            port: name of the port.
            first_day: first day, counted from 1.
            last_day: last day, included.
        """
        name = self.find(port)
        if not 1 <= first_day <= last_day <= self.days or last_day - first_day >= self.window:
            raise ToolError(f"ask for at most {self.window} days within days 1 to {self.days}")
        rows = []
        for day in range(first_day, last_day + 1):
            tool_used = self.instrument(name, day)
            raw = (self.levels_cm[name][day - 1] - tool_used["zero_cm"]) * PER_CENTIMETRE[
                tool_used["unit"]
            ]
            rows.append(f"day {day}: {raw}{' doubtful' if day in self.doubtful[name] else ''}")
        return rows

    @tool
    def instruments_of(self, port: str) -> list[str]:
        """List the instruments of a port: first day of use, unit, height of the zero in cm."""
        return [
            f"from day {item['from']}: unit {item['unit']}, zero {item['zero_cm']} cm above chart "
            "datum"
            for item in self.instruments[self.find(port)]
        ]

    @tool
    def average(self, port: str, quality: Literal["all", "good"] = "all") -> str:
        """Return the average raw reading of a port over all days, units mixed as they come."""
        name = self.find(port)
        days = [
            d for d in range(1, self.days + 1) if quality == "all" or d not in self.doubtful[name]
        ]
        return f"{sum(self.levels_cm[name][d - 1] for d in days) // len(days)}"

    @tool
    def weather(self, port: str, day: int) -> str:
        """Tell the weather at a port on a day."""
        return ("calm", "windy", "storm")[(len(self.find(port)) + day) % 3]

    def hint(self):
        kinds = {"highest": "a highest level", "range": "a difference", "sum": "a sum of two ports"}
        wanted = ", then ".join(kinds[question[0]] for question in self.questions)
        return (
            f"Asked for: {wanted}. For each port read the instruments first, then the readings in "
            f"windows of {self.window} days. Leave doubtful ones out, turn millimetres into "
            "centimetres, add the zero of the instrument that was in use on that day, and only "
            "then compare. In a difference the zeros cancel only if the instrument stayed the same."
        )

    def solution(self):
        actions = []
        for question in self.questions:
            _, ports, first, last = question
            looks = [call("instruments_of", port=port) for port in ports]
            for begin in range(first, last + 1, self.window):
                end = min(last, begin + self.window - 1)
                looks += [call("readings", port=p, first_day=begin, last_day=end) for p in ports]
            actions += [calls(*looks), finish(f"\\boxed{{{self.truth(question)}}}")]
        return actions
