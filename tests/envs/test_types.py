import pytest

from spade_envs.errors import ConfigError
from spade_envs.types import (
    COGNITIVE_SKILLS,
    TOOL_SKILLS,
    EnvSource,
    GateResult,
    Limits,
    Passage,
    Report,
    Skill,
)


def test_twelve_skills_in_two_settings():
    assert (len(COGNITIVE_SKILLS), len(TOOL_SKILLS), len(Skill)) == (6, 6, 12)
    assert COGNITIVE_SKILLS[-1] == "causal-inference"
    assert TOOL_SKILLS[0] == "api-orchestration"


def test_line_ends_do_not_change_a_source():
    assert EnvSource(code="a\r\nb\rc\n").sha256 == EnvSource(code="a\nb\nc\n").sha256
    assert EnvSource(code="").sha256.startswith("e3b0c442")


def test_a_passage_is_hashed_by_its_text():
    passage = Passage(text="", title="t", corpus="c", source="s")
    assert passage.sha256.startswith("e3b0c442")


def _result(outcome):
    return GateResult(gate="L0.1", title="t", outcome=outcome, message="m")


@pytest.mark.parametrize(
    ("outcomes", "complete", "accepted"),
    [
        (["pass", "warn", "skip"], True, True),
        (["pass", "fail"], True, False),
        (["pass"], False, False),
    ],
)
def test_a_report_accepts_only_if_everything_ran_and_nothing_failed(outcomes, complete, accepted):
    results = tuple(_result(outcome) for outcome in outcomes)
    report = Report(
        source_sha256="0", gates_version="1", interface=None, results=results, complete=complete
    )
    assert report.accepted is accepted
    assert len(report.failures) == outcomes.count("fail")


def test_a_missing_reference_is_named_after_every_other_failure():
    def failed(gate, message):
        return GateResult(gate=gate, title="t", outcome="fail", message=message)

    lacking, leak = failed("L3.1", "no reference solution; add it"), failed("L3.10", "it leaks")
    loses = failed("L3.1", "the reference loses")
    for results, first in (((lacking, leak), leak), ((lacking,), lacking), ((loses, leak), loses)):
        report = Report(source_sha256="0", gates_version="1", interface=None, results=results)
        assert report.gravest is first
    assert Report(source_sha256="0", gates_version="1", interface=None, results=()).gravest is None


def test_limits_from_json():
    limits = Limits.from_mapping({"step_timeout_s": 1, "memory_mb": 256})
    assert limits == Limits(step_timeout_s=1.0, memory_mb=256)
    assert type(limits.step_timeout_s) is float


@pytest.mark.parametrize(
    "values", [{"step": 1}, {"memory_mb": 0}, {"memory_mb": "1"}, {"cpu_s": True}]
)
def test_bad_limits_name_the_key(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        Limits.from_mapping(values)
