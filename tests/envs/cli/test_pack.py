"""`pack`, `card`, `export`, `migrate` from the outside: what they print, their exit codes."""

import json
import sys

import pytest
from click.testing import CliRunner

from envs.store.kit import add
from spade_envs.cli.main import cli, exit_code
from spade_envs.errors import ConfigError, MissingExtra, NotFound, SpadeError
from spade_envs.packing import CARD_MARK, wheel
from spade_envs.store import open_store


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze", skills=("optimization",))
    add(opened, 1, name="ships", skills=("spatial-reasoning",))
    return opened


def run(*arguments):
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    ours = isinstance(done.exception, SpadeError)  # `main` makes these an exit code
    code = exit_code(done.exception) if ours else done.exit_code
    return code, done.stdout, done.stderr or str(done.exception)


def test_pack_prints_the_wheel_and_how_to_make_the_first(store, tmp_path):
    code, out, talk = run("pack", "--name", "our-envs", "--version", "1.2", "--store", store.root,
                          "--out", tmp_path / "p")  # fmt: skip
    assert (code, out.strip()) == (0, str(tmp_path / "p/dist/our_envs-1.2-py3-none-any.whl"))
    assert "2 environments, licence MIT" in talk
    assert 'gym.make("our_envs:our-envs/maze-v0")' in talk
    code, out, _ = run("pack", "ships", "--name", "our-envs", "--no-wheel", "--json",
                       "--store", store.root, "--out", tmp_path / "q")  # fmt: skip
    assert (code, json.loads(out)["ids"], json.loads(out)["wheel"]) == (
        0,
        ["our-envs/ships-v0"],
        None,
    )


def test_what_cannot_be_packed_is_said_in_one_line_and_nothing_is_written(
    store, tmp_path, monkeypatch
):
    common = ("--name", "our-envs", "--store", store.root, "--out", tmp_path / "p")
    assert run("pack", "labyrinth", *common)[0] == exit_code(NotFound(""))
    assert run("pack", "--name", "json", "--store", store.root, "--out", tmp_path / "p")[0] == 2
    assert run("pack", "--skills", "no-such-skill", *common)[0] == 2
    code, _, told = run("pack", "--success", "0.2..0.8", *common)
    assert (code, "nothing was played there yet; see spade-envs calibrate" in told) == (2, True)
    monkeypatch.setitem(sys.modules, "hatchling.builders.wheel", None)
    with pytest.raises(MissingExtra, match=r"spade-envs\[pack\]"):
        wheel.build_wheel(tmp_path, tmp_path)
    assert run("pack", *common)[0] == exit_code(MissingExtra("hatchling", "pack")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_ids_of_select_may_come_from_a_file(store, tmp_path):
    pool = tmp_path / "pool.txt"
    pool.write_text("# 1 environments chosen\nspade/ships-v0\n\n")
    code, out, _ = run("export", "--ids", pool, "--json", "--store", store.root,
                       "--out", tmp_path / "p")  # fmt: skip
    assert (code, [row["id"] for row in json.loads(out)]) == (0, ["spade/ships-v0"])
    pool.write_text("# none\n")
    code, _, talk = run("export", "--ids", pool, "--store", store.root, "--out", tmp_path / "q")
    assert (code, "there is no id in it" in talk) == (2, True)
    code, out, talk = run("export", "--skills", "optimization", "--store", store.root,
                          "--layout", "spade-pool", "--out", tmp_path / "r")  # fmt: skip
    assert (code, out.strip()) == (0, str(tmp_path / "r"))
    assert "1 environment in the layout spade-pool" in talk


def test_a_card_is_printed_or_written_and_no_strangers_file_is_lost(store, tmp_path):
    code, out, _ = run("card", "--store", store.root, "--title", "Ours")
    assert (code, out.startswith('---\npretty_name: "Ours"\n')) == (0, True)
    target = store.root / "README.md"
    assert run("card", "--store", store.root, "--format", "git", "--out", target)[0] == 0
    assert target.read_text().startswith(CARD_MARK)
    assert store.verify() == []
    assert run("card", "--store", store.root, "--out", target)[0] == 0
    assert target.read_text().startswith("---\n")
    target.write_text("mine")
    code, _, talk = run("card", "--store", store.root, "--out", target)
    assert (code, "--force replaces it" in talk, target.read_text()) == (2, True, "mine")
    assert run("card", "--store", store.root, "--out", target, "--force")[0] == 0
    assert CARD_MARK in target.read_text()
    (tmp_path / "link.md").symlink_to(target)
    for out_file in (tmp_path / "link.md", tmp_path / "x" / "y.md", tmp_path / "x.txt"):
        assert run("card", "--store", store.root, "--out", out_file)[0] == 2
    code, out, _ = run("card", "maze", "--store", store.root, "--json")
    assert [row[0] for row in json.loads(out)["rows"]] == ["spade/maze-v0"]


def test_migrate_has_nothing_to_do_on_this_format(store, tmp_path):
    code, out, _ = run("migrate", "--store", store.root)
    assert (code, out) == (0, f"{store.root} has format 1: nothing to do\n")
    code, out, _ = run("migrate", "--dry-run", "--json", "--store", store.root)
    assert (code, json.loads(out)["versions"], json.loads(out)["before"]) == (0, 0, 1)
    assert run("migrate", "--store", tmp_path / "nowhere")[0] == exit_code(ConfigError("")) == 2
    (store.root / "ENVSTORE.json").write_text('{"format": 2}')
    code, _, talk = run("migrate", "--store", store.root)
    assert (code, "has format 2; this release reads up to 1" in talk) == (3, True)
