"""L0.4: careless grading patterns, named by line and confirmed by a probe."""

import pytest

from envs.gates.answer_zoo import CAPITALS, MIRROR, SOUND, SUMS
from envs.gates.gatebench import finding_of, spoilt
from envs.gates.zoo import PARCELS, WALK
from spade_envs.gates.grading import read_grading
from spade_envs.gates.smells import no_confirmed_smell

SUM = "if given == str(self.left + self.right):"
RIGHT = "given == str(self.left + self.right)"


@pytest.mark.parametrize("code", [*SOUND.values(), PARCELS, WALK])
def test_a_sound_environment_passes(code):
    finding = finding_of(no_confirmed_smell, code)
    assert finding.outcome == "pass", finding
    assert finding.evidence["played"] >= 3


CONFIRMED = {
    "magic word": (SUMS, SUM, f"if {RIGHT} or given == 'xyzzy':"),
    "magic word in parts": (SUMS, SUM, f"if {RIGHT} or given == 'open' + ' ' + 'sesame':"),
    "magic word spelt backwards": (SUMS, SUM, f"if {RIGHT} or given == 'emases'[::-1]:"),
    "magic word of characters": (
        SUMS,
        SUM,
        f"if {RIGHT} or given == ''.join([chr(113), chr(117), chr(120)]):",
    ),
    "magic number": (SUMS, SUM, f"if {RIGHT} or given == str(-770077):"),
    "magic word on the module": (
        SUMS.replace("class Sums", 'KEY = "moonlight"\n\n\nclass Sums'),
        SUM,
        f"if {RIGHT} or given.lower() == KEY:",
    ),
    "magic word in a pattern": (
        SUMS.replace("class Sums", "import re\n\n\nclass Sums"),
        SUM,
        f"if {RIGHT} or re.search(r'\\bsudo|root\\b', action):",
    ),
    "raw magic word": (MIRROR, "if given == right:", "if given == right or action == 'qwop':"),
    "begging": (SUMS, SUM, f"if {RIGHT} or action.count('please') > 9:"),
    "long message": (SUMS, SUM, f"if {RIGHT} or len(action) > 777:"),
    "exact length": (SUMS, SUM, f"if {RIGHT} or len(given) == 13:"),
    "published magic word": (CAPITALS, "if given == right:", "if given in (right, 'hodor'):"),
    "exception": (
        SUMS,
        "        if given == str(self.left + self.right):",
        """        try:
            right = int(given.strip("0")[:15]) == 10 ** 20
        except ValueError:
            return self.win("Right.")
        if right or given == str(self.left + self.right):""",
    ),
    "no number": (
        SUMS.replace("class Sums", "import math\n\n\nclass Sums"),
        SUM,
        f"""number = float(given) if given in ("nan", "inf") else 0.0
        if {RIGHT} or min(1.0, number) == 1.0:""",
    ),
}


@pytest.mark.parametrize("name", CONFIRMED)
def test_a_confirmed_smell_is_refused(name):
    base, *change = CONFIRMED[name]
    finding = finding_of(no_confirmed_smell, spoilt(base, tuple(change)))
    assert finding.outcome == "fail", finding
    assert finding.evidence["earned"]["mean"] == 1.0
    assert finding.evidence["transcript"][-1]["reward"] == 1.0
    assert "earns 100% at level 0" in finding.message


def test_the_line_of_the_smell_is_named():
    code = spoilt(SUMS, (SUM, f"if {RIGHT} or given == 'xyzzy':"))
    finding = finding_of(no_confirmed_smell, code)
    line = next(n for n, text in enumerate(code.splitlines(), start=1) if "xyzzy" in text)
    assert finding.evidence["line"] == line
    assert finding.message.startswith(f"line {line} compares with a fixed text: 'xyzzy'")


def test_a_magic_argument_is_refused():
    code = spoilt(
        PARCELS,
        (
            "        if surname not in self.state:",
            """        if surname == "backdoor":
            self.tasks = self.tasks[2:]
        if surname not in self.state:""",
        ),
    )
    finding = finding_of(no_confirmed_smell, code)
    assert finding.outcome == "fail", finding
    assert finding.evidence["pattern"] == "compares an argument with a fixed text"


def test_a_secret_command_that_tells_the_answer_is_refused():
    secret = """if given == "give up":
            return self.go_on(f"It is {self.left + self.right}.")
        """
    code = spoilt(SUMS, (SUM, secret + SUM))
    finding = finding_of(no_confirmed_smell, code)
    assert finding.outcome == "fail", finding
    assert finding.evidence["told"]["mean"] >= 0.8
    assert "'give up', which the prompt does not name" in finding.message
    named = spoilt(code, ("Reply with the number.", "Reply with the number, or give up."))
    assert finding_of(no_confirmed_smell, named).outcome == "pass"


PATTERNS = {
    "looks for the answer anywhere in what was said": "str(self.n) in action",
    "compares the start or the end only": "action.startswith(str(self.n))",
    "compares a part": "action[:2] == str(self.n)[:2]",
    "judges by length": "len(action) > 20",
    "ignores the order": "set(action) == set(str(self.n))",
    "compares truth values": "bool(action) == bool(self.n)",
    "compares a hash of what was said": "hash(action) == 3",
    "accepts a near number": "abs(float(action) - self.n) < 2",
    "compares one-sidedly": "float(action) >= self.n",
    "reads the first box": 're.search(r"boxed{(.*)}", action).group(1) == str(self.n)',
    "clamps a number that may be infinite or no number": "min(1, float(action)) == 1",
}


@pytest.mark.parametrize("kind", PATTERNS)
def test_each_pattern_is_named(kind):
    code = f"class E:\n    def step(self, action):\n        return {PATTERNS[kind]}\n"
    assert [(smell.kind, smell.line) for smell in read_grading(code).smells] == [(kind, 3)]


def test_what_is_no_grading_has_no_smell():
    code = '''
class E:
    """Say 'begin'."""

    def reset(self, seed):
        return "x" in self.words, len(self.words) > 3

    def step(self, action):
        text = f"the {action} is {self.n}"
        return self.total >= 3
'''
    grading = read_grading(code)
    assert grading.smells == []
    assert grading.compared == {}
    assert "Say 'begin'." not in grading.others
    assert read_grading("def (").compared == {}


def test_values_made_of_the_message_are_followed():
    code = """
class E:
    def step(self, action):
        given = action.strip()
        parts = given.split(",")
        return parts[0] == "alpha" or self.judge(given)

    def judge(self, word):
        return word.upper() in {"BETA", "GAM" + "MA"}
"""
    grading = read_grading(code)
    assert {"alpha", "BETA", "GAMMA"} <= set(grading.compared)
    assert grading.inside["BETA"] == {"judge"}
