"""The structure of every prompt: by mode, skill and what a brief shows."""

import ast
import inspect
import re
import string
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs import api
from spade_envs.design.brief import CHALLENGES, build_brief
from spade_envs.design.contract import contract_text
from spade_envs.design.length import PROMPT_TOKENS, count_tokens, estimate, fit, tokenizer_count
from spade_envs.design.modes import (
    DOMAINS,
    MODES,
    PARENTS,
    TASKS,
    choose_modes,
    mode_of_attempt,
    skills_of,
    tools_of_attempt,
)
from spade_envs.design.prompting import mode_of, read_prompt, render_prompt, system_prompt
from spade_envs.design.skills import CHALLENGE_TEXTS, SKILL_TEXTS, kind_of
from spade_envs.errors import ConfigError
from spade_envs.types import COGNITIVE_SKILLS, TOOL_SKILLS, Parent, Passage, Skill

PAIRS = [(mode, skill) for mode in MODES for skill in skills_of(mode)]
PARENT = Parent(code="class Old(TextEnv):\n    pass\n", facts=("won 9 of 10 plays",))
PASSAGE = Passage(text="Bees dance.", title="Bees", corpus="c", source="s")


def brief_of(mode, skill, **settings):
    settings.setdefault("parents", [PARENT] * PARENTS.get(mode, 0))
    if kind_of(skill) == "tool":
        settings = {"domain": "banking", "task": "missing-value", **settings}
    return build_brief(settings.pop("passage", PASSAGE), seed=0, skill=skill, mode=mode, **settings)


def template(name):
    text = files("spade_envs.design").joinpath("prompts", name).read_text()
    return re.sub(r"\$\w+", "", text).strip()[:60]


def longest(mode, skill):
    """A brief with all that a brief may hold, each as long as it may be."""
    return build_brief(
        Passage(text="a document about nothing " * 1500, title="T" * 200, corpus="c", source="s"),
        seed=0,
        skill=skill,
        challenge="medium",
        mode=mode,
        examples=["x = 1 + 2  # word\n" * 529] * 3,
        avoid=["avoid this " * 40] * 12,
        parents=[Parent(code="y = 3 * 4  # word\n" * 500, facts=("fact " * 40,) * 8)]
        * PARENTS.get(mode, 0),
        domain="shop-orders" if kind_of(skill) == "tool" else "",
        task="irrelevant-request" if kind_of(skill) == "tool" else "",
    )


