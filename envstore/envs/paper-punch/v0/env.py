import re

from spade_envs.api import TextEnv, answer_of


class PaperPunch(TextEnv):
    """Fold a sheet, punch it, and say where the holes are after unfolding.

    Creases need not lie in the middle, so that parts of the folded sheet have different numbers of
    layers. Positions are always named by the squares of the table below the unfolded sheet.
    """

    levels = 5
    max_turns = 3

    # rows, columns, folds, punches
    plans = ((4, 6, 1, 1), (6, 8, 2, 1), (8, 8, 3, 1), (10, 12, 4, 2), (14, 16, 6, 2))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        rows, columns, folds, punches = self.plans[self.level]
        # for each square of the table: the squares of the sheet that lie on it
        self.layers = {(r, c): [(r, c)] for r in range(1, rows + 1) for c in range(1, columns + 1)}
        steps = [self.fold() for _ in range(folds)]
        deepest = max(len(stack) for stack in self.layers.values())
        thick = [square for square, stack in self.layers.items() if len(stack) * 2 > deepest]
        self.punched = self.draw_many(thick, min(punches, len(thick)))
        self.steps = steps + [f"punch through square {r}-{c}" for r, c in self.punched]
        lines = "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, 1))
        return (
            f"A sheet of {rows} rows and {columns} columns of squares lies on a table. Square R-C "
            "of the table is in row R, counted from the top, and column C, counted from the left; "
            "the table's numbers stay when the sheet is folded. A part that is folded over lands "
            f"on the part beside it, mirrored at the crease.\n{lines}\n"
            "Then the sheet is unfolded completely. Which squares have a hole? List them as R-C, "
            "separated by commas, in any order, in \\boxed{}."
        ), {}

    def fold(self):
        """Fold a margin of the stack over, and return the step in words."""
        axis = self.draw((0, 1))
        lines = sorted({square[axis] for square in self.layers})
        if len(lines) < 3:
            axis = 1 - axis
            lines = sorted({square[axis] for square in self.layers})
        width = self.draw_int(max(1, len(lines) // 3), len(lines) // 2)
        far_end = self.draw((False, True))
        moved = lines[-width:] if far_end else lines[:width]
        twice_crease = 2 * moved[0] - 1 if far_end else 2 * moved[-1] + 1
        stay = {square: stack for square, stack in self.layers.items() if square[axis] not in moved}
        for square, stack in self.layers.items():
            if square[axis] in moved:
                mirrored = twice_crease - square[axis]
                target = (mirrored, square[1]) if axis == 0 else (square[0], mirrored)
                stay[target] = stay[target] + stack
        self.layers = stay
        side, way, kind = (
            (("bottom", "up", "row") if far_end else ("top", "down", "row"))
            if axis == 0
            else (("right", "left", "column") if far_end else ("left", "right", "column"))
        )
        what = f"{kind} {moved[0]}" if width == 1 else f"{kind}s {moved[0]} to {moved[-1]}"
        return f"fold the {side} margin ({what}) over, {way}wards"

    def step(self, action):
        parts = [part.strip(" ()") for part in re.split(r"[,;\n]", answer_of(action))]
        squares = [re.fullmatch(r"(\d{1,3})\s*-\s*(\d{1,3})", part) for part in parts]
        if not all(squares):
            return self.go_on("Write each square as ROW-COLUMN and separate them by commas.")
        given = {(int(square[1]), int(square[2])) for square in squares}
        if given == set(self.holes()):
            return self.win("Right, the holes are there.")
        return self.lose("No, the holes are elsewhere.")

    def holes(self):
        """Return every square of the unfolded sheet that has a hole."""
        return sorted(hole for square in self.punched for hole in self.layers[square])

    def hint(self):
        counts = ", ".join(str(len(self.layers[square])) for square in self.punched)
        return (
            "Go backwards. Begin with the punched squares and undo the last fold first: every hole "
            "that lies where the folded margin had landed gets a twin, mirrored at that crease; "
            "then undo the fold before it for all holes so far. A crease between columns 3 and 4 "
            f"sends column C to 7 - C. Number of layers under each punch: {counts}."
        )

    def solution(self):
        return [f"\\boxed{{{', '.join(f'{r}-{c}' for r, c in self.holes())}}}"]
