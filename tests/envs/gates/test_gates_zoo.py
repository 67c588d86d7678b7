"""Every gate passes sound environments and refuses its planted defects, through the sandbox."""

import pytest

from envs.gates import zoo
from envs.gates.defects import DEFECTS, source_of
from spade_envs.gates import GATES, GATES_VERSION, check
from spade_envs.types import EnvSource, Limits

LIMITS = Limits(load_timeout_s=5.0, reset_timeout_s=2.0, step_timeout_s=1.5)
ALL = tuple(gate.id for gate in GATES)


@pytest.mark.parametrize("name", zoo.SOUND)
def test_a_sound_environment_passes_every_gate(name):
    source = EnvSource(code=zoo.SOUND[name])
    seen = []
    report = check(source, progress=seen.append)
    others = [(r.gate, r.outcome) for r in report.results if r.outcome != "pass"]
    assert set(others) <= {("L5.1", "skip"), ("L5.2", "skip"), ("L5.3", "skip")}  # no context
    assert report.accepted
    assert report.complete
    assert tuple(result.gate for result in report.results) == ALL
    assert tuple(seen) == report.results
    assert report.source_sha256 == source.sha256
    assert report.gates_version == GATES_VERSION
    assert report.interface is not None
    assert report.interface.has_solution
    assert "seccomp" in report.layers


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name.replace(" ", "-"))
def test_a_planted_defect_fails_its_gate(defect):
    report = check(EnvSource(code=source_of(defect)), seeds=6, limits=LIMITS)
    found = {result.gate for result in report.failures}
    messages = [f"{r.gate} {r.message}" for r in report.failures]
    assert set(defect.gates) <= found, messages
    if defect.only:
        assert found == set(defect.gates), messages
    assert not report.accepted
    for result in report.failures:
        assert "\n" not in result.message
        assert len(result.message) < 600


def test_every_gate_has_a_planted_defect():
    refused = {gate for defect in DEFECTS for gate in defect.gates}
    # L4.4 is about what the gates before it pass; L5 needs to be told of other environments.
    elsewhere = {"L4.4", "L5.1", "L5.2", "L5.3"}  # test_gates_hints, test_gates_originality
    assert refused == set(ALL) - elsewhere


@pytest.fixture(scope="module")
def digit():
    return check(EnvSource(code=zoo.DIGIT))


def test_a_published_shape_fails_only_for_its_missing_reference(digit):
    report = digit
    assert [result.gate for result in report.failures] == ["L3.1"]
    assert "add solution()" in report.failures[0].message
    skipped = {result.gate for result in report.results if result.outcome == "skip"}
    assert skipped == {"L3.4", "L3.5", "L3.6", "L3.7", "L3.9", "L3.11", "L3.15", "L3.17"}
    assert not report.complete
    assert not report.accepted


def test_a_leak_is_found_without_a_reference():
    code = zoo.DIGIT.replace('"Guess a digit', 'f"(debug {self.n}) Guess a digit').replace(
        "\\boxed{}", "\\boxed{{}}"
    )
    failures = {result.gate: result for result in check(EnvSource(code=code)).failures}
    assert set(failures) == {"L3.1", "L3.10"}
    evidence = failures["L3.10"].evidence
    transcript = evidence["transcript"]
    assert transcript[-1]["reward"] == 1.0
    assert evidence["level"] == 0


def test_a_constant_reward_fails_for_its_reward():
    code = zoo.DIGIT.replace(
        'return ("Yes" if won else "No"), float(won), won or self.t >= 3, False, {}',
        'return "ok", 1.0, True, False, {}',
    )
    failures = {result.gate: result for result in check(EnvSource(code=code)).failures}
    assert set(failures) == {"L3.1", "L3.2", "L3.3"}
    assert failures["L3.3"].evidence["floor"]["mean"] == 1.0
    assert failures["L3.3"].evidence["floor"]["trials"] == 100


def test_lint_failures_name_the_line():
    report = check(EnvSource(code=zoo.SUMS.replace("class Sums", "import os\n\n\nclass Sums", 1)))
    failure = report.failures[0]
    assert failure.gate == "L0.2"
    assert failure.evidence["findings"][0]["line"] == 5
    assert failure.message.startswith("line 5: ")


def test_a_failure_carries_the_episode():
    code = zoo.SUMS.replace("def solution(self):\n", "def solution(self):\n        return ['x']\n")
    report = check(EnvSource(code=code), seeds=5)
    failure = report.failures[0]
    assert failure.gate == "L3.1"
    assert failure.evidence["seed"] == int(report.source_sha256[:7], 16) % 100
    assert failure.evidence["transcript"] == [
        {"action": "x", "observation": "Wrong.", "reward": 0.0, "done": True}
    ]
    assert failure.evidence["success_rate"]["0"]["successes"] == 0


def test_reasonable_luck_is_a_warning_and_not_a_failure():
    drawn = [check(EnvSource(code=f"{zoo.DIGIT}\n# {draw}\n")) for draw in range(4)]
    floors = [each for one in drawn for each in one.results if each.gate == "L3.3"]
    assert {floor.outcome for floor in floors} <= {"pass", "warn"}
    floor = next(floor for floor in floors if floor.outcome == "warn")
    assert 0.1 < floor.evidence["floor"]["mean"] < 0.5
    low, high = floor.evidence["floor"]["wilson_95"]
    assert low < floor.evidence["floor"]["mean"] < high
