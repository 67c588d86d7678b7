"""Defects that users of other libraries met are refused, each by the gate that is for it."""

import gymnasium as gym
import pytest

from envs.gates.public_reports import PAID_AFTER_END, REPORTS, SECRET, environment
from spade_envs.gates import check
from spade_envs.play.env import SandboxedEnv
from spade_envs.play.session import open_session
from spade_envs.types import EnvSource


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name.replace(" ", "-"))
def test_a_reported_defect_is_refused(report):
    checked = check(EnvSource(code=report.code), seeds=10)
    failures = {result.gate: result.message for result in checked.failures}
    assert set(failures) & set(report.gates), (report.thread, failures)
    assert not checked.accepted


def test_the_environment_without_a_defect_passes():
    report = check(EnvSource(code=environment(SECRET)))
    assert [f"{r.gate} {r.message}" for r in report.results if r.outcome in ("fail", "warn")] == []


def test_steps_after_the_end_that_pay_are_noted_and_never_paid():
    """The thread is rlevo #771; what plays a published shape stops at its end, so this warns."""
    source = EnvSource(code=PAID_AFTER_END)
    report = check(source, seeds=10)
    assert {r.gate for r in report.results if r.outcome == "warn"} >= {"L1.5"}
    session = open_session(source)
    env = SandboxedEnv(session)
    env.reset(seed=3)
    (answer,) = session.solution(0)
    assert env.step(answer)[1] == 1.0
    with pytest.raises(gym.error.ResetNeeded):
        env.step(answer)
    env.close()
