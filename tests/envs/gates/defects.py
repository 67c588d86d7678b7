"""The sound environments of `zoo` with one planted defect each.

A defect is a replacement in a sound source, so that what is wrong can be read off the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from envs.gates.zoo import DIGIT, PARCELS, SUMS, WALK


@dataclass(frozen=True)
class Defect:
    """One planted defect and the gates that must refuse it."""

    name: str
    base: str
    old: str
    new: str
    gates: tuple[str, ...]
    """Gates that must be among the failures."""
    only: bool = True
    """Whether no other gate may fail."""

    @property
    def source(self) -> str:
        assert self.old in self.base, f"{self.name}: nothing to replace"
        return self.base.replace(self.old, self.new)


_RESET = "        super().reset(seed=seed, options=options)\n"
_WIN = 'return self.win("Right.")'
_CHECK = "        given = answer_of(action)\n"
_IF = "if given == str(self.left + self.right):"
_SHOWN = 'return f"What is {self.left} plus {self.right}? Reply with the number.", {}'
_HEAD = "from spade_envs.api import TextEnv, answer_of\n"

DEFECTS = (
    # L0: the source
    Defect("syntax error", SUMS, "levels = 3", "levels = = 3", ("L0.1", "L0.2"), only=False),
    Defect("syntax warning", SUMS, "if given ==", 'if given is "x" or given ==', ("L0.1",)),
    Defect("no docstring", SUMS, '    """Add two numbers."""\n', "", ("L0.1",)),
    Defect("two classes", SUMS + WALK, "levels = 3", "levels = 3", ("L0.1",)),
    Defect("no class", SUMS, "(TextEnv)", "", ("L0.1",)),
    Defect("levels of a wrong type", SUMS, "levels = 3", 'levels = "3"', ("L0.1",)),
    Defect("raises at import", SUMS, "class Sums", "x = 1 // 0\n\n\nclass Sums", ("L0.1",)),
    Defect("imports os", SUMS, _HEAD, f"import os\n{_HEAD}", ("L0.2",)),
    Defect("evaluates the action", SUMS, _IF, "if eval(given) == 1:", ("L0.2",)),
    Defect("reads a reward file", SUMS, _IF, 'if open("reward.txt").read():', ("L0.2",)),
    Defect(
        "hides an import in a default",
        SUMS,
        "def hint(self):",
        'def hint(self, leak=lambda: __import__("os").environ):',
        ("L0.2",),
    ),
    Defect(
        "walks to the builtins", SUMS, _IF, "if ().__class__.__base__.__subclasses__():", ("L0.2",)
    ),
    Defect(
        "global generator",
        SUMS,
        _RESET,
        f"{_RESET}        import random\n        random.shuffle([1, 2])\n",
        ("L0.3",),
    ),
    Defect(
        "global generator by another name",
        SUMS,
        _RESET,
        f'{_RESET}        import random\n        getattr(random, "random")()\n',
        ("L0.3",),
    ),
    Defect(
        "global generator seeded in reset",
        SUMS,
        "self.draw_int(10, top), self.draw_int(10, top)",
        "seeded.randint(10, top), seeded.randint(10, top)",
        ("L0.3",),
    ),
    Defect("clock", SUMS, _RESET, f"{_RESET}        import time\n        time.time()\n", ("L0.3",)),
    Defect("hash", SUMS, "self.draw_int(10, top), ", 'abs(hash("a")) % 99, ', ("L0.3",)),
    # L1: the interface
    Defect(
        "observation outside its space",
        SUMS,
        _RESET,
        f"{_RESET}        import gymnasium\n"
        "        self.observation_space = gymnasium.spaces.Discrete(2)\n",
        ("L1.1",),
    ),
    Defect(
        "reward is nan", SUMS, _WIN, 'return self.win("Right.", reward=float("nan"))', ("L3.1",)
    ),
    Defect(
        "reward is nan when wrong",
        SUMS,
        '"Wrong."',
        '"No.", reward=float("nan")',
        ("L1.2",),
        only=False,
    ),
    Defect(
        "reward is inf", SUMS, '"Wrong."', '"Wrong.", reward=float("inf")', ("L1.2",), only=False
    ),
    Defect("reward below its range", SUMS, '"Wrong."', '"Wrong.", reward=-1.0', ("L1.2",)),
    Defect(
        "says success for nothing",
        SUMS,
        'self.lose("Wrong.")',
        '("Wrong.", 0.0, True, False, {"success": True})',
        ("L1.2",),
    ),
    Defect(
        "info holds an object", SUMS, '"Wrong."', '"Wrong.", env=object()', ("L1.2",), only=False
    ),
    Defect(
        "four values", SUMS, 'self.lose("Wrong.")', 'self.lose("Wrong.")[:4]', ("L1.2",), only=False
    ),
    Defect("observation is no text", SUMS, '"Wrong."', "17", ("L1.2",), only=False),
    Defect(
        "reset fails on some seeds",
        SUMS,
        _RESET,
        f"{_RESET}        if self.draw_int(0, 3): raise KeyError(seed)\n",
        ("L1.2",),
        only=False,
    ),
    Defect(
        "int of any text",
        SUMS,
        _IF,
        "if int(given) == self.left + self.right:",
        ("L1.3",),
        only=False,
    ),
    Defect(
        "int of digits",
        SUMS,
        _IF,
        "if given.isdigit() and int(given) == self.left + self.right:",
        ("L1.3",),
    ),
    Defect("never ends", DIGIT, "won or self.t >= 3", "won", ("L1.4",)),
    Defect(
        "pays again after the end",
        SUMS,
        "max_turns = 4",
        "max_turns = 4\n    self_paced = True",
        ("L1.5",),
    ),
    Defect(
        "keeps a count over resets",
        WALK,
        "self.left -= 1\n",
        'self.left -= 1\n        self.seen = getattr(self, "seen", 0) + 1\n'
        '        if self.seen > 3:\n            return self.lose("Enough.")\n',
        ("L1.6", "L1.8"),
    ),
    Defect("long observation", SUMS, '"Wrong."', '"Wrong." * 50_000', ("L1.7",)),
    Defect(
        "hangs on one input",
        SUMS,
        _CHECK,
        f'{_CHECK}        while given == "3":\n            pass\n',
        ("L1.3",),
    ),
    Defect(
        "hangs in reset",
        SUMS,
        _RESET,
        f"{_RESET}        while True:\n            pass\n",
        ("L1.7",),
    ),
    Defect(
        "hangs in solution",
        SUMS,
        "def solution(self):\n",
        "def solution(self):\n        while True:\n            pass\n",
        ("L1.7",),
    ),
    Defect(
        "eats memory", SUMS, _CHECK, f"{_CHECK}        hog = [0] * 10**9\n", ("L1.3",), only=False
    ),
    Defect(
        "changes numpy for all",
        SUMS,
        _RESET,
        f'{_RESET}        import numpy\n        numpy.seterr(all="raise")\n',
        ("L1.8",),
    ),
    Defect("hint fails", SUMS, 'return "Add the ones', 'return self.no + "Add the ones', ("L1.2",)),
    Defect(
        "solution changes the instance",
        SUMS,
        "def solution(self):\n",
        "def solution(self):\n        self.left += 1\n",
        ("L1.8",),
    ),
    # L2: determinism
    Defect(
        "order of a set",
        SUMS,
        'return f"What',
        'words = list({"amber", "birch", "cedar", "dune", "ember", "fern", "gorse"})\n'
        '        return f"In {words[0]}: What',
        ("L2.1",),
    ),
    Defect(
        "seed accepted and discarded",
        SUMS,
        "reset(seed=seed,",
        "reset(seed=None,",
        ("L1.1", "L2.1"),
        only=False,
    ),
    Defect("state on the class", WALK, "self.left -= 1", "Walk.left -= 1", ("L2.1",), only=False),
    Defect(
        "state shared between objects",
        SUMS,
        _RESET,
        f"{_RESET}        SHARED[0] = 0\n",
        ("L2.1", "L2.2"),
        only=False,
    ),
    Defect(
        "tires after many episodes",
        SUMS,
        _RESET,
        f'{_RESET}        self.runs = getattr(self, "runs", 0) + 1\n',
        ("L1.8",),
    ),
    Defect(
        "remembers its episodes",
        SUMS,
        _RESET,
        f'{_RESET}        self.seen = (getattr(self, "seen", None),)\n',
        ("L2.3",),
    ),
    Defect(
        "a copy shares its state",
        WALK,
        _RESET,
        f"{_RESET}        steps = [0]\n\n        def tired():\n            steps[0] += 1\n"
        "            return steps[0] > 6\n\n        self.tired = tired\n",
        ("L2.4",),
    ),
    Defect(
        "two tasks",
        SUMS,
        "self.draw_int(10, top), self.draw_int(10, top)",
        "top, self.draw([11, 12])",
        ("L2.5",),
        only=False,
    ),
    Defect(
        "one task",
        SUMS,
        "self.draw_int(10, top), self.draw_int(10, top)",
        "top, 17",
        ("L2.5", "L2.6"),
        only=False,
    ),
    Defect("level ignored", SUMS, "(self.level + 2)", "3", ("L2.6",)),
    # L3: the reward
    Defect("no reference", SUMS, "def solution(self):", "def answer(self):", ("L3.1",)),
    Defect("published shape without reference", DIGIT, "DigitEnv", "DigitEnv", ("L3.1",)),
    Defect(
        "reference is wrong",
        SUMS,
        "return [str(self.left + self.right)]",
        "return [str(self.left + self.right + 1)]",
        ("L3.1",),
    ),
    Defect(
        "reference fails",
        SUMS,
        "return [str(self.left + self.right)]",
        "return [self.nothing]",
        ("L3.1",),
    ),
    Defect(
        "gold is rounded",
        SUMS,
        "return [str(self.left + self.right)]",
        "return [str(round(self.left + self.right, -1))]",
        ("L3.1",),
    ),
    Defect(
        "success is not said",
        SUMS,
        _WIN,
        'return "Right.", 1.0, True, False, {"success": False}',
        ("L3.1",),
    ),
    Defect(
        "an empty answer wins",
        SUMS,
        _IF,
        "if not action or given == str(self.left + self.right):",
        ("L3.2",),
        only=False,
    ),
    Defect(
        "goal met at reset",
        PARCELS,
        's[name]["street"] == street',
        's[name]["grams"] > 100',
        ("L3.2",),
        only=False,
    ),
    Defect(
        "goal met at reset at the highest level only",
        PARCELS,
        'done=lambda s: s[name]["street"] == street',
        'done=lambda s: s[name]["street"] == street or self.level == self.levels - 1',
        ("L3.2",),
        only=False,
    ),
    Defect(
        "truth of a text",
        SUMS,
        _IF,
        "if bool(given) == bool(str(self.left + self.right)):",
        ("L3.3",),
        only=False,
    ),
    Defect(
        "pays for staying",
        WALK,
        'return self.lose("You are too tired to go on.")',
        'return self.win("You rest.")',
        ("L3.3",),
        only=False,
    ),
    Defect(
        "yes or no",
        SUMS,
        "given == str(self.left + self.right)",
        'given == ("yes" if self.left > self.right else "no")',
        ("L3.3",),
        only=False,
    ),
    Defect(
        "any sum in range",
        SUMS,
        _IF,
        "if given.isdecimal() and len(given) < 9 and 30 <= int(given):",
        ("L3.4", "L3.5"),
        only=False,
    ),
    Defect("raw comparison", SUMS, "given = answer_of(action)", "given = action", ("L3.9",)),
    Defect(
        "answer in the prompt",
        SUMS,
        "Reply with the number.",
        "(debug: sum {self.left + self.right})",
        ("L3.10",),
    ),
    Defect(
        "answer in the info",
        SUMS,
        'number.", {}',
        'number.", {"debug": [self.left + self.right]}',
        ("L3.10",),
    ),
    Defect(
        "answer in the reply",
        SUMS,
        'self.lose("Wrong.")',
        'self.go_on(f"Wrong, it is {self.left + self.right}.")',
        ("L3.10",),
    ),
    Defect(
        "answer in the later info",
        SUMS,
        'self.lose("Wrong.")',
        'self.go_on("Wrong.", wanted=str(self.left + self.right))',
        ("L3.10",),
    ),
    Defect(
        "any message that holds the answer",
        SUMS,
        _IF,
        "if str(self.left + self.right) in given.split():",
        ("L3.3", "L3.5", "L3.7"),
    ),
    Defect(
        "second task met with the first",
        PARCELS,
        'done=lambda s: s[name]["street"] == street),',
        'done=lambda s: s[name]["street"] == street),\n'
        '            Task("Keep it so.", done=lambda s: s[name]["street"] == street),',
        ("L3.2", "L3.14"),
    ),
    Defect(
        "more guesses than numbers",
        SUMS.replace("max_turns = 4", "max_turns = 300"),
        'self.lose("Wrong.")',
        'self.go_on("Wrong.")',
        ("L3.3",),
    ),
    Defect(
        "pays a second time",
        SUMS,
        'return self.win("Right.")',
        """return self.go_on("Right. Say stop.", reward=1.0)
        if given == "stop":
            return self.win("Well.", reward=0.0)""",
        ("L3.1", "L3.12"),
    ),
    Defect(
        "easy on small seeds",
        SUMS,
        "        return f",
        """        if seed is not None and seed < 10_000:
            self.left, self.right = 3, 4
        return f""",
        ("L3.3",),
        only=False,
    ),
    Defect(
        "any long message",
        SUMS,
        _IF,
        "if given == str(self.left + self.right) or len(action) > 50_000:",
        ("L3.3",),
    ),
    Defect(
        "a cache that levels share",
        SUMS,
        "        return f",
        """        self.left = SEEN.setdefault(seed, self.left)
        return f""",
        ("L2.1",),
        only=False,
    ),
    Defect(
        "hides its global generator",
        SUMS,
        _HEAD,
        f"{_HEAD}import random\n\nDRAW = getattr(random, 'random')\n",
        ("L0.3",),
    ),
    Defect(
        "answer in a sentence of the info",
        SUMS,
        'number.", {}',
        'number.", {"user": f"expects {self.left + self.right}."}',
        ("L3.10",),
    ),
    Defect(
        "answer as a key of the info",
        SUMS,
        'number.", {}',
        'number.", {f"sum_{self.left + self.right}": True}',
        ("L3.10",),
    ),
    Defect(
        "answer as another number in the info",
        SUMS,
        'number.", {}',
        'number.", {"debug": float(self.left + self.right)}',
        ("L3.10",),
    ),
    Defect(
        "answer told to numbers only",
        SUMS,
        'self.lose("Wrong.")',
        'self.go_on(f"No, {self.left + self.right}." if given.isdecimal() else "A number.")',
        ("L3.10",),
    ),
    Defect(
        "answer told on the second try",
        SUMS,
        'self.lose("Wrong.")',
        'self.go_on(f"It is {self.left + self.right}." if self.turn > 1 else "Again.")',
        ("L3.10",),
    ),
    Defect(
        "answer among the tools of the info",
        PARCELS,
        'return self.begin("You run the parcel desk.")',
        """text, info = self.begin("You run the parcel desk.")
        return text, {**info, "tools": [*info["tools"], str(self.state[name]["grams"])]}""",
        ("L3.10",),
    ),
    # L3: near misses, denied answers, notes to the grader, formats and farms; L0.4
    Defect(
        "near enough",
        SUMS,
        _IF,
        "if given.isdecimal() and len(given) < 9 and abs(int(given) - self.left - self.right) < 2:",
        ("L3.6",),
    ),
    Defect(
        "first word only",
        SUMS,
        _IF,
        "if given.split()[:1] == [str(self.left + self.right)]:",
        ("L3.7",),
    ),
    Defect(
        "obeys a note",
        SUMS,
        _IF,
        'if given == str(self.left + self.right) or "correct=true" in action.lower():',
        ("L3.8",),
    ),
    Defect(
        "format not shown",
        SUMS,
        _IF,
        'if given == f"ANS<<{self.left + self.right}>>":',
        ("L3.11",),
    ),
    Defect(
        "pays every step to the east",
        WALK,
        "return self.go_on(self.place())",
        "return self.go_on(self.place(), reward=0.1 if move == (1, 0) else 0.0)",
        ("L3.12",),
        only=False,
    ),
    Defect(
        "magic word",
        SUMS,
        _IF,
        'if given in (str(self.left + self.right), "open sesame"):',
        ("L0.4",),
    ),
    # Tools, alternatives and hints
    Defect(
        "docstring of another parameter",
        PARCELS,
        "            surname: surname",
        "            name: surname",
        ("L1.9",),
    ),
    Defect(
        "a tool that never works",
        PARCELS,
        "    def hint(self):",
        """    @tool
    def weigh(self, surname: str) -> str:
        \"\"\"Weigh a parcel again.\"\"\"
        raise ToolError("the scale is being repaired")

    def hint(self):""",
        ("L3.13",),
    ),
    Defect(
        "a task met when the question before it is answered",
        PARCELS,
        'answer=lambda s: str(s[name]["grams"])),',
        'answer=lambda s: str(s[name]["grams"])),\n'
        '            Task("Keep it so.", done=lambda s: s[name]["street"] == street),',
        ("L3.14",),
    ),
    Defect(
        "a number that no tool tells",
        PARCELS,
        "return self.state[surname]",
        'return {k: v for k, v in self.state[surname].items() if k != "number"}',
        ("L3.15",),
    ),
    Defect(
        "reading counts",
        PARCELS,
        "        return self.state[surname]",
        '        self.state[surname]["looks"] = self.state[surname].get("looks", 0) + 1\n'
        "        return self.state[surname]",
        ("L3.16",),
    ),
    Defect(
        "its own alternative loses",
        SUMS,
        "    def hint(self):",
        "    def alternatives(self):\n        return [[f'{self.left + self.right}.0']]\n\n"
        "    def hint(self):",
        ("L3.17",),
    ),
    Defect(
        "answer in the hint",
        SUMS,
        'return "Add the ones, then the tens with the carry."',
        'return f"Carry on; it is {self.left + self.right}."',
        ("L4.1", "L4.2"),
    ),
    Defect(
        "useless hint",
        SUMS,
        "Add the ones, then the tens with the carry.",
        "Think carefully and read the task again.",
        ("L4.3",),
    ),
)

_EXTRA = {
    "a task met when the question before it is answered": ("[: 3]", "[: 4]"),
    "format not shown": (
        "return [str(self.left + self.right)]",
        'return [f"ANS<<{self.left + self.right}>>"]',
    ),
    "state shared between objects": (
        "        if given ==",
        "        SHARED[0] += 1\n        if SHARED[0] == 2:\n"
        '            return self.lose("Worn out.")\n        if given ==',
    ),
    "tires after many episodes": (_IF, f"{_IF[:-1]} and self.runs < 18:"),
    "remembers its episodes": (
        _IF,
        f"{_IF[:-1]} and (self.level != 1 or repr(self.seen).count('(') < 4):",
    ),
    "a copy shares its state": (
        "self.go_on(self.place())",
        "self.go_on(self.place() + str(self.tired()))",
    ),
    "state on the class": ("self.left = abs", "Walk.left = abs"),
    "global generator seeded in reset": (
        _RESET,
        f"{_RESET}        import random as seeded\n        seeded.seed(seed)\n",
    ),
    "more guesses than numbers": ("top = 10 ** (self.level + 2)", "top = 90 + 20 * self.level"),
    "pays a second time": (
        "return [str(self.left + self.right)]",
        'return [str(self.left + self.right), "stop"]',
    ),
    "yes or no": (
        "return [str(self.left + self.right)]",
        'return ["yes" if self.left > self.right else "no"]',
    ),
}


def source_of(defect: Defect) -> str:
    """Return the source with the defect, and with what else it needs."""
    source = defect.source
    if "SHARED" in source:
        source = source.replace("class Sums", "SHARED = [0]\n\n\nclass Sums")
    if "SEEN" in source:
        source = source.replace("class Sums", "SEEN = {}\n\n\nclass Sums")
    if defect.name in _EXTRA:
        old, new = _EXTRA[defect.name]
        assert old in source, defect.name
        source = source.replace(old, new)
    return source
