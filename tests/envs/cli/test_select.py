"""`select` from the outside: ids, figures, pools and exit codes."""

import json
import tomllib

import pytest
from click.testing import CliRunner

from envs.memory.kit_memory import add_about
from spade_envs.cli.main import cli
from spade_envs.errors import ConfigError
from spade_envs.store import open_store
from spade_envs.store.plays import Plays, PlayWriter


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("select") / "my store", create=True)
    boat = add_about(store, "Plan a ferry timetable", name="boat", skills=("optimization",))
    oven = add_about(store, "Fire clay pots", name="oven", skills=("causal-inference",))
    add_about(store, "Count sheep", name="sheep", skills=("optimization",))
    PlayWriter(store.root).append(
        [
            Plays(
                digest=digest,
                policy="m",
                level=0,
                plays=40,
                successes=won,
                hinted=40,
                hinted_successes=36,
                pairs=40,
                both=won,
            )
            for digest, won in ((boat.digest, 20), (oven.digest, 36))
        ]
    )
    return store.root


def run(place, *arguments):
    return CliRunner().invoke(cli, ["select", "--store", str(place), *map(str, arguments)])


def test_ids_alone_go_to_stdout(place):
    done = run(place, "--success", "0.2..0.8", "--regret", ">0.1", "--min-plays", 20)
    assert (done.exit_code, done.stdout) == (0, "spade/boat-v0\n")
    assert "1 of 3 environments" in done.stderr


def test_json_says_the_figures_and_which_hint_the_regret_used(place):
    done = run(place, "--success", "0.2..0.95", "--json")
    boat, oven = json.loads(done.stdout)
    assert (boat["id"], boat["success"], boat["plays"]) == ("spade/boat-v0", 0.5, 40)
    assert boat["regret"] == pytest.approx(0.4)
    assert boat["regret_interval"][0] < 0.4 < boat["regret_interval"][1]
    assert (boat["hints"], oven["regret"]) == (["instance"], 0.0)
    other = json.loads(run(place, "--hint", "strategy", "--json").stdout)
    assert [each["regret"] for each in other] == [None, None]


def test_a_table_has_intervals(place):
    text = run(place, "--table").stdout
    assert "0.50" in text
    assert "+0.40" in text


def test_a_pool_is_written_for_training(place, tmp_path):
    listed, settings = tmp_path / "pool.txt", tmp_path / "pool.toml"
    for path in (listed, settings):
        done = run(place, "--regret", ">0.1", "--out", path)
        assert (done.exit_code, done.stdout) == (0, "")
    head, *ids = listed.read_text(encoding="utf-8").splitlines()
    assert head.startswith("# 1 environment chosen by spade-envs select: regret >0.1")
    assert ids == ["spade/boat-v0"]
    written = tomllib.loads(settings.read_text(encoding="utf-8"))
    assert written == {"overlays": ["fixed-pool"], "pool": {"source": str(place), "ids": ids}}
    assert "spade-train presets" in settings.read_text(encoding="utf-8")


def test_nothing_found_is_told_by_the_exit_code_and_writes_nothing(place, tmp_path):
    done = run(place, "--success", "0.2..0.3", "--out", tmp_path / "pool.txt")
    assert done.exit_code == 1
    assert "0 of 3 environments" in done.stderr
    assert not (tmp_path / "pool.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (("--success", "high"), "such as 0.2..0.8"),
        (("--levels", "a"), "0,2 or 1..3"),
        (("--out", "pool.yaml"), ".txt or .toml"),
        (("--out", "/no/such/pool.txt"), "a folder that exists"),
    ],
)
def test_wrong_usage_names_the_mend(place, arguments, mend):
    done = run(place, *arguments)
    assert done.exit_code == 2
    assert mend in done.stderr


def test_an_unknown_skill_names_the_known_ones(place):
    done = run(place, "--skills", "optimisation")
    assert isinstance(done.exception, ConfigError)
    assert "it has causal-inference, optimization" in str(done.exception)


def test_a_store_that_nobody_played_leads_to_calibrate(tmp_path):
    store = open_store(tmp_path / "new store", create=True)
    add_about(store, "Count sheep", name="sheep")
    done = run(store.root, "--success", "0.2..0.8")
    assert (done.exit_code, done.stdout) == (1, "")
    mend = f"spade-envs calibrate --all --store '{store.root}' --model ..."
    assert f"nothing was played yet; measure first: {mend}" in done.stderr
    lock = ["lock", "--success", "0.2..0.8", "--store", str(store.root), "--out", "no.lock"]
    refused = CliRunner().invoke(cli, lock).exception
    assert isinstance(refused, ConfigError)
    assert "yet; see spade-envs calibrate" in str(refused)


def test_what_was_played_is_not_called_unplayed(place):
    assert "nothing was played" not in run(place, "--success", "0.2..0.3").stderr
