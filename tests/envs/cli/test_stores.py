"""A store that is not there is called so by every command that reads one."""

import pytest

from envs.cli.kit import run


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("show", "maze"),
        ("stats",),
        ("lock",),
        ("card",),
        ("gc",),
        ("reindex",),
        ("runs",),
        ("brief", "--corpus", "none", "--memory"),
        ("check", "spade/maze-v0"),
    ],
    ids=lambda command: command[0],
)
def test_a_folder_that_is_not_there_is_called_so(tmp_path, command):
    code, _, told = run(*command, "--store", "nostore", cwd=tmp_path)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert "nostore is not an envstore: there is no such folder" in told


def test_a_folder_that_is_no_store_lacks_its_marker(tmp_path):
    (tmp_path / "other").mkdir()
    code, _, told = run("list", "--store", "other", cwd=tmp_path)
    assert (code, "it has no ENVSTORE.json" in told) == (2, True)


def test_a_name_as_pull_takes_it_is_told_as_an_id(tmp_path):
    for ref, env_id in (
        ("alice/dial", "spade/alice.dial"),
        ("alice/dial@3", "spade/alice.dial-v3"),
    ):
        code, _, told = run("play", ref, cwd=tmp_path)
        assert (code, f"write it like '{env_id}'" in told) == (2, True)


def test_a_variable_that_names_no_store_ends_no_command(tmp_path, monkeypatch):
    (tmp_path / "loop").symlink_to("loop")
    for name in ("mispelt", "loop"):
        monkeypatch.setenv("SPADE_ENVSTORE", str(tmp_path / name))
        assert run("list", cwd=tmp_path)[0] == 0  # `import spade_envs` has told it already
    for command in (["trust", "check"], ["sign", "--key", __file__], ["doctor"], ["migrate"]):
        code, _, told = run(*command, cwd=tmp_path)
        assert (code, "Traceback" in told) in ((2, False), (3, False), (0, False))
    monkeypatch.setenv("SPADE_ENVSTORE", "~nobody-of-that-name/x")
    assert run("list", cwd=tmp_path)[0] == 0


def test_an_empty_name_of_a_store_is_not_the_folder_one_is_in(tmp_path):
    for command in (["list"], ["pull", "elsewhere"], ["add", "x.py"]):
        code, _, told = run(*command, "--store", "", cwd=tmp_path)
        assert (code, "it is empty; name a folder" in told) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_the_home_of_nobody_is_not_made_here(tmp_path, monkeypatch):
    for store in ("~nobody-of-that-name/x", None):
        if store is None:
            monkeypatch.setenv("SPADE_ENVSTORE", "~nobody-of-that-name/x")
        place = ["--store", store] if store else []
        for command in (["pull", str(tmp_path)], ["add", __file__]):
            code, _, told = run(*command, *place, cwd=tmp_path)
            assert (code, "there is no user of that name; write ./~nobody" in told) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_skill_to_label_with_is_not_looked_for(tmp_path):
    code, _, told = run("add", __file__, "--skill", "maths", "--store", tmp_path / "new")
    assert (code, "unknown skill 'maths'; known: mathematical-reasoning, " in told) == (2, True)
