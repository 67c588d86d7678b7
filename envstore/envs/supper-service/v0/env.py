import itertools

from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

DISHES = "pie soup trout risotto dumplings roast custard gratin".split()
STATIONS = "oven stove board steamer".split()


class SupperService(ToolEnv):
    """Cook several dishes on shared stations so that all of them are hot at the same time.

    Each dish has steps on given stations, a station holds one dish, steps end by themselves, and
    finished dishes go cold. The agent plans backwards and lets the clock run.
    """

    levels = 4
    max_turns = 60

    # dishes, steps per dish, stations, minutes that a dish stays hot
    plans = ((2, 2, 2, 12), (3, 3, 3, 12), (4, 3, 3, 14), (5, 4, 4, 14))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, steps, stations, self.hot = self.plans[self.level]
        self.stations = STATIONS[:stations]
        while True:
            self.dishes = {
                name: [(self.draw(self.stations), self.draw_int(3, 25)) for _ in range(steps)]
                for name in self.draw_many(DISHES, count)
            }
            self.schedule = self.plan()
            # cooking everything at once from the start must not do
            if self.schedule and self.schedule[0][0] != self.schedule[-1][0]:
                break
        busy = max(start + self.dishes[dish][step][1] for start, dish, step in self.schedule)
        self.deadline = busy + self.draw_int(4, 10)
        self.state = {"minute": 0, "steps": {dish: [] for dish in self.dishes}, "served": False}
        menu = ", ".join(sorted(self.dishes))
        wish = f"Please serve {menu}, all hot, by minute {self.deadline}."
        self.tasks = [Task(wish, done=lambda s: s["served"])]
        return self.begin(
            "You run a kitchen; it is minute 0. Each dish has steps that follow each other, each "
            f"at one of the stations {', '.join(self.stations)}. A station works on one dish at a "
            f"time, a step ends by itself, and a dish stays hot for {self.hot} minutes after its "
            "last step."
        )

    def plan(self):
        """Return a schedule of (minute, dish, step) that ends all dishes together, or None.

        Dishes are placed backwards from a common end, in the best of some orders.
        """
        best = None
        for order in itertools.islice(itertools.permutations(self.dishes), 12):
            placed, starts = [], []
            for dish in order:
                end = 0
                for step in range(len(self.dishes[dish]) - 1, -1, -1):
                    station, minutes = self.dishes[dish][step]
                    taken = sorted((a, b) for place, a, b in placed if place == station)
                    for a, b in reversed(taken):  # slide to before whatever is in the way
                        if end - minutes < b and a < end:
                            end = a
                    if step == len(self.dishes[dish]) - 1 and end < -self.hot:
                        break
                    placed.append((station, end - minutes, end))
                    end -= minutes
                    starts.append((end, dish, step))
            if len(starts) == sum(map(len, self.dishes.values())) and (
                best is None or min(starts) > min(best)
            ):
                best = starts
        if best is None:
            return None
        first = min(best)[0]
        return sorted((minute - first, dish, step) for minute, dish, step in best)

    def ready(self, dish):
        """Return the minute at which the steps started so far end, and how many they are."""
        starts = self.state["steps"][dish]
        end = starts[-1] + self.dishes[dish][len(starts) - 1][1] if starts else 0
        return end, len(starts)

    def known(self, dish):
        """Return the dish's name, or refuse."""
        name = dish.strip().casefold()
        if name not in self.dishes:
            raise ToolError(f"dishes: {', '.join(sorted(self.dishes))}")
        return name

    @tool
    def recipe(self, dish: str) -> list[str]:
        """Read the steps of a dish.

        Args:
            dish: name of the dish.
        """
        return [
            f"{minutes} minutes at the {station}"
            for station, minutes in self.dishes[self.known(dish)]
        ]

    @tool
    def start(self, dish: str) -> str:
        """Start the next step of a dish at its station, now.

        Args:
            dish: name of the dish.
        """
        name = self.known(dish)
        now = self.state["minute"]
        end, begun = self.ready(name)
        if begun == len(self.dishes[name]):
            raise ToolError(f"{name} has no further step")
        if end > now:
            raise ToolError(f"{name} is still in its last step, until minute {end}")
        station, minutes = self.dishes[name][begun]
        for other in self.dishes:
            other_end, other_begun = self.ready(other)
            if (
                other_begun
                and other_end > now
                and self.dishes[other][other_begun - 1][0] == station
            ):
                raise ToolError(f"the {station} is taken by {other} until minute {other_end}")
        self.state["steps"][name].append(now)
        return f"{name} is at the {station} until minute {now + minutes}"

    @tool
    def wait(self, minutes: int) -> str:
        """Let time pass, from 1 to 60 minutes."""
        if not 1 <= minutes <= 60:
            raise ToolError("wait from 1 to 60 minutes")
        self.state["minute"] += minutes
        return f"it is minute {self.state['minute']}"

    @tool
    def kitchen(self) -> dict[str, object]:
        """Look around: the time, and how far each dish is."""
        rows = {dish: self.describe(dish) for dish in self.dishes}
        return {"minute": self.state["minute"], **rows}

    def describe(self, dish):
        """Say in words how far a dish is."""
        end, begun = self.ready(dish)
        if begun < len(self.dishes[dish]) or end > self.state["minute"]:
            return f"step {begun} of {len(self.dishes[dish])}" + (
                f", until minute {end}" if begun else ""
            )
        return f"finished at minute {end}, hot until minute {end + self.hot}"

    @tool
    def start_over(self, dish: str) -> str:
        """Throw a dish away and begin it anew."""
        self.state["steps"][self.known(dish)] = []
        return "begin with its first step"

    @tool
    def taste(self, dish: str) -> str:
        """Taste a dish."""
        return f"{self.known(dish)} tastes good"

    @tool
    def serve(self) -> str:
        """Serve all dishes; refused unless all are finished, hot and in time."""
        now = self.state["minute"]
        if now > self.deadline:
            raise ToolError("it is too late, the guests have left")
        for dish in self.dishes:
            end, begun = self.ready(dish)
            if begun < len(self.dishes[dish]) or end > now:
                raise ToolError(f"{dish} is not finished")
            if now - end > self.hot:
                raise ToolError(f"{dish} is cold")
        self.state["served"] = True
        return "served"

    def hint(self):
        order = [dish for _, dish, step in self.schedule if step == 0]
        return (
            f"Read all recipes first. Begin the dishes in this order: {', '.join(order)}. Plan "
            "backwards from one common end: give the last step of each dish its place at its "
            "station, then the steps before it, each ending when the next begins or earlier; then "
            "shift everything so that the first step starts at minute 0, and wait between starts."
        )

    def solution(self):
        actions, now = [calls(*(call("recipe", dish=dish) for dish in self.dishes))], 0
        for minute, dish, step in self.schedule:
            if step < len(self.state["steps"][dish]):
                continue
            wait = (
                [call("wait", minutes=minute - max(now, self.state["minute"]))]
                if minute > max(now, self.state["minute"])
                else []
            )
            actions.append(calls(*wait, call("start", dish=dish)))
            now = max(minute, now)
        end = max(minute + self.dishes[dish][step][1] for minute, dish, step in self.schedule)
        rest = end - max(now, self.state["minute"])
        steps = [call("wait", minutes=rest)] if rest > 0 else []
        return [*actions, calls(*steps, call("serve")), finish("Supper is served.")]
