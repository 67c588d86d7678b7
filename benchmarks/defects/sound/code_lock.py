import random
import re


class CodeLockEnv:
    """Open a lock of four different digits; each try tells how many digits are in place."""

    def __init__(self, max_turns=12):
        self.max_turns = max_turns

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.code = "".join(rng.sample("123456789", 4))
        self.tries = 0
        return (
            "A lock has a code of four different digits from 1 to 9. After each try you hear how "
            "many digits are right and in place, and how many belong to the code but elsewhere. "
            f"You have {self.max_turns} tries. Write a try such as 4829 in \\boxed{{}}. "
            f"The label on the lock says: model {rng.randint(100, 999)}."
        ), {}

    def step(self, action):
        self.tries += 1
        out = self.tries >= self.max_turns
        boxes = re.findall(r"\\boxed\{([^{}]*)\}", action)
        tried = boxes[-1].strip() if boxes else ""
        if not re.fullmatch(r"[1-9]{4}", tried) or len(set(tried)) < 4:
            return "A try has four different digits from 1 to 9.", 0.0, False, out, {}
        if tried == self.code:
            return "The lock opens.", 1.0, True, False, {}
        placed = sum(a == b for a, b in zip(tried, self.code, strict=True))
        present = sum(digit in self.code for digit in tried) - placed
        return f"In place: {placed}. Elsewhere: {present}.", 0.0, False, out, {}

    def solution(self):
        return self.code
