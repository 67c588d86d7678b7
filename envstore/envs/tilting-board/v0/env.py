import re

from spade_envs.api import TextEnv, answer_of

MOVES = {"N": (-1, 0), "E": (0, 1), "S": (1, 0), "W": (0, -1)}


class TiltingBoard(TextEnv):
    """Tilt a board so that every marble comes to rest in its own cup.

    A tilt makes all marbles roll until a wall, the rim or another marble stops them. They must rest
    in their cups all at once, within a limited number of tilts.
    """

    levels = 5
    max_turns = 24

    # side, marbles, walls, least number of tilts, spare tilts
    plans = (
        (6, 1, 8, 5, 0),
        (7, 1, 11, 7, 1),
        (6, 2, 7, 7, 1),
        (8, 2, 14, 9, 2),
        (10, 2, 20, 13, 2),
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        side, marbles, walls, least, spare = self.plans[self.level]
        self.side = side
        squares = [(row, column) for row in range(side) for column in range(side)]
        while True:
            drawn = self.draw_many(squares, walls + marbles)
            self.walls = frozenset(drawn[:walls])
            self.marbles = tuple(drawn[walls:])
            depths = self.explore(self.marbles)
            far = [state for state, way in depths.items() if least <= len(way) <= least + 5]
            if far:
                break
        self.cups = self.draw(far)
        self.tilts_left = len(depths[self.cups]) + spare
        names = (
            "Marble A and its cup a" if marbles == 1 else "Marbles A and B and their cups a and b"
        )
        return (
            f"{names} are on a board (# is a wall, . is free; "
            "north is up). Tilting the board makes every marble roll in that direction until a "
            "wall, the rim or another marble stops it. A marble rolls over cups; what counts is "
            "that every marble rests in its own cup after a tilt, all at the same time. You have "
            f"{self.tilts_left} tilts.\n{self.picture()}\n"
            "Reply with one or more of the letters N, E, S, W, for example NE to tilt north and "
            "then east, in \\boxed{} if you write anything else."
        ), {}

    def tilt(self, marbles, direction):
        """Return where the marbles come to rest after one tilt."""
        down, right = MOVES[direction]
        order = sorted(
            range(len(marbles)), key=lambda i: -(marbles[i][0] * down + marbles[i][1] * right)
        )
        rest = {}
        for index in order:
            row, column = marbles[index]
            while True:
                ahead = (row + down, column + right)
                inside = 0 <= ahead[0] < self.side and 0 <= ahead[1] < self.side
                if not inside or ahead in self.walls or ahead in rest.values():
                    break
                row, column = ahead
            rest[index] = (row, column)
        return tuple(rest[index] for index in range(len(marbles)))

    def explore(self, start, goal=None, most=1200):
        """Return the shortest way to each state near `start`, breadth first, up to `goal`."""
        ways = {start: ""}
        queue = [start]
        for state in queue:
            if state == goal or len(ways) > most:
                break
            for direction in MOVES:
                after = self.tilt(state, direction)
                if after not in ways:
                    ways[after] = ways[state] + direction
                    queue.append(after)
        return ways

    def picture(self):
        """Return the board as text."""
        rows = [["."] * self.side for _ in range(self.side)]
        for row, column in self.walls:
            rows[row][column] = "#"
        for letter, (row, column) in zip("abc", self.cups):
            rows[row][column] = letter
        for letter, (row, column) in zip("ABC", self.marbles):
            rows[row][column] = letter
        return "\n".join(" ".join(row) for row in rows)

    def step(self, action):
        letters = re.sub(r"[\s,]", "", answer_of(action)).upper()
        if not letters or len(letters) > 100 or letters.strip("NESW"):
            return self.go_on("Reply with the letters N, E, S, W only.")
        for letter in letters:
            self.marbles = self.tilt(self.marbles, letter)
            self.tilts_left -= 1
            if self.marbles == self.cups:
                return self.win("Every marble rests in its cup.")
            if self.tilts_left == 0:
                return self.lose("No tilts are left, and the marbles are not in their cups.")
        return self.go_on(f"{self.picture()}\nTilts left: {self.tilts_left}.")

    def hint(self):
        way = self.explore(self.marbles, self.cups, most=100_000)[self.cups]
        side = {"N": "north", "E": "east", "S": "south", "W": "west"}
        return (
            f"It can be done in {len(way)} tilts from here, and the last of them is to the "
            f"{side[way[-1]]}. Work backwards from the cups: which square must a marble roll from, "
            "and what stops it there? Two tilts along the same line never help."
        )

    def solution(self):
        return [*self.explore(self.marbles, self.cups, most=100_000).get(self.cups, "")]
