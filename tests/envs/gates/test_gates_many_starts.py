"""L2.1 looks at the tasks of many seeds where a library makes them."""

import pytest

from envs.gates.subjects import subject_of
from spade_envs.gates.determinism import reproducible

MAKERS = '''
from spade_envs.api import TextEnv, answer_of


class Makers(TextEnv):
    """A question from one of ten makers, of which one names colours in the order of a set."""

    max_turns = 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.colours = [f"colour{number}" for number in range(12)]
        # A tenth of the seeds, none of which is among the first ones.
        if 1000 <= seed < 2000 and seed % 10 == 3:
            self.colours = list(set(self.colours))
        return "Copy: " + " ".join(self.colours), {}

    def step(self, action):
        if answer_of(action) == self.colours[0]:
            return self.win("Right.")
        return self.lose("Wrong.")

    def solution(self):
        return [f"\\\\boxed{{{self.colours[0]}}}"]
'''


@pytest.fixture
def subject():
    subject = subject_of(MAKERS)
    yield subject
    subject.close()


def test_a_maker_that_is_seldom_asked_is_found_in_a_library(subject):
    subject.trusted_imports = ("some_library",)
    finding = reproducible(subject)
    assert finding.outcome == "fail"
    assert finding.evidence["seed"] % 10 == 3
    assert "in 20 seeds at level 0" in finding.message


def test_of_a_single_file_only_a_few_seeds_are_compared(subject):
    assert reproducible(subject).outcome == "pass"
