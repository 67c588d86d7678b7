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
