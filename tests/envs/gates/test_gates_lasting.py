"""State on modules, classes and functions that changes what comes much later."""

import pytest

from envs.gates.subjects import judge
from envs.gates.zoo import DIGIT, PARCELS, SUMS, WALK
from spade_envs.gates.conduct import no_side_effects

_RESET = "        super().reset(seed=seed, options=options)\n"
_IF = "if given == str(self.left + self.right):"


def bomb(setup, count, condition):
    """Return a sum that gives the reward away after many episodes."""
    code = SUMS.replace("\n\nclass Sums", f"\n{setup}\n\n\nclass Sums", 1)
    code = code.replace(_RESET, f"{_RESET}        {count}\n")
    return code.replace(_IF, f"{_IF[:-1]} or {condition}:")


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (bomb("COUNT = [0]", "COUNT[0] += 1", "COUNT[0] > 5000"), "COUNT"),
        (bomb("SEEN = {'runs': 0}", "SEEN['runs'] += 1", "SEEN['runs'] > 5000"), "SEEN"),
        (bomb("LOG = []", "LOG.append(seed)", "len(LOG) > 700"), "LOG"),
        (bomb("", "Sums.runs = getattr(Sums, 'runs', 0) + 1", "Sums.runs > 300"), "Sums.runs"),
        (bomb("", "self.runs = getattr(self, 'runs', 0) + 1", "self.runs > 300"), "self.runs"),
        (bomb("COUNT = 0", "global COUNT\n        COUNT += 1", "COUNT > 300"), "COUNT"),
    ],
    ids=["list", "dict", "log", "class", "object", "global"],
)
def test_a_later_change_is_seen_without_waiting_for_it(code, place):
    finding = judge(code, no_side_effects)
    assert finding.outcome == "fail"
    assert finding.evidence["places"] == [place]
    assert finding.evidence["difference"]


_BOX = "class Box:\n    n = 0\n\n\nBOX = Box()"
_SLOTS = "class Box:\n    __slots__ = ('n',)\n\n\nBOX = Box()\nBOX.n = 0"
_LRU = "import functools\n\n\n@functools.lru_cache({})\ndef plan(x):\n    return x"
_CELL = "def count():\n    n = 0\n\n    def more():\n        nonlocal n\n        n += 1\n{}"
_CELL = _CELL.format("        return n\n\n    return more\n\n\nMORE = count()")
_GENERATOR = (
    "def count():\n    n = 0\n    while True:\n        yield (n := n + 1)\n\n\nMORE = count()"
)
_SIZE = "plan.cache_info().currsize"


@pytest.mark.parametrize(
    ("setup", "count", "condition", "place"),
    [
        (_BOX, "BOX.n += 1", "BOX.n > 5000", "BOX.n"),
        (_SLOTS, "BOX.n += 1", "BOX.n > 5000", "BOX.n"),
        ("BOX = {'a': [[0]]}", "BOX['a'][0][0] += 1", "BOX['a'][0][0] > 5000", "BOX['a'][0]"),
        (_BOX, "self.b = vars(self).get('b', Box()); self.b.n += 1", "self.b.n > 999", "self.b.n"),
        ("T = iter(range(5000))", "self.t = next(T, None)", "self.t is None", "T"),
        ("import itertools\nT = itertools.count()", "self.t = next(T)", "self.t > 5000", "T"),
        (_GENERATOR, "self.t = next(MORE)", "self.t > 5000", "MORE"),
        (_LRU.format("None"), "plan(seed)", f"{_SIZE} > 5000", "plan.cache_info()"),
        (_LRU.format("900"), "plan(seed)", f"{_SIZE} > 800", "plan.cache_info()"),
        (_LRU.format("9"), "plan(1)", "plan.cache_info().hits > 5000", "plan.cache_info()"),
        (_LRU.format("0"), "plan(1)", "plan.cache_info().misses > 5000", "plan.cache_info()"),
        (_CELL, "self.n = MORE()", "self.n > 5000", "n in MORE"),
        ("TEXT = ''", "global TEXT\n        TEXT += 'x'", "len(TEXT) > 5000", "TEXT"),
        ("T = (0,)", "global T\n        T = (T[0] + 1,)", "T[0] > 5000", "T"),
        ("import array\nT = array.array('l', [0])", "T[0] += 1", "T[0] > 5000", "T"),
        ("import numpy as np\nT = np.zeros(9, int)", "T[4] += 1", "T[4] > 5000", "T"),
    ],
)
def test_a_count_is_set_forward_wherever_it_is_kept(setup, count, condition, place):
    finding = judge(bomb(setup, count, condition), no_side_effects)
    assert finding.outcome == "fail", finding
    assert place in finding.evidence["places"]
    assert finding.evidence["difference"]


_HASH = "import hashlib\nH = hashlib.sha256()"


@pytest.mark.parametrize(
    ("setup", "count", "condition"),
    [
        ("LEFT = [5000]", "LEFT[0] -= 1", "LEFT[0] < 0"),
        ("LEFT = [3_000_000]", "LEFT[0] -= 1", "LEFT[0] < 0"),
        ("", "self.w = vars(self).get('w', 1.0) * 0.999", "self.w < 0.01"),
        ("", "self.f = vars(self).get('f', 'x' * 3000)[1:]", "not self.f"),
        ("T = [0]", "T[0] += 1", "T[0] % 1000 == 999"),
        ("T = [0]", "T[0] += 1", "2000 < T[0] < 9000"),
        ("T = [1]", "T[0] = T[0] * 3 % 65537", "T[0] > 65400"),
        (_HASH, "H.update(b'x')", "H.digest()[0] == 7"),
        ("SEEN = set()", "SEEN.add(seed)", "len(SEEN) == 700"),
    ],
)
def test_what_counts_down_comes_at_times_or_cannot_be_seen_is_waited_for(setup, count, condition):
    finding = judge(bomb(setup, count, condition), no_side_effects)
    assert finding.outcome == "fail", finding
    assert "set it anew in reset()" in finding.message


