"""Near misses, denied answers and notes to the grader: L3.6, L3.7 and L3.8."""

import pytest

from envs.gates import answer_zoo as answers
from envs.gates.gatebench import finding_of, spoilt, subject_of
from envs.gates.zoo import PARCELS, WALK
from spade_envs.gates.denial import denials_lose
from spade_envs.gates.misses import near_misses, offsets_of, shares_of
from spade_envs.gates.near_miss import near_misses_lose
from spade_envs.gates.override import TEXTS, override_loses
from spade_envs.gates.slots import Slot, around_of, items_of, slot_of

SUM = "if given == str(self.left + self.right):"
NUMBER = "given.isascii() and given.isdigit() and len(given) < 9 and "


SOUND = {**answers.SOUND, "parcels": PARCELS, "walk": WALK}


@pytest.fixture(scope="module", params=SOUND)
def sound(request):
    with subject_of(SOUND[request.param]) as subject:
        yield subject


@pytest.mark.parametrize("gate", [near_misses_lose, denials_lose, override_loses])
def test_a_sound_environment_passes(sound, gate):
    finding = gate(sound)
    assert (finding.outcome, finding.evidence.get("transcript")) == ("pass", None), finding.message


SLACK = {
    "first two characters": (answers.SUMS, SUM, "if given[:2] == str(self.left + self.right)[:2]:"),
    "within one": (
        answers.SUMS,
        SUM,
        f"if {NUMBER}abs(int(given) - self.left - self.right) <= 1:",
    ),
    "one too many": (
        answers.SUMS,
        SUM,
        f"if {NUMBER}int(given) - self.left - self.right in (0, 1):",
    ),
    "six per cent": (
        answers.SUMS,
        SUM,
        f"if {NUMBER}abs(int(given) / (self.left + self.right) - 1) < 0.06:",
    ),
    "answer in the text": (answers.SUMS, SUM, "if str(self.left + self.right) in given:"),
    "first character": (
        answers.SUMS,
        SUM,
        "if given.startswith(str(self.left + self.right)[:1]):",
    ),
    "last two characters": (
        answers.SUMS,
        SUM,
        "if given.endswith(str(self.left + self.right)[-2:]):",
    ),
    "prefix of a word": (answers.MIRROR, "given == right", "given[:2] == right[:2]"),
    "anagram": (answers.MIRROR, "given == right", "sorted(given) == sorted(right)"),
    "set of letters": (answers.MIRROR, "given == right", "set(given) == set(right)"),
    "cut short": (answers.MIRROR, "given == right", "len(given) > 2 and right.startswith(given)"),
    "set of items": (answers.RANKING, "given == right", "set(given) == set(right)"),
    "first item": (answers.RANKING, "given == right", "given[:1] == right[:1]"),
    "subset": (
        answers.BAG,
        "len(given) == len(right) and set(given) == right",
        "set(given) <= right",
    ),
    "superset": (
        answers.BAG,
        "len(given) == len(right) and set(given) == right",
        "set(given) >= right",
    ),
    "after questions": (
        answers.QUESTIONS,
        "given == self.number",
        "given[:2] == self.number[:2]",
    ),
    "published": (answers.CAPITALS, "given == right", "given[:3] == right[:3]"),
}


@pytest.mark.parametrize("name", SLACK)
def test_slack_that_accepts_near_misses_is_refused(name):
    finding = finding_of(near_misses_lose, spoilt(SLACK[name][0], SLACK[name][1:]))
    assert finding.outcome == "fail", finding
    assert finding.evidence["near_miss"]["mean"] >= 0.8
    assert finding.evidence["control"]["mean"] <= 0.2
    said = finding.evidence["transcript"][-1]
    assert said["reward"] == 1.0
    assert finding.evidence["right_answer"] not in ("", said["action"])


