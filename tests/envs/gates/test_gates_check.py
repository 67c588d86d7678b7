"""How `check` runs: order, early stops, deadlines, depth, reports."""

import dataclasses
import json

import pytest

from envs.gates import zoo
from spade_envs.errors import Corrupt
from spade_envs.gates import GATES, check, report_from_json, report_to_json
from spade_envs.gates.thresholds import CERTIFY_SEEDS
from spade_envs.types import EnvSource, Limits

SUMS = EnvSource(code=zoo.SUMS)


@pytest.fixture(scope="module")
def report():
    return check(SUMS, seeds=5)


def test_ids_are_unique_and_families_ascend():
    ids = [gate.id for gate in GATES]
    assert len(set(ids)) == len(ids) == 43
    families = [gate.family for gate in GATES if gate.id != "L0.4"]  # it needs what L3 has played
    assert families == sorted(families)


def test_few_seeds_certify_nothing(report):
    assert report.failures == ()
    assert not report.complete
    assert not report.accepted
    assert CERTIFY_SEEDS == 20


def test_quick_uses_five_seeds():
    rate = next(r for r in check(SUMS, depth="quick").results if r.gate == "L3.1").evidence
    assert {level: one["trials"] for level, one in rate["success_rate"].items()} == {
        "0": 5,
        "2": 5,
    }


def test_a_failing_family_ends_the_run():
    code = zoo.SUMS.replace('self.lose("Wrong.")', 'self.lose("Wrong.", reward=-1.0)')
    report = check(EnvSource(code=code), seeds=5)
    assert [result.gate for result in report.failures] == ["L1.2"]
    assert report.results[-1].gate == "L1.9"
    assert not report.complete


def test_a_deep_check_goes_on_after_a_failure():
    code = zoo.SUMS.replace('self.lose("Wrong.")', 'self.lose("Wrong.", reward=-1.0)')
    report = check(EnvSource(code=code), seeds=5, depth="deep")
    assert [result.gate for result in report.results] == [gate.id for gate in GATES]


def test_a_passed_deadline_skips_the_rest():
    report = check(SUMS, deadline_s=0.0)
    assert report.results[-1].outcome == "skip"
    assert "deadline" in report.results[-1].message
    assert not report.complete
    assert report.failures == ()


def test_a_source_that_does_not_load_has_no_interface():
    report = check(EnvSource(code=zoo.SUMS.replace("class Sums", "1 / 0\n\n\nclass Sums")))
    assert report.interface is None
    assert report.layers == ()
    assert [result.gate for result in report.results] == ["L0.1", "L0.2", "L0.3"]
    assert "line 5" in report.failures[0].message


def test_text_that_is_no_python_is_refused_calmly():
    for code in (
        "",
        "\x00",
        "é = (",
        "(" * 5000,
        "9" * 100_000,
        "\ud800",
        "x" * 300_000,
        "-" * 90_000 + "1",
    ):
        report = check(EnvSource(code=code))
        assert "L0.1" in [result.gate for result in report.failures]


def test_too_few_seeds_are_the_callers_mistake():
    with pytest.raises(ValueError, match="seeds must be >= 3"):
        check(SUMS, seeds=2)


def test_a_report_survives_json(report):
    value = report_to_json(report)
    assert report_from_json(json.loads(json.dumps(value))) == report
    assert report_from_json(json.dumps(value)) == report
    assert value["source_sha256"] == SUMS.sha256
    assert value["interface"]["entry"] == "Sums"


def test_reports_are_read_strictly(report):
    value = report_to_json(report)
    with pytest.raises(Corrupt):
        report_from_json({**value, "accepted": True})
    with pytest.raises(Corrupt):
        report_from_json({**value, "complete": "yes"})
    with pytest.raises(Corrupt):
        report_from_json(b"{")


def test_evidence_of_hostile_text_is_json():
    code = zoo.SUMS.replace(
        "answer_of(action)", 'answer_of(action) if action != "\\x00" else 1 / 0'
    )
    report = check(EnvSource(code=code), seeds=5, limits=Limits())
    failure = next(result for result in report.failures if result.gate == "L1.3")
    assert failure.evidence["transcript"][0]["action"] == "\x00"
    assert "ZeroDivisionError" in failure.message
    assert report_from_json(report_to_json(report)) == report


def test_verdicts_are_the_same_again(report):
    def bare(one):
        return [dataclasses.replace(r, elapsed_s=0.0, evidence={}) for r in one.results]

    again = check(SUMS, seeds=5)
    assert bare(again) == bare(report)
