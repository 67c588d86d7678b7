from spade_envs.api import Task, ToolEnv, ToolError, call, calls, finish, tool

ACCOUNTS = "bakery cinema dairy florist garage hotel museum printer".split()
FAULTS = ("timeout, written", "timeout, lost", "busy", "stale")


class LedgerSync(ToolEnv):
    """Enter payments into a ledger over an unreliable line, each exactly once.

    A timeout does not tell whether the entry was written, a busy server wants to be left alone for
    a while, and every account has a version that others may have moved on. Mistakes can be
    reversed, but only by reading what is there.
    """

    levels = 4
    max_turns = 60

    # payments, accounts, share of calls that fail in percent, questions at the end
    plans = ((2, 2, 40, 0), (4, 3, 50, 1), (6, 4, 60, 1), (9, 6, 70, 2))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        payments, accounts, percent, questions = self.plans[self.level]
        self.accounts = self.draw_many(ACCOUNTS, accounts)
        entries = [
            [self.draw(self.accounts), self.draw_int(100, 9999)] for _ in range(3 * accounts)
        ]
        self.payments = [
            (self.draw(self.accounts), self.draw_int(100, 9999)) for _ in range(payments)
        ]
        if self.level >= 2:
            self.payments.append(self.payments[0])  # the same payment twice, on purpose
        numbers = self.draw_many(range(1000, 10000), 200)
        # what befalls the calls of enter, in turn; never two faults of one kind in a row
        weather = []
        for _ in range(60):
            kinds = [kind for kind in FAULTS if not weather or kind != weather[-1]]
            weather.append(self.draw(kinds) if self.draw_int(1, 100) <= percent else "fine")
        weather[0] = self.draw(FAULTS[:2])
        self.state = {
            "entries": {numbers[i]: entry for i, entry in enumerate(entries)},
            "numbers": numbers[len(entries) :],
            "versions": {name: self.draw_int(10, 99) for name in self.accounts},
            "weather": weather,
            "busy": 0,
        }
        goal = sorted(map(tuple, [*entries, *self.payments]))
        listing = "; ".join(f"{amount} to {name}" for name, amount in self.payments)
        note = " (one occurs twice: these are two payments)" if self.level >= 2 else ""
        self.tasks = [
            Task(
                f"Enter these payments into the ledger, each exactly once{note}: {listing}.",
                done=lambda s, goal=goal: sorted(map(tuple, s["entries"].values())) == goal,
            )
        ]
        self.asked = self.draw_many(self.accounts, questions)
        self.tasks += [
            Task(
                f"What do the entries of the account {name} add up to now?",
                answer=str(self.sum_of(name)),
            )
            for name in self.asked
        ]
        return self.begin(
            "You keep a ledger at a bank with a bad line. Amounts are whole pence. Accounts: "
            f"{', '.join(sorted(self.accounts))}."
        )

    def sum_of(self, account):
        """Return what an account's entries add up to when all payments are in."""
        old = sum(amount for name, amount in self.state["entries"].values() if name == account)
        return old + sum(amount for name, amount in self.payments if name == account)

    def known(self, account):
        """Return the account's name, or refuse."""
        if account not in self.accounts:
            raise ToolError(f"accounts: {', '.join(sorted(self.accounts))}")
        return account

    @tool
    def read_account(self, account: str) -> dict[str, object]:
        """Read an account: its version, and its entries by number. Reading never fails.

        Args:
            account: name of the account.
        """
        name = self.known(account)
        rows = {str(n): entry[1] for n, entry in self.state["entries"].items() if entry[0] == name}
        return {"version": self.state["versions"][name], "entries": rows}

    @tool
    def enter(self, account: str, amount: int, version: int) -> str:
        """Enter a payment.

        Args:
            account: name of the account.
            amount: pence, more than 0.
            version: version of the account as read last; every change raises it.
        """
        name = self.known(account)
        if not 0 < amount < 1_000_000:
            raise ToolError("the amount is out of range")
        if self.state["busy"] > 0:
            raise ToolError(f"429 busy: wait {self.state['busy']} seconds before entering anything")
        weather = self.state["weather"].pop(0) if self.state["weather"] else "fine"
        if weather == "busy":
            self.state["busy"] = 20
            raise ToolError("429 busy: nothing was written; wait 20 seconds")
        if weather == "timeout, lost":
            raise ToolError("504 no reply: the entry may or may not have been written")
        if weather == "stale":
            self.state["versions"][name] += 3
        if version != self.state["versions"][name]:
            raise ToolError("409 the account has moved on: read it again; nothing was written")
        number = (
            self.state["numbers"].pop(0) if self.state["numbers"] else len(self.state["entries"])
        )
        self.state["entries"][number] = [name, amount]
        self.state["versions"][name] += 1
        if weather == "timeout, written":
            raise ToolError("504 no reply: the entry may or may not have been written")
        return f"written as entry {number}"

    @tool
    def reverse(self, entry: int) -> str:
        """Remove an entry that should not be there.

        Args:
            entry: number of the entry.
        """
        if entry not in self.state["entries"]:
            raise ToolError("there is no entry with that number")
        name, _ = self.state["entries"].pop(entry)
        self.state["versions"][name] += 1
        return "removed"

    @tool
    def wait(self, seconds: int) -> str:
        """Wait, from 1 to 60 seconds."""
        if not 1 <= seconds <= 60:
            raise ToolError("wait from 1 to 60 seconds")
        self.state["busy"] = max(0, self.state["busy"] - seconds)
        return f"{seconds} seconds later"

    @tool
    def server_status(self) -> str:
        """Show the public status page, which is renewed once a day."""
        return "All systems work normally."

    def hint(self):
        return (
            "Before every payment read the account and pass its version. After 409 read again and "
            "repeat. After 429 wait as long as it says, then repeat. After 504 read the account "
            "and count the entries with that amount before you decide: it may be there already. "
            "At the end read all accounts once more and reverse what is there too often."
        )

    def solution(self):
        # play against a copy of the unreliable line, as a careful clerk would
        weather, busy = list(self.state["weather"]), self.state["busy"]
        versions = dict(self.state["versions"])
        there = [tuple(entry) for entry in self.state["entries"].values()]
        old = len(there) == 3 * len(self.accounts)
        actions = [calls(*(call("read_account", account=name) for name in self.accounts))]
        for name, amount in self.payments if old else []:
            written = False
            while not written:
                steps = [call("wait", seconds=busy)] if busy else []
                kind, busy = (weather.pop(0) if weather else "fine"), 0
                steps.append(call("enter", account=name, amount=amount, version=versions[name]))
                steps.append(call("read_account", account=name))
                actions.append(calls(*steps))
                written = kind in ("fine", "timeout, written")
                busy = 20 if kind == "busy" else 0
                versions[name] += {"stale": 3, "fine": 1, "timeout, written": 1}.get(kind, 0)
        answers = [self.sum_of(name) for name in self.asked]
        return [*actions, *(finish(f"\\boxed{{{a}}}") for a in answers or ["All payments are in."])]
