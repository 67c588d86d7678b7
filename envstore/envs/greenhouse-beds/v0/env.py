from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

PLANTS = (
    "basil mint fennel dill sage thyme chard leek kale sorrel borage parsley anise cress".split()
)
BEDS = "north south east west middle".split()


class GreenhouseBeds(ToolEnv):
    """Rearrange plants between full beds, one at a time, without ever making bad neighbours.

    There is little free room and some plants must not share a bed even for a moment, so that a
    wish takes detours; at its end every other plant must be back where it was.
    """

    levels = 4
    max_turns = 40

    # beds, places per bed, free places, pairs that do not get on, wishes
    plans = ((3, 2, 2, 0, 1), (3, 3, 2, 2, 2), (4, 3, 2, 5, 2), (5, 3, 2, 7, 3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        beds, self.places, free, bad_pairs, wishes = self.plans[self.level]
        self.beds = BEDS[:beds]
        while True:
            plants = self.draw_many(PLANTS, beds * self.places - free)
            slots = self.draw_many(self.beds * self.places, len(plants))
            where = dict(zip(plants, slots))
            apart = [
                (a, b)
                for i, a in enumerate(plants)
                for b in plants[i + 1 :]
                if where[a] != where[b]
            ]
            self.foes = sorted(sorted(pair) for pair in self.draw_many(apart, bad_pairs))
            self.goals = self.draw_goals(where, wishes)
            if self.goals:
                break
        self.state = {"where": where, "labels": {}}
        self.tasks, before = [], where
        for goal in self.goals:
            moved = [plant for plant in goal if goal[plant] != before[plant]]
            wish = ", ".join(f"{plant} to the {goal[plant]} bed" for plant in moved)
            self.tasks.append(
                Task(
                    f"Move {wish}. In the end every other plant must stand where it stands now.",
                    done=lambda s, goal=goal: s["where"] == goal,
                )
            )
            before = goal
        foes = "; ".join(f"{a} and {b}" for a, b in self.foes)
        rule = f" These must never share a bed, not even for a moment: {foes}." if foes else ""
        return self.begin(
            f"You tend a greenhouse with {beds} beds of {self.places} places each: "
            f"{', '.join(self.beds)}. Plants are moved one at a time into a free place.{rule}"
        )

    def draw_goals(self, where, wishes):
        """Draw arrangements, each a turn of two or three plants from the one before, or None."""
        goals, start = [], where
        for _ in range(wishes):
            turned = self.draw_many(list(where), self.draw_int(2, 3))
            beds = [where[plant] for plant in turned]
            goal = {**where, **dict(zip(turned, beds[1:] + beds[:1]))}
            stays = any(goal[plant] == where[plant] for plant in turned)
            if stays or goal in (start, *goals) or self.route(where, goal) is None:
                return None
            goals.append(goal)
            where = goal
        return goals

    def refusal(self, there, plant, bed):
        """Return why a plant may not join the plants that are `there` in a bed, or None."""
        if len(there) >= self.places:
            return f"the {bed} bed is full"
        for other in there:
            if sorted((plant, other)) in self.foes:
                return f"{plant} and {other} must not share a bed"
        return None

    def route(self, start, goal, most=300):
        """Return moves from one arrangement to another, found breadth first, or None."""
        plants = [p for p in start if start[p] != goal[p]]
        beside = [p for p in start if p not in plants and start[p] in {goal[x] for x in plants}]
        plants += beside[:1]  # one more plant may step aside
        key = tuple(start[p] for p in plants)
        wanted = tuple(goal[p] for p in plants)
        settled = {
            bed: [p for p in start if start[p] == bed and p not in plants] for bed in self.beds
        }
        ways, queue = {key: []}, [key]
        for key in queue:
            if key == wanted:
                return ways[key]
            there = {
                bed: settled[bed] + [p for p, b in zip(plants, key) if b == bed]
                for bed in self.beds
            }
            if len(ways) > most:
                return None
            for index, plant in enumerate(plants):
                for bed in self.beds:
                    after = (*key[:index], bed, *key[index + 1 :])
                    if after not in ways and self.refusal(there[bed], plant, bed) is None:
                        ways[after] = [*ways[key], (plant, bed)]
                        queue.append(after)
        return None

    @tool
    def look(self, bed: str) -> str:
        """List the plants that stand in a bed.

        Args:
            bed: name of the bed, such as north.
        """
        if bed not in self.beds:
            raise ToolError(f"beds: {', '.join(self.beds)}")
        there = [plant for plant, place in self.state["where"].items() if place == bed]
        return f"{bed}: {', '.join(there) or 'nothing'}; {self.places - len(there)} places free"

    @tool
    def find(self, plant: str) -> str:
        """Tell in which bed a plant stands."""
        return f"{plant} stands in the {self.bed_of(plant)} bed"

    def bed_of(self, plant):
        """Return the bed of a plant that exists."""
        if plant not in self.state["where"]:
            raise ToolError(f"plants: {', '.join(sorted(self.state['where']))}")
        return self.state["where"][plant]

    @tool
    def move(self, plant: str, bed: str) -> str:
        """Move a plant into a free place of another bed.

        Args:
            plant: name of the plant, in lower case.
            bed: name of the bed, such as north.
        """
        self.bed_of(plant)
        if bed not in self.beds:
            raise ToolError(f"beds: {', '.join(self.beds)}")
        there = [p for p, b in self.state["where"].items() if b == bed and p != plant]
        why_not = self.refusal(there, plant, bed)
        if why_not:
            raise ToolError(why_not)
        self.state["where"] = {**self.state["where"], plant: bed}
        return f"{plant} stands in the {bed} bed now"

    @tool
    def compost(self, plant: str) -> str:
        """Throw a plant on the compost heap; it cannot be brought back."""
        self.bed_of(plant)
        self.state["where"] = {p: b for p, b in self.state["where"].items() if p != plant}
        return f"{plant} is gone"

    @tool
    def water(self, bed: str) -> str:
        """Water a bed; plants stay where they are."""
        return f"the {bed[:20]} bed is wet"

    def hint(self):
        where, lines = self.state["where"], []
        for goal in self.goals:
            ways = self.route(where, goal)
            lines.append(f"{len(ways)} moves, of which the first takes {ways[0][0]} out of the way")
            where = goal
        return (
            "Look at every bed first and write down the free places. A swap between full beds "
            "needs a third bed as a siding: move one plant out, the other across, the first one "
            f"in. It can be done in: {'; then '.join(lines)}."
        )

    def solution(self):
        actions, where = [calls(*(call("look", bed=bed) for bed in self.beds))], self.state["where"]
        for goal in self.goals[self.goals.index(where) + 1 if where in self.goals else 0 :]:
            actions += [
                call("move", plant=plant, bed=bed) for plant, bed in self.route(where, goal)
            ]
            where = goal
        return [*actions, finish("Everything stands where you want it.")]
