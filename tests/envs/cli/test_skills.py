"""A misspelt skill is refused wherever one is named, with the skills there are."""

import pytest

from envs.cli.kit import run
from envs.memory.kit_memory import add_about
from spade_envs.store import open_store
from spade_envs.types import Skill


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    opened = open_store(tmp_path_factory.mktemp("skills") / "store", create=True)
    add_about(opened, "Plan a ferry timetable", name="boat", skills=("optimization",))
    add_about(opened, "Fire clay pots", name="oven", skills=("pottery",))
    return opened.root


@pytest.mark.parametrize(
    "command",
    [
        ("list", "--skill"),
        ("search", "ferries", "--skill"),
        ("similar", "boat", "--skill"),
        ("select", "--skills"),
        ("lock", "--skill"),
        ("push", "remote", "--skill"),
        ("card", "--skills"),
        ("export", "--out", "pool", "--skills"),
        ("pack", "--name", "our-envs", "--out", "package", "--no-wheel", "--skills"),
    ],
    ids=lambda command: command[0],
)
def test_a_misspelt_skill_is_refused_with_those_there_are(store, tmp_path, command):
    code, out, told = run(*command, "optimisation", "--store", store, cwd=tmp_path)
    assert (code, out, list(tmp_path.iterdir())) == (2, "", [])
    assert "has the skill 'optimisation'; it has optimization, pottery; known: " in told
    assert all(skill in told for skill in Skill)


def test_known_skills_and_those_of_the_store_are_taken(store):
    for skill, count in (("pottery", 1), ("optimization", 1), ("causal-inference", 0)):
        code, _, told = run("list", "--skill", skill, "--store", store)
        assert (code, told.split()[0]) == (0, str(count))


def test_add_registers_nothing_under_a_misspelt_skill(tmp_path):
    (tmp_path / "maze.py").write_text("never run\n", encoding="utf-8")
    code, _, told = run("add", "maze.py", "--skill", "nonsense", "--store", "new", cwd=tmp_path)
    assert code == 2
    assert "unknown skill 'nonsense'; known: mathematical-reasoning, " in told
    assert not (tmp_path / "new").exists()


def test_pull_refuses_a_misspelt_skill_and_takes_those_of_the_remote(store, tmp_path):
    code, _, told = run("pull", store, "--skill", "optimisation", "--store", "new", cwd=tmp_path)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert (
        f"no environment of those asked for at {store} has the skill 'optimisation'; known: "
        in told
    )
    for skill, there in (("pottery", "1 new"), ("causal-inference", "nothing there")):
        asked = ("pull", store, "--skill", skill, "--store", "new", "--dry-run")
        code, _, told = run(*asked, cwd=tmp_path)
        assert (code, there in told) == (0, True)
