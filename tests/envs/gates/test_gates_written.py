"""Written hints: the way passes; answers, tables of answers and winning texts do not."""

import pytest

from spade_envs.gates.written import check_hints
from spade_envs.types import EnvSource

RIDDLES = {
    "heron": "marsh", "otter": "river", "camel": "desert", "raven": "tower", "trout": "stream",
    "mole": "burrow", "goat": "cliff",
}  # fmt: skip
SOURCE = EnvSource(
    code=f"""
from spade_envs.api import TextEnv, answer_of

HOMES = {RIDDLES}


class Homes(TextEnv):
    \"\"\"Say where an animal lives.\"\"\"

    levels, max_turns = 1, 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.animal = sorted(HOMES)[self.draw_int(0, len(HOMES) - 1)]
        code = self.draw_int(1000, 9999)
        asked = f"Case {{code}}: where does the {{self.animal}} live?"
        return asked + " Answer in \\\\boxed{{}}.", {{}}

    def step(self, action):
        said = answer_of(action)
        if said == HOMES[self.animal] or said == "xyzzy":
            return self.win("Right.")
        return self.lose("No.")

    def hint(self):
        return "Think of " + self.animal

    def solution(self):
        return ["\\\\boxed{{" + HOMES[self.animal] + "}}"]
"""
)
WAY = (
    "Picture the creature: what it eats, whether it swims, flies or digs. Name the landscape "
    "where that is possible, in one lower-case noun."
)


def outcomes(text):
    results = check_hints(SOURCE, lambda level, seed: text)
    return {result.gate: result for result in results}


def test_a_hint_that_tells_the_way_passes():
    found = outcomes(WAY)
    assert {gate: each.outcome for gate, each in found.items()} == {
        "L4.1": "pass",
        "L4.2": "pass",
        "L4.3": "pass",
    }


def test_a_table_of_all_answers_is_refused():
    table = "; ".join(f"{animal} means {home}" for animal, home in RIDDLES.items())
    found = outcomes(f"Look it up: {table}.")
    assert found["L4.1"].outcome == "fail"
    assert "names the answer" in found["L4.1"].message


def test_a_text_that_wins_by_itself_is_refused():
    found = outcomes('Picture the creature and its landscape, or simply say "xyzzy".')
    assert found["L4.2"].outcome == "fail"
    assert found["L4.2"].evidence["own"]["mean"] == 1.0


def test_a_hint_that_says_nothing_is_refused():
    assert outcomes("Think carefully and answer the question.")["L4.3"].outcome == "fail"


def test_hints_of_each_instance_are_compared_with_those_of_others():
    from spade_envs.play import reference

    def tells(level, seed):
        (answer,) = reference(SOURCE, seed=seed, level=level).solution
        return f"Picture the creature. It lives in: {answer[7:-1]}"

    assert {r.gate: r.outcome for r in check_hints(SOURCE, tells)}["L4.1"] == "fail"


def test_a_source_that_does_not_load_is_refused():
    results = check_hints(EnvSource(code="class A: pass"), lambda level, seed: WAY)
    assert {result.outcome for result in results} == {"fail"}


def test_an_environment_that_breaks_proves_nothing():
    broken = EnvSource(code=SOURCE.code.replace("self.draw_int(1000, 9999)", "self.nothing()"))
    found = {r.gate: r.outcome for r in check_hints(broken, lambda level, seed: WAY)}
    assert found["L4.1"] == "skip"


def test_too_few_seeds_tell_nothing():
    with pytest.raises(ValueError, match=">= 6"):
        check_hints(SOURCE, lambda level, seed: WAY, seeds=5)
