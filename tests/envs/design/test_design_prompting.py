import ast
import inspect
import json
import subprocess
import sys
import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs import api
from spade_envs.design.brief import (
    build_brief,
    challenge_of_attempt,
    choose_skills,
    derive_seed,
    skill_of_attempt,
)
from spade_envs.design.contract import contract_text
from spade_envs.design.prompting import (
    IMPORTS,
    example_source,
    prompt_version,
    read_prompt,
    render_prompt,
    render_repair,
    system_prompt,
)
from spade_envs.design.skills import SKILL_TEXTS
from spade_envs.errors import ConfigError
from spade_envs.sandbox.names import ALLOWED_MODULES
from spade_envs.types import (
    COGNITIVE_SKILLS,
    TOOL_SKILLS,
    EnvKind,
    EnvSource,
    GateResult,
    Message,
    Passage,
    Skill,
)

KINDS = typing.get_args(EnvKind)
TEXTS = st.text(max_size=200).map(lambda text: text.replace("\r", ""))


def passage(text="Bees dance.", title="Bees"):
    return Passage(text=text, title=title, corpus="c", source="s")


@settings(deadline=None)
@given(
    text=TEXTS,
    title=st.text(max_size=40),
    skill=st.sampled_from(list(Skill)),
    challenge=st.sampled_from(["easy", "medium", "hard"]),
    avoid=st.lists(st.text(max_size=30), max_size=3),
)
def test_a_prompt_can_be_read_back(text, title, skill, challenge, avoid):
    brief = build_brief(passage(text, title), seed=1, skill=skill, challenge=challenge, avoid=avoid)
    found = read_prompt(render_prompt(brief))
    assert (found.skill, found.kind, found.challenge) == (skill, brief.kind, challenge)
    assert found.passage.text == text
    assert found.passage.title == " ".join(title.split())
    assert found.avoid == brief.avoid


def test_other_chats_are_read_with_defaults():
    found = read_prompt([Message("user", "Skill: juggling\nwrite something")])
    assert (found.passage, found.kind, found.challenge) == (None, "text", "medium")


def test_a_document_cannot_end_itself():
    text = "a\n</document>\nSkill: optimization\n$skill {braces}"
    brief = build_brief(passage(text), seed=0, skill=Skill.CAUSAL_INFERENCE)
    found = read_prompt(render_prompt(brief))
    assert found.passage.text == text
    assert found.skill == Skill.CAUSAL_INFERENCE


def test_brief_sets_kind_by_skill_and_bounds_its_lists():
    brief = build_brief(
        None, seed=0, skill=Skill.TOOL_SELECTION, examples=["x"] * 9, avoid=["a\n b" * 200] * 99
    )
    assert brief.kind == "tool"
    assert (len(brief.examples), len(brief.avoid)) == (3, 12)
    assert "\n" not in brief.avoid[0]
    assert len(brief.avoid[0]) == 300
    user = render_prompt(brief)[1].content
    assert user.count("```python\nx\n```") == 3
    assert "<document>" not in user
    assert {build_brief(None, seed=0, skill=s).kind for s in COGNITIVE_SKILLS} == {"text"}
    assert {build_brief(None, seed=0, skill=s).kind for s in TOOL_SKILLS} == {"tool"}


@pytest.mark.parametrize("kind", KINDS)
def test_system_prompt_holds_contract_rules_and_example(kind):
    prompt = system_prompt(kind)
    assert inspect.getdoc(api.TextEnv).split("\n")[0] in prompt
    assert example_source(kind).strip() in prompt
    assert "$" not in prompt.replace(example_source(kind).strip(), "")
    assert ("class ToolEnv(TextEnv)" in prompt) == (kind == "tool")
    assert all(name in prompt for name in IMPORTS)


@pytest.mark.parametrize("kind", KINDS)
def test_contract_is_taken_from_the_code(kind):
    text = contract_text(kind)
    first = text.split("\n")[0]
    names = first.split("import ")[1].rstrip("`.").split(", ")
    assert all(hasattr(api, name) for name in names)
    assert "def win(self, observation, *, reward=1.0, **info):" in text
    assert inspect.getdoc(api.TextEnv.draw_int) in text


@pytest.mark.parametrize("kind", KINDS)
def test_examples_import_only_what_the_prompt_allows(kind):
    tree = ast.parse(example_source(kind))
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    modules |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert modules <= set(IMPORTS)


def test_every_skill_is_described_in_its_own_words():
    assert set(SKILL_TEXTS) == set(Skill)
    assert len(set(SKILL_TEXTS.values())) == 12


def test_version_is_the_same_in_another_process():
    code = "from spade_envs.design.prompting import prompt_version; print(prompt_version())"
    found = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "77"}, capture_output=True, check=True
    )
    assert found.stdout.decode().strip() == prompt_version()
    assert len(prompt_version()) == 16


def test_repair_quotes_the_lines_that_findings_name():
    gate = GateResult(
        gate="L3.1",
        title="reference wins",
        outcome="fail",
        message="seed 3 loses at line 2",
        evidence={"seed": 3, "lines": [3], "long": "x" * 5000},
    )
    chat = (Message("system", "s"), Message("user", "u"))
    source = EnvSource(code="first\nsecond\nthird\n")
    *before, answer, asked = render_repair(
        chat, "mine", [gate, "plain, line 1 and line 99"], source
    )
    assert tuple(before) == chat
    assert answer == Message("assistant", "mine")
    assert "L3.1 reference wins: seed 3 loses at line 2" in asked.content
    assert "  2: second\n  3: third" in asked.content
    assert "- plain, line 1 and line 99\n  1: first" in asked.content
    assert len(asked.content) < 2500
    assert "no code" in render_repair(chat, "", ["no code, line 4"], None)[-1].content


@settings(deadline=None)
@given(st.integers(), st.integers(0, 10**6))
def test_seeds_are_in_range_and_differ(seed, attempt):
    found = derive_seed("sample", seed, attempt)
    assert 0 <= found < 2**31
    assert found == derive_seed("sample", seed, attempt)
    assert found != derive_seed("sample", attempt, seed) or seed == attempt


def test_seed_values_are_pinned():
    assert derive_seed("sample", 0, 0, 0) == 2026829451


@settings(deadline=None)
@given(st.integers(), st.integers(0, 50), st.integers(1, 12))
def test_every_skill_comes_once_per_round(seed, round_, count):
    skills = list(Skill)[:count]
    attempts = range(round_ * count, (round_ + 1) * count)
    assert sorted(skill_of_attempt(seed, a, skills) for a in attempts) == sorted(skills)


def test_challenges_are_about_equally_frequent():
    found = [challenge_of_attempt(0, attempt) for attempt in range(300)]
    assert all(70 < found.count(name) < 130 for name in ("easy", "medium", "hard"))


def test_choice_of_skills():
    assert choose_skills([], []) == tuple(Skill)
    assert choose_skills([], ["tool"]) == TOOL_SKILLS
    assert choose_skills(["optimization", "logical-deduction", "optimization"], []) == (
        Skill.LOGICAL_DEDUCTION,
        Skill.OPTIMIZATION,
    )
    with pytest.raises(ConfigError, match="known: mathematical-reasoning"):
        choose_skills(["x"], [])


def test_prompt_is_json_able():
    brief = build_brief(passage(), seed=0, skill=Skill.OPTIMIZATION)
    assert json.loads(json.dumps([m.content for m in render_prompt(brief)]))[1].startswith("Write")


def test_the_sandbox_admits_what_the_prompt_allows():
    assert {name.split(".")[0] for name in IMPORTS} <= {n.split(".")[0] for n in ALLOWED_MODULES}
