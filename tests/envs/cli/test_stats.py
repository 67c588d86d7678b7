"""`spade-envs stats`: counts, JSON and a page, of a store that was played."""

import json

from click.testing import CliRunner

from envs.memory.kit_memory import add_about
from spade_envs.cli.main import cli
from spade_envs.store import open_store
from spade_envs.store.plays import Plays, PlayWriter


def run(*words):
    return CliRunner().invoke(cli, ["stats", *map(str, words)])


def made(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    first = add_about(store, "ships wait in a harbour", name="ships")
    add_about(store, "a kiln is fired twice", name="kiln")
    line = Plays(digest=first.digest, policy="m", level=1, plays=4, successes=1)
    PlayWriter(store.root).append([line])
    return store


def test_the_figures_of_a_store_as_table_json_and_page(tmp_path):
    store = made(tmp_path)
    shown = run("--store", store.root)
    assert (shown.exit_code, "2 environments" in shown.stderr) == (0, True)
    assert "m at level 1" in shown.stdout
    found = json.loads(run("--store", store.root, "--json").stdout)
    assert found["environments"] == 2
    assert found["kinds"] == {"text": 2}
    assert found["families"]["count"] == 1  # the same program about other things
    assert found["plays"]["curves"][0]["success"]["1"][0] == 0.25
    assert 1 < found["diversity"]["vendi"] <= 2
    page = tmp_path / "stats.html"
    assert run("--store", store.root, "--html", page).exit_code == 0
    assert "Vendi score" in page.read_text()


def test_bad_input_is_one_error(tmp_path):
    store = made(tmp_path)
    refused = run("--store", store.root, "--html", tmp_path / "stats.txt")
    assert (refused.exit_code, "let the name end in .html" in refused.stderr) == (2, True)
    unknown = run("--store", store.root, "--embedder", "nope")
    assert "no embedder 'nope'" in str(unknown.exception)
    missing = run("--store", tmp_path / "nowhere")
    assert "is not an envstore" in str(missing.exception)
