"""Duplicates under other names and words, evaluation texts in prompts, certificates."""

from dataclasses import replace

import pytest

from envs.gates.subjects import judge, subject_of
from envs.gates.zoo import PARCELS, SUMS, WALK
from spade_envs.gates import GATES_VERSION, check
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.originality import (
    fingerprint,
    nearest,
    not_a_duplicate,
    not_contaminated,
)
from spade_envs.types import EnvSource

RENAMED = SUMS.replace("Sums", "Totals").replace("self.left", "self.one").replace("top", "most")
REWORDED = RENAMED.replace(
    "What is {self.one} plus {self.right}? Reply with the number.",
    "A shelf holds {self.one} books, a box {self.right}. Say how many there are.",
).replace('"Right."', '"Yes, well counted."').replace("Add two numbers", "Count books")  # fmt: skip
REWRITTEN = SUMS.replace(
    "if given == str(self.left + self.right):",
    "total = self.left + self.right\n        if str(total) == given:",
)  # fmt: skip
OTHER = SUMS.replace("self.left + self.right", "self.left * self.right").replace("plus", "times")


@pytest.fixture(scope="module")
def sums():
    subject = subject_of(SUMS)
    yield fingerprint(subject.source, subject, name="sums")
    subject.close()


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (SUMS, "the same source"),
        (RENAMED, "the same program under other names"),
        (REWORDED, "the same tasks, answers and rewards in other words"),
        (REWRITTEN, "another program that says and pays the same"),
    ],
    ids=["same", "renamed", "reworded", "rewritten"],
)
def test_a_duplicate_fails_and_names_the_other(sums, code, how):
    finding = judge(code, not_a_duplicate, known=(sums,))
    assert finding.outcome == "fail"
    assert finding.evidence["repeats"] == "sums"
    assert finding.evidence["how"] == how


@pytest.mark.parametrize("code", [OTHER, WALK, PARCELS], ids=["times", "walk", "parcels"])
def test_another_task_is_no_duplicate(sums, code):
    finding = judge(code, not_a_duplicate, known=(sums,))
    assert (finding.outcome, finding.evidence) == ("pass", {"compared": 1})


def test_reworded_tools_are_found_by_the_values_of_their_calls():
    subject = subject_of(PARCELS)
    known = fingerprint(subject.source, subject, name="parcels")
    subject.close()
    code = PARCELS.replace("find_parcel", "look_up").replace("set_street", "redirect")
    code = code.replace("You run the parcel desk.", "You serve at the counter of a post office.")
    assert judge(code, not_a_duplicate, known=(known,)).evidence["repeats"] == "parcels"


def test_little_known_answers_prove_nothing():
    one = Fingerprint("a", "1", "p", "", ("x",) * 16)
    assert nearest(Fingerprint("b", "2", "q", "", ("x",) * 16), [one]) is None
    texts = tuple(map(str, range(16)))
    close = Fingerprint("b", "2", "q", "", (*texts[:15], "z"))
    assert nearest(close, [Fingerprint("c", "3", "r", "", texts)]) is not None
    assert nearest(close, [Fingerprint("c", "3", "r", "", texts[::-1])]) is None


def test_without_knowledge_nothing_is_compared():
    assert judge(SUMS, not_a_duplicate).outcome == "skip"
    assert judge(SUMS, not_contaminated).outcome == "skip"


def test_an_evaluation_text_in_a_prompt_fails():
    task = "A farmer has seventeen sheep and all but nine of them run away in the night"
    code = SUMS.replace('return f"What', f'return f"{task}. What')
    finding = judge(code, not_contaminated, evaluation=("Unrelated. " * 20, f"{task}."))
    assert finding.outcome == "fail"
    assert finding.evidence["overlap"] == 1.0
    assert finding.evidence["evaluation_text"].startswith("A farmer has seventeen")
    other = f"{task}; the moon rose twice, and " + "then nobody ever asked why it did so. " * 5
    assert judge(code, not_contaminated, evaluation=(other,)).outcome in ("pass", "warn")
    assert judge(SUMS, not_contaminated, evaluation=(task,)).outcome == "pass"


@pytest.fixture(scope="module")
def certificate():
    return check(EnvSource(code=SUMS), seeds=3)


def last(certificate, **context):
    report = check(EnvSource(code=SUMS), seeds=3, certificate=certificate, **context)
    return report.results[-1]


def test_a_certificate_must_be_of_this_source_and_these_gates(certificate):
    assert last(certificate).gate == "L5.3"
    assert last(certificate).outcome == "pass"
    other = last(replace(certificate, source_sha256="0" * 64))
    assert (other.outcome, "another source" in other.message) == ("fail", True)
    old = last(replace(certificate, gates_version="0"))
    assert (old.outcome, f"not {GATES_VERSION};" in old.message) == ("fail", True)


def test_a_certificate_must_say_what_is_measured(certificate):
    results = [
        replace(item, outcome="fail") if item.gate == "L3.1" else item
        for item in certificate.results
    ]
    found = last(replace(certificate, results=tuple(results)))
    assert found.outcome == "fail"
    assert found.evidence["differences"] == [{"gate": "L3.1", "certificate": "fail", "now": "pass"}]
