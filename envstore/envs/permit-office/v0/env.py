from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

PAPERS = (
    "birth extract", "photo card", "tax note", "lease copy", "stamp sheet", "health slip",
    "map print", "noise report", "trade mark", "fire check", "water plan", "tree list",
    "road note", "seal proof", "oath form", "bank letter",
)  # fmt: skip
WISHES = "market stall,boat ramp,bee yard,night kitchen,street organ,roof garden".split(",")


class PermitOffice(ToolEnv):
    """Get a permit out of a bureaucracy whose papers need other papers, fees, and good timing.

    The agent has to find out what each paper needs, work out an order, keep enough money, and
    fetch the papers that expire last.
    """

    levels = 4
    max_turns = 60

    # papers behind a permit, most that one needs, permits, shortest life in applications (0: none)
    plans = ((4, 2, 1, 0), (7, 2, 1, 6), (10, 3, 2, 5), (15, 3, 3, 4))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count, most, permits, life = self.plans[self.level]
        names = self.draw_many(PAPERS, count)
        self.offices = [f"window {n}" for n in self.draw_many(range(1, 60), 4 + self.level)]
        wishes = [f"{name} permit" for name in self.draw_many(WISHES, permits)]
        self.papers = {}
        for place, name in enumerate(names + wishes):
            earlier = names[: min(place, count)]
            needs = self.draw_many(earlier, min(len(earlier), self.draw_int(1, most)))
            if place in (count - 1, count) and names[count - 2] not in needs:
                needs.append(names[count - 2])  # keep the chain long
            self.papers[name] = {
                "window": self.draw(self.offices),
                "needs": sorted(needs),
                "fee": self.draw_int(1, 9),
                "life": None,
            }
        self.wishes = wishes
        self.state = {"held": {}, "money": 0, "applications": 0}
        if life:
            self.shorten_lives(life)
        fees = sum(self.papers[name]["fee"] for wish in wishes for name in self.order({}, wish))
        self.state["money"] = fees + self.draw_int(2, 6)
        self.tasks = [
            Task(
                f"I need a {wish}. Please get me one.", done=lambda s, wish=wish: wish in s["held"]
            )
            for wish in wishes
        ]
        return self.begin(
            f"You run errands in a town hall with these windows: {', '.join(self.offices)}. You "
            f"have {self.state['money']} coins. A paper is issued at one window, for a fee, to "
            "whoever holds the papers that it needs; these are shown, not handed in. Some papers "
            "expire after a number of further applications, granted or not."
        )

    def shorten_lives(self, least):
        """Give some papers a life that is long enough for the orders in which they are fetched."""
        brief = [n for n in self.papers if n not in self.wishes and self.draw((True, False))]
        orders, kept = [self.order({}, wish) for wish in self.wishes], set()
        for wish in self.wishes:
            orders.append(self.order(kept, wish))  # what has no end need not be fetched again
            kept |= {n for n in orders[-1] if n not in brief and n not in self.wishes}
        for name in brief:
            spans = [0]
            for order in orders:
                uses = [i for i, later in enumerate(order) if name in self.papers[later]["needs"]]
                spans += [max(uses) - order.index(name)] if uses else []
            self.papers[name]["life"] = max(least, *spans)

    def order(self, held, wish):
        """Return the papers still to be fetched for a wish, each after those that it needs."""
        found = []

        def visit(name):
            if name in found or name in held:
                return
            for need in self.papers[name]["needs"]:
                visit(need)
            found.append(name)

        visit(wish)
        return found

    def valid(self, name):
        """Whether a paper is held and has not expired."""
        issued = self.state["held"].get(name)
        life = self.papers[name]["life"]
        return issued is not None and (life is None or self.state["applications"] - issued <= life)

    def paper(self, name):
        """Return a paper's name as the town hall spells it, or refuse."""
        key = name.strip().casefold()
        if key not in self.papers:
            raise ToolError("the town hall issues no such paper")
        return key

    @tool
    def ask(self, paper: str) -> dict[str, object]:
        """Ask at the front desk about a paper: window, fee, papers needed, and its life.

        Args:
            paper: name of the paper or permit, such as "tax note".
        """
        entry = self.papers[self.paper(paper)]
        life = "unlimited" if entry["life"] is None else f"{entry['life']} further applications"
        return {**entry, "life": life}

    @tool
    def apply(self, window: str, paper: str) -> str:
        """Apply for a paper at a window. An application counts even if it is refused.

        Args:
            window: name of the window, such as "window 7".
            paper: name of the paper or permit.
        """
        name = self.paper(paper)
        entry = self.papers[name]
        self.state["applications"] += 1
        if window.strip().casefold() != entry["window"]:
            raise ToolError("that window does not issue this paper")
        missing = [need for need in entry["needs"] if not self.valid(need)]
        if missing:
            raise ToolError(f"refused: {len(missing)} paper(s) missing or expired")
        if self.state["money"] < entry["fee"]:
            raise ToolError("refused: you cannot pay the fee")
        self.state["money"] -= entry["fee"]
        self.state["held"] = {**self.state["held"], name: self.state["applications"]}
        return f"issued: {name}; {self.state['money']} coins left"

    @tool
    def folder(self) -> dict[str, object]:
        """Show the papers you hold that are still valid, and your money."""
        valid = [name for name in self.state["held"] if self.valid(name)]
        return {"valid papers": valid, "coins": self.state["money"]}

    @tool
    def copy_paper(self, paper: str) -> str:
        """Make a plain copy of a paper that you hold; windows do not accept copies."""
        if self.paper(paper) not in self.state["held"]:
            raise ToolError("you do not hold it")
        return "copied"

    def hint(self):
        held = {name: 1 for name in self.state["held"] if self.valid(name)}
        wish = next((w for w in self.wishes if w not in self.state["held"]), self.wishes[-1])
        order = self.order(held, wish)
        return (
            f"For the {wish} you have to apply {len(order)} times, first for the "
            f"{order[0] if order else 'closing word'}. Ask about every paper, draw which needs "
            "which, and fetch a paper only when all that it needs is there. Go depth first: "
            "finish one branch before the next, so that papers with a short life are used soon; "
            "what was fetched for one permit may have expired for the next."
        )

    def solution(self):
        actions = []
        held, count = dict(self.state["held"]), self.state["applications"]
        for wish in self.wishes:
            if wish in held:
                continue
            fresh = {
                name: issued
                for name, issued in held.items()
                if self.papers[name]["life"] is None and name not in self.wishes
            }
            for name in self.order(fresh, wish):
                count += 1
                held[name] = count
                actions.append(
                    calls(
                        call("ask", paper=name),
                        call("apply", window=self.papers[name]["window"], paper=name),
                    )
                )
        return [*actions, finish("The permits are here.")]