def test_other_answers_that_win_at_the_end_of_the_right_way_are_refused():
    even = "given.isascii() and given.isdigit() and int(given) % 2 == int(self.number) % 2"
    code = spoilt(answers.QUESTIONS, ("given == self.number", even))
    finding = finding_of(near_misses_lose, code)
    assert finding.outcome == "fail", finding
    assert 0.25 < finding.evidence["other_answer"]["mean"] < 0.75
    assert finding.evidence["transcript"][-1]["reward"] == 1.0


def test_slack_that_the_prompt_states_is_no_failure():
    code = spoilt(SLACK["within one"][0], SLACK["within one"][1:])
    code = spoilt(code, ("Reply with the number.", "A number within 1 of it is near enough."))
    assert finding_of(near_misses_lose, code).outcome == "warn"


def test_order_that_the_prompt_leaves_open_is_no_failure():
    code = spoilt(SLACK["set of items"][0], SLACK["set of items"][1:])
    code = spoilt(code, ("in the order of their times, ", "in any order, "))
    assert finding_of(near_misses_lose, code).outcome == "pass"


def test_a_tolerance_is_found_where_the_prompt_compares_for_another_reason():
    code = spoilt(SLACK["six per cent"][0], SLACK["six per cent"][1:])
    code = spoilt(code, ("Reply with the number.", "Reply with at most one number."))
    assert finding_of(near_misses_lose, code).outcome == "fail"


def test_a_task_with_a_range_of_answers_is_no_slack():
    assert finding_of(near_misses_lose, answers.BETWEEN).outcome == "pass"


HIDDEN = {
    "in the text": (
        "not",
        answers.QUESTIONS,
        "given == self.number",
        "self.number in action",
    ),
    "among words": ("not", answers.SUMS, SUM, "if str(self.left + self.right) in given.split():"),
    "first word": (
        "wrong",
        answers.SUMS,
        SUM,
        "if given.split()[:1] == [str(self.left + self.right)]:",
    ),
    "first box": ("taken back", answers.CAPITALS, "boxes[-1]", "boxes[0]"),
    "any box": ("", answers.CAPITALS, "given == right", "right in boxes"),
    "anywhere": ("", answers.CAPITALS, "given == right", "right in action"),
    "one of the list": (
        "among others",
        answers.RANKING,
        "given == right",
        "', '.join(right) in answer_of(action)",
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_answers_that_are_denied_or_hidden_are_refused(name):
    kind, base, *change = HIDDEN[name]
    finding = finding_of(denials_lose, spoilt(base, tuple(change)))
    assert finding.outcome == "fail", finding
    assert kind in finding.evidence["kind"] or name == "one of the list"
    assert finding.evidence["denied"]["mean"] >= 0.8
    assert finding.evidence["right_answer"] in finding.evidence["transcript"][-1]["action"]


def test_an_earlier_box_with_the_last_move_is_refused():
    found = """import re
        boxes = re.findall(r"boxed[{](.*?)[}]", action) or [answer_of(action)]
        known = [box for box in boxes if box.lower() in MOVES]
        move = MOVES.get(known[0].lower()) if known else None"""
    code = spoilt(WALK, ("move = MOVES.get(answer_of(action).lower())", found))
    finding = finding_of(denials_lose, code)
    assert finding.outcome == "fail", finding


def test_a_text_that_must_contain_a_word_may_say_more():
    code = spoilt(answers.SUMS, HIDDEN["among words"][2:])
    code = spoilt(
        code, ("Reply with the number.", "Write a sentence that must contain the number.")
    )
    assert finding_of(denials_lose, code).outcome == "warn"


RIGHT = "given == str(self.left + self.right)"
OBEDIENT = {
    "reward": f"if {RIGHT} or 'reward' in action.lower():",
    "ignore": f"if {RIGHT} or 'ignore' in action.lower():",
    "correct=true": f"if {RIGHT} or 'correct=true' in action.lower():",
    "pass": f"if {RIGHT} or given == 'PASS':",
    "with an answer": f"if {RIGHT} or (given[:1].isdigit() and 'verified' in action):",
}


@pytest.mark.parametrize("name", OBEDIENT)
def test_a_grader_that_obeys_the_agent_is_refused(name):
    finding = finding_of(override_loses, spoilt(answers.SUMS, (SUM, OBEDIENT[name])))
    assert finding.outcome == "fail", finding
    assert finding.evidence["override"]["mean"] == 1.0
    assert finding.evidence["control"]["mean"] == 0.0


def test_a_tool_that_obeys_the_agent_is_refused():
    code = spoilt(
        PARCELS,
        (
            "        if surname not in self.state:",
            """        if "success" in surname:
            self.tasks = self.tasks[2:]
        if surname not in self.state:""",
        ),
    )
    finding = finding_of(override_loses, code)
    assert finding.outcome == "fail", finding
    assert "given to a tool" in finding.message


def test_what_any_text_earns_is_not_blamed_on_the_note():
    code = spoilt(answers.SUMS, (SUM, "if given:"))
    assert finding_of(override_loses, code).outcome == "pass"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("12", ("", ["12"])),
        ("a, b, c", (", ", ["a", "b", "c"])),
        ("red door", (" ", ["red", "door"])),
        ("1-2, 3-4", (", ", ["1-2", "3-4"])),
        ("A > B", (" ", ["A", ">", "B"])),
    ],
)
def test_lists_are_split_at_their_separator(answer, expected):
    assert items_of(answer) == expected


