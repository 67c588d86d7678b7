"""What nobody can know is no task; what replies tell, or what the prompt tells, is one."""

from envs.gates.zoo import SUMS
from spade_envs.gates.check import other_sandbox
from spade_envs.gates.knowable import answers_can_be_known
from spade_envs.gates.subject import Subject
from spade_envs.sandbox import default_sandbox
from spade_envs.types import EnvSource

HIDDEN = SUMS.replace(
    'f"What is {self.left} plus {self.right}? Reply with the number."', '"Which number is it?"'
)


def judged(code):
    subject = Subject(EnvSource(code=code), default_sandbox(), other_sandbox, seed_count=8)
    try:
        return answers_can_be_known(subject)
    finally:
        subject.close()


def test_a_number_that_nothing_tells_is_refused():
    finding = judged(HIDDEN)
    assert finding.outcome == "fail"
    assert "8 of 8 seeds of level 0 show the same text" in finding.message
    assert len(finding.evidence["answers"]) == 6


def test_a_number_that_the_prompt_tells_passes():
    assert judged(SUMS).outcome == "pass"


def test_a_number_that_replies_lead_to_passes():
    code = HIDDEN.replace('self.lose("Wrong.")', 'self.go_on("Higher or lower.")')
    assert judged(code).outcome == "pass"


def test_seeds_that_look_alike_and_have_one_answer_pass():
    code = HIDDEN.replace("self.draw_int(10, top), self.draw_int(10, top)", "top, 1")
    assert judged(code).outcome == "pass"