_MEMO = "MEMO = {}\n\n\ndef double(x):\n    return MEMO.setdefault(x, x * 2)"
_LAZY = "class Words:\n    found = None\n\n\nWORDS = Words()"


@pytest.mark.parametrize(
    ("setup", "line", "outcome"),
    [
        (_LRU.format("None"), "self.left = plan(self.left)", "pass"),
        (_LRU.format("2"), "self.left = plan(self.left)", "pass"),
        (f"{_LRU.format('None')}, [x]", "self.left, _ = plan(self.left)", "pass"),
        (f"{_LRU.format('2')}, [x]", "self.left, _ = plan(self.left)", "pass"),
        (_MEMO, "self.left = double(self.left) // 2", "warn"),
        (_LAZY, "WORDS.found = WORDS.found or [['a'], ['b']]", "pass"),
        ("import functools", "self.f = functools.partial(int, self.left)", "pass"),
        ("import base64", "base64.a85decode(base64.a85encode(b'x'))", "pass"),
        ("import base64", "base64.b85decode(base64.b85encode(b'x'))", "pass"),
    ],
)
def test_caches_that_change_no_episode_are_not_refused(setup, line, outcome):
    shown = '        return f"What'
    code = bomb(setup, "pass", "False").replace(shown, f"        {line}\n{shown}", 1)
    assert line in code
    assert judge(code, no_side_effects).outcome == outcome


def test_more_than_can_be_looked_through_is_worth_a_warning():
    finding = judge(bomb("L = [[n] for n in range(30_000)]", "pass", "False"), no_side_effects)
    assert finding.outcome == "warn"
    assert "looked through" in finding.message


def test_a_cache_is_worth_a_warning_only():
    code = bomb("CACHE = {}", "CACHE.setdefault(seed, self.level)", "False")
    finding = judge(code, no_side_effects)
    assert finding.outcome == "warn"
    assert "CACHE" in finding.message


@pytest.mark.parametrize("code", [SUMS, WALK, PARCELS, DIGIT])
def test_sound_environments_leave_nothing(code):
    assert judge(code, no_side_effects).outcome == "pass"


@pytest.mark.parametrize(
    ("line", "condition", "place"),
    [
        ("self.bank += 1", "self.bank > 300", "self.bank"),
        ("self.log.append(given)", "len(self.log) > 300", "self.log"),
    ],
)
def test_what_a_step_first_writes_and_what_is_empty_at_first_is_seen_too(line, condition, place):
    code = bomb("", "self.log = getattr(self, 'log', [])", condition)
    code = code.replace("    def reset", "    bank = 0\n\n    def reset", 1)
    code = code.replace("        if given ==", f"        {line}\n        if given ==", 1)
    finding = judge(code, no_side_effects)
    assert finding.outcome == "fail", finding
    assert place in finding.evidence["places"]


_ADDED = "        if given =="
_KNOWN = "self.known = vars(self).get('known', frozenset()) | {(self.left, self.right)}"


@pytest.mark.parametrize("most", [1000, 50_000])
@pytest.mark.parametrize(
    ("setup", "line", "condition"),
    [
        ("SEEN = set()", "SEEN.add((self.left, self.right, self.level))", "len(SEEN) > {}"),
        ("SEEN = {}", "SEEN[(self.left, self.right)] = 1", "sum(k[0] > 0 for k in SEEN) > {}"),
        ("SEEN = {}", "SEEN[self.left] = 1", "sum(type(k) is int for k in SEEN) > {}"),
        ("SEEN = {}", "SEEN[f'{self.left}'] = 1", "sum(k[0].isdigit() for k in SEEN) > {}"),
        ("", _KNOWN, "len(self.known) > {}"),
        ("SEEN = set()", "given.isdigit() and SEEN.add((self.left, self.right))", "len(SEEN) > {}"),
        ("SEEN = set()", f"{_IF[3:-1]} and SEEN.add((self.left, self.right))", "len(SEEN) > {}"),
    ],
    ids=["set", "tuples", "numbers", "texts", "frozen", "answered", "won"],
)
def test_a_set_of_the_tasks_seen_so_far_is_noticed(setup, line, condition, most):
    code = bomb(setup, "pass", condition.format(most))
    code = code.replace(_ADDED, f"        {line}\n{_ADDED}", 1)
    finding = judge(code, no_side_effects)
    assert finding.outcome == "fail", finding
    assert finding.evidence["places"]


_MADE = """    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        MADE[0] += 1

    def reset"""


@pytest.mark.parametrize("most", [900, 90_000])
def test_objects_may_not_be_counted(most):
    code = bomb("MADE = [0]", "pass", f"MADE[0] > {most}").replace("    def reset", _MADE, 1)
    finding = judge(code, no_side_effects)
    assert finding.outcome == "fail", finding
    assert finding.evidence["places"] == ["MADE"]


@pytest.mark.parametrize(
    ("setup", "count"),
    [
        ("LAST = [None, None]", "LAST[:] = [(seed, self.level), seed]"),
        ("", "self.last = (seed, self.level)"),
        ("LAST = {}", "LAST.clear(); LAST[(seed, self.level)] = seed"),
    ],
)
def test_what_holds_the_last_task_alone_does_not_grow(setup, count):
    assert judge(bomb(setup, count, "False"), no_side_effects).outcome == "pass"
