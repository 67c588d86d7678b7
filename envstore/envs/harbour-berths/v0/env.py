import functools
import itertools

import numpy as np

from spade_envs.api import TextEnv, answer_of

SHIPS = (
    "Albatross Bittern Curlew Dunlin Egret Fulmar Gannet Heron Ibis Jackdaw Kestrel Lapwing".split()
)


class HarbourBerths(TextEnv):
    """Work out which ship lies at which berth from a list of clues.

    Exactly one order meets all clues, and no clue can be spared. Upper levels use only indirect
    clues: distances, comparisons, alternatives and conditions.
    """

    levels = 5
    max_turns = 3
    ship_counts = (5, 5, 6, 7, 8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        count = self.ship_counts[self.level]
        self.ships = self.draw_many(SHIPS, count)
        # one row per possible order; the hidden one is row `truth`; berths count from 1
        self.berths = all_orders(count)
        truth = self.draw_int(0, len(self.berths) - 1)
        self.clues = self.draw_clues(truth)
        lines = "\n".join(f"{n}. {text}" for n, (text, _) in enumerate(self.clues, 1))
        return (
            f"{count} ships lie at berths 1 to {count}, one at each, in a row from west (berth 1) "
            f"to east: {', '.join(sorted(self.ships))}.\n{lines}\nName the ships from berth 1 to "
            f"berth {count}, separated by commas, in \\boxed{{}}."
        ), {}

    def draw_clues(self, truth):
        """Draw true clues until one order is left, then drop those that are not needed."""
        clues, left = [], np.ones(len(self.berths), dtype=bool)
        while left.sum() > 1:
            text, mask = self.draw_clue(truth)
            if mask[truth] and (left & ~mask).any():
                clues.append((text, mask))
                left = left & mask
        for clue in list(clues):
            rest = [mask for text, mask in clues if text != clue[0]]
            if rest and np.logical_and.reduce(rest).sum() == 1:
                clues.remove(clue)
        return self.shuffled(clues)

    def draw_clue(self, truth):
        """Return one clue, true or false, as text and the mask of the orders that meet it."""
        kinds = (
            ("at", "left", "next", "left"),
            ("left", "next", "gap", "end"),
            ("left", "next", "gap", "farther", "either"),
            ("gap", "farther", "either", "if", "next"),
            ("farther", "either", "if", "either", "if", "gap"),
        )
        first, second, third = self.draw_many(range(len(self.ships)), 3)
        a, b, c = (self.ships[i] for i in (first, second, third))
        p, q, r = (self.berths[:, i].astype(int) for i in (first, second, third))
        spot, other = int(p[truth]), self.draw_int(1, len(self.ships))
        gap = int(abs(p[truth] - q[truth]))
        match self.draw(kinds[self.level]):
            case "at":
                return f"{a} lies at berth {spot}.", p == spot
            case "left":
                return f"{a} lies west of {b}.", p < q
            case "next":
                return f"{a} lies right beside {b}.", abs(p - q) == 1
            case "gap":
                return f"The berth numbers of {a} and {b} differ by {gap}.", abs(p - q) == gap
            case "end":
                return f"{a} does not lie at an end.", (p > 1) & (p < len(self.ships))
            case "farther":
                return f"{a} is farther from {b} than from {c}.", abs(p - q) > abs(p - r)
            case "either":
                text = f"Either {a} lies at berth {other} or {b} lies west of {c}, but not both."
                return text, (p == other) ^ (q < r)
        return f"If {a} lies west of {b}, then {b} lies right beside {c}.", (p > q) | (
            abs(q - r) == 1
        )

    def step(self, action):
        names = [name.strip().casefold() for name in answer_of(action).split(",")]
        if sorted(names) != sorted(ship.casefold() for ship in self.ships):
            return self.go_on("Name every ship once, from berth 1 on, separated by commas.")
        order = np.array([names.index(ship.casefold()) + 1 for ship in self.ships])
        row = int((self.berths == order).all(axis=1).argmax())
        broken = [number for number, (_, mask) in enumerate(self.clues, 1) if not mask[row]]
        if not broken:
            return self.win("Right: that order meets every clue.")
        return self.lose(f"No: that order breaks clue {broken[0]}.")

    def hint(self):
        strength = [int(mask.sum()) for _, mask in self.clues]
        order = sorted(range(len(strength)), key=lambda index: strength[index])
        numbers = ", ".join(str(index + 1) for index in order)
        return (
            f"Use the clues in this order, the most telling first: {numbers}. Draw the berths, "
            "place the ships of the first clue in every way it allows, and strike out a case as "
            "soon as a later clue is broken."
        )

    def solution(self):
        row = self.berths[np.logical_and.reduce([mask for _, mask in self.clues])][0]
        order = sorted(self.ships, key=lambda ship: row[self.ships.index(ship)])
        return [f"\\boxed{{{', '.join(order)}}}"]


@functools.lru_cache(maxsize=8)
def all_orders(count):
    """Return every assignment of `count` ships to berths, one per row."""
    return np.array(list(itertools.permutations(range(1, count + 1))), dtype=np.int8)
