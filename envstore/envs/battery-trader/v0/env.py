import re

from spade_envs.api import TextEnv, answer_of


class BatteryTrader(TextEnv):
    """Buy, store and sell power hour by hour and earn as much as can be earned.

    Prices are announced, but every trade moves the next hour's price, and turning the battery from
    buying to selling wears it. A greedy move can cost more than it earns several hours later.
    """

    levels = 5
    max_turns = 24

    # hours, capacity, whether trades move the next price, wear of a change of direction
    plans = ((6, 2, 0, 0), (8, 3, 0, 1), (10, 3, 2, 1), (14, 4, 3, 2), (20, 5, 4, 3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        hours, self.capacity, self.impact, self.wear = self.plans[self.level]
        while True:
            self.prices = [self.draw_int(5, 30) for _ in range(hours)]
            self.hour, self.stored, self.money = 0, self.draw_int(0, 1), 0
            self.last = self.before = "W"  # last trade, and what was done in the hour before
            self.goal, ways = self.best()
            if self.goal >= 10 and ways <= 3 ** (hours - 4):
                break
        rules = [
            f"You run a battery that stores up to {self.capacity} units; it holds {self.stored} "
            f"now and you begin with 0 coins (debt is allowed). In each of {hours} hours you buy "
            "one unit (B), sell one unit (S) or wait (W), at the hour's price.",
        ]
        if self.impact:
            rules.append(
                f"Buying raises the next hour's price by {self.impact}, selling lowers it by "
                f"{self.impact}; only that one hour is moved."
            )
        if self.wear:
            rules.append(
                f"Selling costs {self.wear} coins more if your last trade was buying, and buying "
                f"costs {self.wear} more if your last trade was selling."
            )
        return (
            " ".join(rules)
            + "\nAnnounced prices, hour 1 on: "
            + " ".join(map(str, self.prices))
            + "."
            f"\nWhat is stored at the end is worth nothing. The most that can be earned is "
            f"{self.goal} coins; you succeed if you earn that.\nReply with the letters for the "
            "next hour or for several hours in a row, such as BWS, in \\boxed{} if you write "
            "anything else."
        ), {}

    def trade(self, hour, stored, last, before, letter):
        """Return gain, stored units and last trade after one hour, or None if it cannot be done.

        `before` is what was done in the hour before; it moved this hour's price.
        """
        price = self.prices[hour] + {"B": self.impact, "S": -self.impact, "W": 0}[before]
        if letter == "W":
            return 0, stored, last
        if not 0 <= stored + (1 if letter == "B" else -1) <= self.capacity:
            return None
        wear = self.wear if last not in ("W", letter) else 0
        if letter == "B":
            return -price - wear, stored + 1, "B"
        return price - wear, stored - 1, "S"

    def best(self):
        """Return the most coins that can still be earned and how many ways earn them."""
        pasts = [("W", "W"), ("B", "W"), ("S", "W"), ("B", "B"), ("S", "S")]  # last and before
        table = {}
        for hour in range(len(self.prices), self.hour - 1, -1):
            for key in [(s, *past) for s in range(self.capacity + 1) for past in pasts]:
                options = [(0, 1)] if hour == len(self.prices) else []
                for letter in "WBS" if not options else "":
                    done = self.trade(hour, *key, letter)
                    if done is not None:
                        rest, ways = table[hour + 1, done[1], done[2], letter]
                        options.append((done[0] + rest, ways))
                most = max(options)[0]
                table[hour, *key] = most, sum(ways for gain, ways in options if gain == most)
        self.plan = {key: value[0] for key, value in table.items()}
        return table[self.hour, self.stored, self.last, self.before]

    def step(self, action):
        letters = re.sub(r"[\s,]", "", answer_of(action)).upper()
        if not letters or len(letters) > 50 or letters.strip("BSW"):
            return self.go_on("Reply with the letters B, S and W only.")
        for letter in letters:
            done = self.trade(self.hour, self.stored, self.last, self.before, letter)
            if done is None:
                full = "full" if letter == "B" else "empty"
                return self.go_on(f"Hour {self.hour + 1}: the battery is {full}. {self.status()}")
            gain, self.stored, self.last = done
            self.money += gain
            self.before = letter
            self.hour += 1
            if self.hour == len(self.prices):
                if self.money == self.goal:
                    return self.win(f"You earned {self.money} coins, the most there was.")
                return self.lose(f"You earned {self.money} coins; {self.goal} were possible.")
        return self.go_on(self.status())

    def status(self):
        """Say where things stand before the next hour."""
        return (
            f"Next is hour {self.hour + 1}. Stored: {self.stored} of {self.capacity}. Coins: "
            f"{self.money}."
        )

    def best_letters(self):
        """Return letters that earn the most from here."""
        state, letters = (self.hour, self.stored, self.last, self.before), ""
        while state[0] < len(self.prices):
            for letter in "WBS":
                done = self.trade(*state, letter)
                if done is None:
                    continue
                after = (state[0] + 1, done[1], done[2], letter)
                if done[0] + self.plan[after] == self.plan[state]:
                    letters, state = letters + letter, after
                    break
        return letters

    def hint(self):
        letters = self.best_letters()
        sells = [str(self.hour + i + 1) for i, letter in enumerate(letters) if letter == "S"]
        return (
            f"One best plan sells in these hours: {', '.join(sells)}. Work backwards from the last "
            "hour: for each amount stored, what is it worth, given the price, the wear and the "
            "push that a trade gives to the next price?"
        )

    def solution(self):
        letters = self.best_letters()
        half = len(letters) // 2
        return [part for part in (letters[:half], letters[half:]) if part]
