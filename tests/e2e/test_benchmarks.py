"""The benchmarks run, compare what they say they compare, and judge by their bars."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # `benchmarks` is in the repository only, not installed

from benchmarks import __main__ as program  # noqa: E402
from benchmarks.diversity import effective  # noqa: E402
from benchmarks.timing import TINY, Claim, Result, Scale, Series, interleave  # noqa: E402

CLAIMS = {
    "async-vector": {10.0},
    "round-trip": {2.5},
    "stepping": {0.25},
    "worker-start": {25.0},
    "importing": {0.6},
    "gating": {0.4},
    "sampling": {1.3},
    "corpus": {500, 2.0},
    "memory": {20_000.0, 60.0, 5.0, 0.95},
    "large-store": {10.0},
    "large-pull": {0.011, 0.02},
    "completions": {1.0},
    "diversity": {1.5},
}


SLOW = {
    "diversity",
    "stepping",
    "importing",
    "async-vector",
    "corpus",
    "large-store",
    "worker-start",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CLAIMS]
)
def test_a_benchmark_measures_every_contender_once_and_judges_by_its_bar(name):
    result = program.run(name, TINY)

    assert result.name == name
    assert result.series
    assert {len(one.samples) for one in result.series} == {1}
    assert all(one.median > 0 for one in result.series)
    assert {claim.bar for claim in result.claims} == CLAIMS[name]


@pytest.mark.parametrize(
    ("items", "expected"), [("aaaa", 1.0), ("abcd", 4.0), ("aabb", 2.0), ("aaab", 1.7548)]
)
def test_effective_numbers_count_what_is_equally_frequent(items, expected):
    assert effective(items) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("value", "at_least", "met"),
    [(2.0, True, True), (1.9, True, False), (2.0, False, True), (2.1, False, False)],
)
def test_a_claim_is_met_on_the_right_side_of_its_bar(value, at_least, met):
    claim = Claim("figure", value, 2.0, at_least)

    assert claim.met is met
    assert program.verdict(claim).startswith("PASS" if met else "MISS")


def test_contenders_take_turns_and_the_first_round_is_thrown_away():
    calls = []

    def contender(name):
        return lambda: calls.append(name) or float(len(calls))

    taken = interleave(Scale(rounds=2), {"a": contender("a"), "b": contender("b")})

    assert calls == ["a", "b", "b", "a", "a", "b"]
    assert taken == {"a": (4.0, 5.0), "b": (3.0, 6.0)}


def test_the_plain_form_of_a_result_holds_medians_and_verdicts():
    result = Result("x", (Series("a", "s", (3.0, 1.0, 2.0)),), (Claim("c", 1.0, 2.0, False),))

    plain = program.as_plain(result)

    assert plain["series"][0]["median"] == 2.0
    assert plain["claims"][0]["met"] is True


def test_the_command_prints_json_and_exits_with_1_only_for_a_missed_bar():
    command = [sys.executable, "-m", "benchmarks", "worker-start", "--tiny", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    claims = json.loads(done.stdout)["results"][0]["claims"]
    assert done.returncode == (0 if all(claim["met"] for claim in claims) else 1)
    assert claims[0]["bar"] == 25.0
