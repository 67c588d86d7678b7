"""Keep the beds of a greenhouse watered for the gardener."""

from typing import Literal

from spade_envs.api import Task, ToolEnv, ToolError, call, finish, tool

CROPS = ["basil", "chard", "fennel", "leek", "okra", "pepper", "radish", "sorrel", "thyme"]


class GreenhouseDesk(ToolEnv):
    """Find beds by crop, set their valves, and report what the meters say."""

    levels = 4
    max_turns = 16

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        crops = self.draw_many(CROPS, 4 + self.level)
        numbers = self.draw_many(range(11, 100), len(crops))
        beds = {
            number: {"crop": crop, "litres": self.draw_int(20, 99), "valve": "shut"}
            for number, crop in zip(numbers, crops)
        }
        self.state = {"beds": beds, "raised": 0}
        dry, shut = self.thirsty = self.draw_many(numbers, 2)
        self.amount = self.draw_int(120, 480)
        goal = self.goal = beds[dry]["litres"] + self.amount
        self.asked = self.draw_many(numbers, 2 + self.level)
        names = ", ".join(beds[number]["crop"] for number in self.asked)
        self.tasks = [  # a condition reads the state it is given, and plain values
            Task(
                f"Give the {beds[dry]['crop']} bed {self.amount} litres more, please.",
                done=lambda state: state["beds"][dry]["litres"] == goal,
            ),
            Task(
                f"Now open the valve of the {beds[shut]['crop']} bed.",
                done=lambda state: state["beds"][shut]["valve"] == "open",
            ),
            Task(f"How many litres do these beds hold together: {names}?", answer=self.total),
        ]
        return self.begin("You look after the beds of a greenhouse for its gardener.")

    def total(self, state):
        return str(sum(state["beds"][number]["litres"] for number in self.asked))

    def bed(self, number):
        if number not in self.state["beds"]:
            raise ToolError(f"there is no bed {number}; look it up by its crop")
        return self.state["beds"][number]

    @tool
    def find_bed(self, crop: str) -> str:
        """Look up the number of the bed in which a crop grows.

        Args:
            crop: name of the crop, in lower case.
        """
        found = [n for n, bed in self.state["beds"].items() if bed["crop"] == crop.strip().lower()]
        return f"bed {found[0]}" if found else "no bed grows that"

    @tool
    def read_meter(self, bed: int) -> str:
        """Read how many litres a bed holds.

        Args:
            bed: number of the bed.
        """
        return f"{self.bed(bed)['litres']} litres"

    @tool
    def add_water(self, bed: int, litres: int) -> str:
        """Add water to a bed; it cannot be taken out again.

        Args:
            bed: number of the bed.
            litres: how much to add, 1 to 500.
        """
        if not 1 <= litres <= 500:
            raise ToolError("litres must be from 1 to 500")
        self.bed(bed)["litres"] += litres
        return "added"

    @tool
    def set_valve(self, bed: int, position: Literal["open", "shut"]) -> str:
        """Open or shut the valve of a bed.

        Args:
            bed: number of the bed.
            position: what the valve should be.
        """
        self.bed(bed)["valve"] = position
        return f"valve is {position}"

    @tool
    def raise_blind(self) -> str:
        """Raise the blind over the whole greenhouse by one notch."""
        self.state["raised"] += 1
        return "raised"

    def hint(self):
        dry, shut = self.thirsty
        return f"The first bed is number {dry}, the second {shut}; read the meters at the very end."

    def solution(self):
        final = self.total(self.state)
        if self.thirsty[0] in self.asked:
            final = str(int(final) + self.goal - self.bed(self.thirsty[0])["litres"])
        return [
            call("add_water", bed=self.thirsty[0], litres=self.amount),
            call("set_valve", bed=self.thirsty[1], position="open"),
            finish(final),
        ]
