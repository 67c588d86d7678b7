"""L3.11: the format of actions follows from what the agent is shown."""

import pytest

from envs.gates import answer_zoo as answers
from envs.gates.gatebench import finding_of, spoilt
from envs.gates.zoo import PARCELS, WALK
from spade_envs.gates.wording import parts_of, shows, states_its_format

SUM = "if given == str(self.left + self.right):"
SOLVED = "return [str(self.left + self.right)]"
ASKED = "Reply with the number."


@pytest.mark.parametrize("code", [*answers.SOUND.values(), PARCELS, WALK])
def test_a_stated_format_passes(code):
    assert finding_of(states_its_format, code).outcome == "pass"


def marked(before, after, asked):
    told = f"f'{before}{{self.left + self.right}}{after}'"
    return spoilt(
        answers.SUMS, (SUM, f"if given == {told}:"), (SOLVED, f"return [{told}]"), (ASKED, asked)
    )


@pytest.mark.parametrize(
    ("before", "after", "hidden"),
    [
        ("ANS<<", ">>", ["<", ">", "ans"]),
        ("<<", ">>", ["<", ">"]),
        ("guess ", "", ["guess"]),
        ("", " units", ["units"]),
    ],
)
def test_a_format_that_is_not_shown_is_refused(before, after, hidden):
    finding = finding_of(states_its_format, marked(before, after, "Tell me."))
    assert finding.outcome == "fail"
    assert finding.evidence["hidden"] == hidden
    assert "same reply as a wrong answer" in finding.message
    stated = marked(before, after, f"Tell me, like {before}12{after}!")
    assert finding_of(states_its_format, stated).outcome == "pass"


def test_hidden_commands_of_a_plan_are_refused():
    code = spoilt(
        WALK,
        (" Say north, south, east or west.", ""),
        ('self.go_on("Say north, south, east or west.")', 'self.go_on("What?")'),
    )
    finding = finding_of(states_its_format, code)
    assert finding.outcome == "fail"
    hidden = finding.evidence["hidden"]  # those that nearly every path of these seeds goes
    assert len(hidden) >= 3
    assert set(hidden) <= {"east", "north", "south", "west"}


def test_commands_that_only_an_error_tells_are_a_warning():
    code = spoilt(WALK, (" Say north, south, east or west.", ""))
    finding = finding_of(states_its_format, code)
    assert finding.outcome == "warn"
    assert "after" not in finding.message
    assert "before it has said something wrong" in finding.message


def test_the_box_of_the_published_shape_is_a_warning():
    code = spoilt(answers.CAPITALS, (", in \\\\boxed{{}}", ""))
    assert finding_of(states_its_format, code).outcome == "warn"


def test_a_hidden_command_of_a_question_is_refused():
    told = "Say 'digit N' to see its N-th digit, or give the"
    code = spoilt(answers.QUESTIONS, (told, "Look at it, or give the"))
    finding = finding_of(states_its_format, code)
    assert (finding.outcome, finding.evidence["hidden"]) == ("fail", ["digit"])


def test_words_inside_codes_are_no_syntax():
    assert parts_of("move e2e4") == {"move"}
    assert parts_of("A>B, c") == {"a", ">", "b", ",", "c"}
    assert parts_of('<tool_call>{"name": "x", "arguments": {}}</tool_call>') == set()


def test_moves_in_a_row_are_told_by_their_letters():
    prompt = "Each hour you buy one unit (B), sell one (S) or wait (W)."
    assert shows(prompt, "bsw")
    assert not shows(prompt, "bad")
    assert not shows("Buy, sell or wait.", "bsw")


def test_json_names_its_brackets_and_a_shown_word_its_letters():
    json = "json.dumps({'total': self.left + self.right})"
    code = spoilt(answers.SUMS, (SUM, f"if given == {json}:"), (SOLVED, f"return [{json}]"))
    code = "import json\n" + code
    told = spoilt(code, (ASKED, "Reply with JSON, an object whose key is total."))
    assert finding_of(states_its_format, told).outcome == "pass"
    untold = spoilt(code, (ASKED, "Reply with the total."))
    assert finding_of(states_its_format, untold).evidence["hidden"] == ["{", "}"]


SPELT = '''
from spade_envs.api import TextEnv, answer_of

WORDS = "strange,garden,reader,danger,trades,steward,thread,steadier,adhered,treads".split(",")


class Spelt(TextEnv):
    """Spell a word from its end."""

    max_turns = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.word = self.draw(WORDS)
        return f"Put {self.word} the other way round, hyphens in between.", {}

    def step(self, action):
        if answer_of(action) == "-".join(self.word[::-1]):
            return self.win("Right.")
        return self.lose("No.")

    def solution(self):
        return ["-".join(self.word[::-1])]
'''


def test_the_letters_of_a_shown_word_are_shown():
    assert finding_of(states_its_format, SPELT).outcome == "pass"
    moves = spoilt(SPELT, ("Put {self.word} the other", "Put number {len(self.word)} the other"))
    assert finding_of(states_its_format, moves).outcome == "fail"