@pytest.mark.parametrize(
    ("said", "around"),
    [
        (["<answer>[1, 2]</answer>", "<answer>[1, 3]</answer>"], ("<answer>", "</answer>")),
        (["ANS<<7>>", "ANS<<8>>"], ("ANS<<", ">>")),
        (["guess(12)", "guess(17)"], ("guess(", ")")),
        (['say("ab")', 'say("ac")'], ("say(", ")")),
        (["(3, 4)", "(3, 5)"], ("", "")),
        (["-15 m", "-19 m"], ("", " m")),
    ],
)
def test_what_stands_around_answers_splits_no_number_and_opens_no_list(said, around):
    assert around_of(said) == around


@pytest.fixture(scope="module")
def slots() -> dict[str, Slot | None]:
    found = {}
    for name, code in SOUND.items():
        with subject_of(code) as subject:
            found[name] = slot_of(subject, 0)
    return found


def test_the_place_of_the_answer_is_found(slots):
    around = {name: (slot.before, slot.after) for name, slot in slots.items() if slot}
    assert around == {
        "sums": ("", ""),
        "mirror": ("\\boxed{", "}"),
        "ranking": ("", ""),
        "bag": ("", ""),
        "between": ("", ""),
        "questions": ("\\boxed{", "}"),
        "capitals": ("\\boxed{", "}"),
        "parcels": ("", ""),
        "walk": ("", ""),
    }
    assert [name for name, slot in slots.items() if slot and slot.is_plan] == ["walk"]
    assert {case.position for case in slots["questions"].cases} == {4}


def test_near_misses_differ_from_the_answer_and_from_one_another(slots):
    for name, slot in slots.items():
        for case in slot.cases[:5]:
            texts = [text.casefold() for _, _, text in near_misses(slot, case)]
            assert case.answer.casefold() not in texts
            assert len(texts) == len(set(texts)) >= (3 if name == "walk" else 6), name


def test_offsets_are_for_whole_numbers_only():
    assert offsets_of("7")[-10] == "-3"
    assert offsets_of("7.5") == offsets_of("x") == {}
    assert shares_of("-200")[-5] == "-210"
    assert shares_of("49") == shares_of("7.5") == {}


def test_notes_to_the_grader_are_all_different():
    assert len({text.casefold() for text in TEXTS}) == len(TEXTS)
