"""Conditions: from a passage to skill, topics and words, and from there to a family."""

import subprocess
import sys
from collections import Counter

from spade_envs.types import COGNITIVE_SKILLS, Skill
from spade_train.nano.families import Draw
from spade_train.nano.programs import (
    choose_family,
    condition_of,
    draw_condition,
    family_of,
    write_program,
)
from spade_train.nano.topics import TOPICS, singular, telling_words, topics_of

LISTS = (
    "A list holds items. The slice of a list is a list; each sequence has a length and an index."
)
RIVERS = "The river fills a reservoir. Every turbine below the reservoir drives one pump."


def test_telling_words_are_the_nouns_of_the_passage():
    assert telling_words(LISTS)[0] == "list"
    assert set(telling_words(RIVERS)) <= {"river", "reservoir", "turbine", "pump"}
    assert telling_words("") == []
    first, second = telling_words(RIVERS)[:2]
    told = telling_words(RIVERS, 9, avoid=[f"Some {first.title()}s: Count them (there already)"])
    assert (told[0], told[-1]) == (second, first)  # last, but not lost


def test_topics_are_those_of_the_words():
    assert topics_of(LISTS)[0] == "lists"
    assert topics_of("An exception has a traceback; the handler gets the exception.")[0] == "errors"
    assert len(topics_of("")) == 2


def test_singular():
    assert [singular(word) for word in ("entries", "class", "classes", "lists", "axis")] == [
        "entry",
        "class",
        "class",
        "list",
        "axis",
    ]


def test_a_condition_is_one_short_line():
    line = condition_of(Skill.OPTIMIZATION, "text", "hard", LISTS).line()
    assert line.startswith("optimization text hard lists ")
    assert line.split(": ")[1].split() == telling_words(LISTS)
    assert "\n" not in line


def test_conditions_and_programs_are_functions_of_their_seed():
    first, second = (draw_condition(Draw("a"), [LISTS]) for _ in range(2))
    assert first == second
    assert write_program(Draw("b"), first) == write_program(Draw("b"), second)


def test_the_family_exercises_the_skill():
    for skill in Skill:
        kind = "text" if skill in COGNITIVE_SKILLS else "tool"
        condition = condition_of(skill, kind, "easy", LISTS)
        for seed in range(5):
            family = choose_family(Draw(seed), condition)
            assert skill in family.skills
            assert family.kind == kind


def test_the_topic_moves_the_family():
    counts = {}
    for topic in ("lists", "strings"):
        passage = " ".join(TOPICS[topic])
        condition = condition_of(Skill.PATTERN_RECOGNITION, "text", "easy", passage)
        drawn = (choose_family(Draw(seed), condition).name for seed in range(300))
        counts[topic] = Counter(drawn)
    assert counts["lists"]["words"] > 0
    assert counts["strings"]["series"] < counts["strings"]["words"]


def test_one_passage_gives_several_families():
    condition = condition_of(Skill.MATHEMATICAL_REASONING, "text", "easy", LISTS)
    assert len({write_program(Draw(seed), condition).family for seed in range(40)}) >= 3


def test_an_unknown_program_has_no_family():
    assert family_of("x = 1") is None


def test_the_generator_needs_no_torch():
    code = "import sys, spade_train.nano.programs, spade_train.cli; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
