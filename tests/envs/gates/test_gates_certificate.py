"""What a report of a full check must hold, judged on the reports of the starter store."""

from dataclasses import replace

import pytest

from spade_envs.gates.certificate import missing_verdicts
from spade_envs.interop.run import _with_reason
from spade_envs.store import open_store, starter_path


@pytest.fixture(scope="module")
def reports():
    store = open_store(starter_path())
    return {record.id: store.report(record) for record in store.records()}


def test_what_full_checks_gave_lacks_nothing(reports):
    assert len(reports) == 24
    assert {env_id: list(missing_verdicts(report)) for env_id, report in reports.items()} == {
        env_id: [] for env_id in reports
    }


def test_a_report_that_was_renewed_lacks_nothing(reports):
    report = next(iter(reports.values()))
    renewed = _with_reason(report, replace(report, gates_version="1"))
    (told,) = (result.message for result in renewed.results if result.gate == "L5.3")
    assert told.startswith("its certificate is of version 1")
    assert list(missing_verdicts(renewed)) == []


def test_no_other_verdict_may_become_a_skip(reports):
    report = next(iter(reports.values()))
    for result in report.results:
        if result.outcome == "skip":
            continue
        message = "no certificate was given"
        skipped = replace(result, outcome="skip", message=message)
        others = tuple(skipped if one is result else one for one in report.results)
        said = list(missing_verdicts(replace(report, results=others)))
        assert said == [f"skips {result.gate}, which is never skipped in such a check"]