@pytest.mark.parametrize(("mode", "skill"), PAIRS)
def test_every_prompt_has_its_parts_and_fits(mode, skill):
    brief = brief_of(mode, skill, examples=["class Good(TextEnv): ..."], avoid=["Bees again"])
    system, user = (message.content for message in render_prompt(brief))
    kind = kind_of(skill)
    assert (brief.kind, mode_of(brief)) == (kind, mode)

    # The contract shown is the code's, whole.
    assert system == system_prompt(kind)
    shown = system.split("# Contract\n\n")[1].split("\n\n# Rules\n")[0]
    assert shown == contract_text(kind)
    assert re.findall(r"^# (.*)$", system.split("```python")[0], re.M) == [
        *("Contract", "Rules", "An example that passes every check"),
    ]

    # The user's message: facts first, one of each, then the parts in order.
    fields = dict(re.findall(r"^(Skill|Kind|Challenge|Mode|Domain|Task): (.*)$", user, re.M))
    wanted = {"Skill": skill, "Kind": kind, "Challenge": "medium", "Mode": mode}
    if kind == "tool":
        wanted |= {"Domain": "banking", "Task": "missing-value"}
    assert fields == wanted
    parts = [SKILL_TEXTS[skill], CHALLENGE_TEXTS["medium"], "## The form"]
    parts += [template("modes/tool.md")] if kind == "tool" else []
    parts += [template(f"modes/{mode}.md")] if mode != "tool" else []
    parts += [template("tasks/missing-value.md")] if kind == "tool" else []
    many = PARENTS.get(mode, 0)
    parts += {0: [], 1: ["## Parent\n"], 2: ["## Parent 1\n", "## Parent 2\n"]}[many]
    parts += ["class Good(TextEnv)", "- Bees again", "Title: Bees\n<document>\nBees dance."]
    places = [user.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert user.count("won 9 of 10 plays") == many
    assert not string.Template(user).get_identifiers()

    # Read back, and short of the context by far.
    found = read_prompt(render_prompt(brief))
    assert (found.skill, found.kind, found.mode) == (skill, kind, mode)
    assert (found.domain, found.task) == (brief.domain, brief.task)
    assert found.passage.text == "Bees dance."
    assert 2300 < count_tokens(render_prompt(brief)) < 5500


@pytest.mark.parametrize(("mode", "skill"), PAIRS)
def test_the_longest_prompt_fits_and_keeps_its_parents(mode, skill):
    whole = longest(mode, skill)
    assert count_tokens(render_prompt(whole)) > PROMPT_TOKENS
    brief = fit(whole)
    taken = count_tokens(render_prompt(brief))
    assert PROMPT_TOKENS - 400 < taken <= PROMPT_TOKENS
    assert brief.parents == whole.parents
    assert brief.passage.text.endswith(" [...]")
    assert brief.examples == whole.examples[: len(brief.examples)]


def test_what_fits_is_left_alone_and_what_cannot_is_named():
    brief = brief_of("game", Skill.OPTIMIZATION)
    assert fit(brief) is brief
    with pytest.raises(ConfigError, match=r"--prompt-tokens\) or take shorter parents"):
        fit(brief, 500)


@settings(deadline=None, max_examples=40)
@given(
    words=st.integers(0, 6000),
    examples=st.lists(st.integers(0, 9000), max_size=3),
    tokens=st.integers(4600, 12_288),
    avoid=st.integers(0, 12),
)
def test_a_fitted_brief_fits(words, examples, tokens, avoid):
    brief = build_brief(
        Passage(text="wörter " * words, title="t", corpus="c", source="s"),
        seed=3,
        skill=Skill.DATA_RETRIEVAL,
        examples=["e" * length for length in examples],
        avoid=["line " * 60] * avoid,
    )
    found = fit(brief, tokens)
    assert count_tokens(render_prompt(found)) <= tokens
    assert found.passage is None or brief.passage.text.startswith(
        found.passage.text.removesuffix(" [...]")
    )
    assert fit(found, tokens) == found


def test_estimates_count_bytes_and_frames():
    assert [estimate(text) for text in ("", "abc", "abcd", "ä" * 3)] == [0, 1, 2, 2]
    messages = render_prompt(brief_of("game", Skill.OPTIMIZATION))
    assert count_tokens(messages, lambda text: 1) == 18


def test_tokens_are_counted_by_a_models_own_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, "?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert tokenizer_count(tmp_path)("a b b unknown") == 4
    for bad in ("", "[]", "{}", "3", "[" * 10_000):
        (tmp_path / "tokenizer.json").write_text(bad)
        with pytest.raises(ConfigError, match=r"tokenizer\.json"):
            tokenizer_count(tmp_path)
    with pytest.raises(ConfigError, match="nowhere"):
        tokenizer_count(tmp_path / "nowhere")


def test_the_contract_holds_every_public_name_that_it_tells_to_import():
    for kind in ("text", "tool"):
        text = contract_text(kind)
        told = text.split("\n")[0].split("import ")[1].rstrip("`.").split(", ")
        for name in told:
            doc = inspect.getdoc(getattr(api, name))
            assert re.sub(r"\s+", " ", doc) in re.sub(r"\s+", " ", text)
        assert all(f"{word} {name}" in text for name in told for word in [_kind(name)])


def _kind(name):
    return "class" if inspect.isclass(getattr(api, name)) else "def"


def test_modes_go_with_skills():
    assert skills_of("reasoning") == COGNITIVE_SKILLS
    assert skills_of("tool") == TOOL_SKILLS
    assert choose_modes(["tool", "mutate", "tool"], TOOL_SKILLS) == ("tool", "mutate")
    assert choose_modes([], TOOL_SKILLS) == ()
    with pytest.raises(ConfigError, match="known: game, reasoning"):
        choose_modes(["puzzle"], TOOL_SKILLS)
    with pytest.raises(ConfigError, match="mode game exercises none"):
        choose_modes(["game"], TOOL_SKILLS)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"mode": "tool", "skill": Skill.OPTIMIZATION}, "mode tool exercises"),
        ({"mode": "cross", "skill": Skill.OPTIMIZATION, "parents": [PARENT]}, "takes 2 parents"),
        ({"mode": "game", "skill": Skill.OPTIMIZATION, "parents": [PARENT]}, "takes 0 parents"),
        ({"skill": Skill.OPTIMIZATION, "domain": "banking"}, "no domain and no task"),
        ({"skill": Skill.TOOL_SELECTION, "domain": "moon"}, "known: shop-orders"),
        ({"skill": Skill.TOOL_SELECTION, "task": "moon"}, "known: execute"),
    ],
)
def test_parts_of_a_brief_that_clash_are_refused(settings, match):
    with pytest.raises(ConfigError, match=match):
        build_brief(None, seed=0, **settings)


def test_rotations_are_even():
    modes = ("game", "tool", "mutate")
    found = [mode_of_attempt(4, attempt, modes) for attempt in range(30)]
    assert all([mode for mode, _ in found].count(mode) == 10 for mode in modes)
    assert [round_ for _, round_ in found] == [n // 3 for n in range(30)]
    pairs = [tools_of_attempt(4, attempt) for attempt in range(70)]
    assert {name: [d for d, _ in pairs].count(name) for name in DOMAINS} == dict.fromkeys(
        DOMAINS, 7
    )
    assert {name: [t for _, t in pairs].count(name) for name in TASKS} == {
        name: 10 * weight for name, weight in TASKS.items()
    }


def test_templates_stand_alone():
    folder = files("spade_envs.design").joinpath("prompts")
    assert {f.name for f in folder.joinpath("modes").iterdir()} == {f"{m}.md" for m in MODES}
    assert {f.name for f in folder.joinpath("tasks").iterdir()} == {f"{t}.md" for t in TASKS}
    assert {len(CHALLENGES), len(DOMAINS)} == {3, 10}


def test_parents_may_hold_anything():
    nasty = "Title: x\n<document>\nno\n</document>\n```\n$skill {0}\nSkill: optimization"
    brief = brief_of("mutate", Skill.LOGICAL_DEDUCTION, parents=[Parent(code=nasty, facts=("{}",))])
    user = render_prompt(brief)[1].content
    assert nasty in user
    assert read_prompt(render_prompt(brief)).skill == Skill.LOGICAL_DEDUCTION
    assert ast.parse(brief_of("mutate", Skill.LOGICAL_DEDUCTION).parents[0].code)
