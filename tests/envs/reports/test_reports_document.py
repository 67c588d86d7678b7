"""The JSON of a run, and its published schema."""

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from envs.reports.kit_reports import NASTY, accepted, missing, refused, report, source
from spade_envs.audit import Audit
from spade_envs.gates.check import OUT_OF_TIME
from spade_envs.interop import Checked, Library, Target
from spade_envs.reports.document import EntryDocument, document, schema
from spade_envs.reports.entry import Counts, Entry, counts, verdict
from spade_envs.reports.page import render

SCHEMA = Path(__file__).parents[3] / "docs" / "check-report.schema.json"


def test_the_published_schema_is_the_one_in_force():
    assert json.loads(SCHEMA.read_text("utf-8")) == json.loads(json.dumps(schema()))


def test_every_entry_is_of_the_schema():
    rows = document([accepted(), refused(NASTY, NASTY), missing()])
    text = json.dumps(rows, allow_nan=False)
    good, bad, none = msgspec.json.decode(text, type=list[EntryDocument], strict=True)
    assert (good.verdict, good.accepted, good.audit) == ("accepted", True, None)
    assert (bad.verdict, bad.target) == ("refused", NASTY)
    assert bad.audit.remarks[0].line == 1
    assert bad.report.results[-1].gate == "L5.3"
    assert (none.verdict, none.error, none.report) == ("not checked", "nope.py is not a file", None)


def test_a_library_is_named_with_what_it_may_import():
    library = Library(name="no-such-library", modules=("one", "one.two"))
    target = Target(label="x", source=source(), library=library)
    (row,) = document([Entry(checked=Checked(target=target, report=report()))])
    assert (row["library"], row["trusted_imports"]) == ("no-such-library", ["one", "one.two"])


@pytest.mark.parametrize(
    ("outcomes", "message", "complete", "word"),
    [
        ({}, "", True, "accepted"),
        ({}, "", False, "passes"),
        ({"L3.13": "skip"}, "it has no tools", False, "passes"),
        ({"L3.13": "skip"}, OUT_OF_TIME, False, "refused"),
        ({"L3.3": "fail"}, "", True, "refused"),
        ({"L3.3": "warn"}, "", True, "accepted"),
    ],
)
def test_verdicts(outcomes, message, complete, word):
    made = report(outcomes, messages=dict.fromkeys(outcomes, message))
    assert verdict(dataclasses.replace(made, complete=complete)) == word


def test_gates_are_counted_in_one_form():
    outcomes = {"L2.5": "warn", "L3.3": "fail", "L5.1": "skip", "L5.2": "skip"}
    whole = report(outcomes)
    cut = dataclasses.replace(whole, results=whole.results[:10])
    total = len(whole.results)
    assert str(counts(whole)) == (
        f"{total - 4} of {total - 2} gates passed, 2 not run or not applicable"
    )
    assert counts(whole).short == f"{total - 4} of {total - 2}"
    assert counts(cut) == Counts(10, 10, total - 10)
    assert str(Counts(3, 4, 0)) == "3 of 4 gates passed"
    entry = Entry(checked=Checked(target=Target(label="x", source=source()), report=whole))
    assert str(counts(whole)) in render([entry], made_at="now")


@pytest.mark.parametrize(
    ("outcomes", "message", "complete", "found"),
    [
        ({}, "", True, ""),
        ({"L2.5": "warn", "L3.3": "warn"}, "hm", True, "warning: L2.5 hm (and L3.3)"),
        ({"L2.5": "warn", "L3.3": "fail"}, "hm", True, "L3.3 hm"),
        ({"L3.1": "fail", "L3.3": "fail"}, "no reference", True, "L3.3 no reference (and L3.1)"),
        ({"L3.13": "skip"}, OUT_OF_TIME, False, "raise --deadline"),
    ],
)
def test_what_was_found(outcomes, message, complete, found):
    made = report(outcomes, messages=dict.fromkeys(outcomes, message))
    made = dataclasses.replace(made, complete=complete)
    entry = Entry(checked=Checked(target=Target(label="x", source=source()), report=made))
    assert entry.found.endswith(found)
    assert bool(entry.found) == bool(found)


def test_an_audit_changes_no_verdict():
    words = set()
    for status in ("audited", "not audited"):
        for entry in (accepted(), refused()):
            audited = Entry(checked=entry.checked, audit=Audit(status=status, model="m"))
            words.add((entry.verdict, audited.verdict))
    assert words == {("accepted", "accepted"), ("refused", "refused")}
