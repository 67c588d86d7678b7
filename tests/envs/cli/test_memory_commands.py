"""`search`, `similar`, `map` and `reindex --embedder`, from the outside."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from envs.cli.kit import run
from envs.design.any_server import JSON, drip, sending
from envs.memory.kit_memory import add_about, source_about
from spade_envs.store import open_store, starter_path
from spade_envs.store.plays import Plays, PlayWriter


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("memory") / "my store", create=True)
    texts = {
        "boat": "Plan a ferry timetable for islands",
        "rail": "Plan a railway timetable for towns",
        "oven": "Fire clay pots in a kiln",
    }
    for name, text in texts.items():
        skill = "optimization" if name != "oven" else "causal-inference"
        record = add_about(store, text, name=name, skills=(skill,))
    line = Plays(digest=record.digest, plays=4, successes=1, returns=1.0)
    PlayWriter(store.root).append([line])
    return store.root


def ids(text):
    return [row["id"] for row in json.loads(text)]


def test_search_gives_an_array_of_what_there_is_best_first(place):
    code, out, _ = run("search", "a kiln for clay", "-k", 5, "--store", place, "--json")
    assert (code, len(ids(out)), ids(out)[0]) == (0, 3, "spade/oven-v0")
    best = json.loads(out)[0]
    assert best["similarity"] > 0.3
    assert (best["plays"], best["success"], best["regret"]) == (4, 0.25, None)

    code, out, err = run("search", "ferry", "-k", 1, "--store", place)
    assert (code, "1 of 3 environments, hashed" in err) == (0, True)
    assert "spade/boat-v0" in out
    assert "spade/rail-v0" not in out
    assert "1 of 4" in run("search", "kiln", "--store", place)[1]


def test_only_a_skill_can_be_searched_and_nothing_is_no_error(place):
    wanted = ("--skill", "optimization", "--store", place, "--json")
    code, out, _ = run("search", "timetable", *wanted)
    assert (code, sorted(ids(out))) == (0, ["spade/boat-v0", "spade/rail-v0"])
    assert run("search", "?", "--store", place, "--json")[:2] == (0, "[]\n")


def test_similar_takes_ids_and_files_and_leaves_itself_out(place, tmp_path):
    code, out, _ = run("similar", "boat", "-k", 5, "--store", place, "--json")
    assert (code, ids(out)[0], len(ids(out))) == (0, "spade/rail-v0", 2)
    file = tmp_path / "pots.py"
    file.write_text(source_about("Glaze clay pots").code)
    assert ids(run("similar", file, "-k", 1, "--store", place, "--json")[1]) == ["spade/oven-v0"]
    code, _, err = run("similar", "ship", "--store", place)
    assert (code, "no environment 'ship'" in err) == (2, True)


def test_the_map_is_a_table_json_or_a_page(place, tmp_path):
    code, out, _ = run("map", "--store", place)
    assert (code, out.count("spade/boat-v0")) == (0, 3)  # itself, and as the nearest of two
    found = json.loads(run("map", "--store", place, "--json")[1])
    assert [point["id"] for point in found["points"]] == [
        f"spade/{name}-v0" for name in ("boat", "oven", "rail")
    ]
    assert found["points"][0]["nearest"] == "spade/rail-v0"
    page = tmp_path / "map.html"
    code, out, err = run("map", "--html", page, "--store", place)
    assert (code, out) == (0, "")
    assert f"page: {page}" in err
    assert 'class="map"' in page.read_text()
    assert run("map", "--html", tmp_path / "map.txt", "--store", place)[0] == 2
    assert run("map", "--html", tmp_path / "none" / "map.html", "--store", place)[0] == 2


def test_another_embedder_is_refused_with_a_command_that_mends_it(tmp_path):
    store = open_store(tmp_path / "a store", create=True)
    add_about(store, "Fire clay pots in a kiln", name="oven")
    assert run("search", "kiln", "--store", store.root)[0] == 0
    code, out, err = run("search", "kiln", "--embedder", "hashed:64", "--store", store.root)
    assert (code, out) == (2, "")
    mend = f"spade-envs reindex --embedder hashed:64 --store '{store.root}'"
    assert mend in err
    code, out, _ = run("reindex", "--embedder", "hashed:64", "--store", store.root)
    assert (code, "1 environment remembered with hashed" in out) == (0, True)
    assert "64 dimensions" in run("search", "kiln", "--store", store.root)[2]
    code, _, err = run("search", "kiln", "--embedder", "bert", "--store", store.root)
    assert (code, "no embedder 'bert'" in err) == (2, True)
    assert run("search", "kiln", "-k", 0, "--store", store.root)[0] == 2


def test_a_misspelt_embedder_is_told_before_anything_is_indexed(tmp_path):
    store = open_store(tmp_path / "s", create=True)
    add_about(store, "Fire clay pots in a kiln", name="oven")
    index = store.root / "index.jsonl"
    index.write_bytes(b"")
    code, out, err = run("reindex", "--embedder", "hashed:x", "--store", store.root)
    assert (code, out, index.read_bytes()) == (2, "", b"")
    assert "hashed:x" in err
    assert run("reindex", "--embedder", "hashed:64", "--store", store.root)[0] == 0
    assert index.read_bytes()


def test_every_known_store_is_searched(place):
    starter = starter_path()
    code, out, _ = run("search", "railway timetable", "-k", 100, "--json", SPADE_ENVSTORE=place)
    assert code == 0
    assert ids(out)[0] == "spade/rail-v0"
    assert len(ids(out)) == 3 + 24
    assert not (starter / ".cache" / "memory").exists()


class OneVector:
    """Answers the first request with a vector and the others with silence."""

    def __init__(self):
        self.silent = threading.Event()
        self.answered = False

    def __iter__(self):
        if not self.answered:
            self.answered = True
            yield b'{"data": [{"index": 0, "embedding": [1.0, 0.0]}]}'
            return
        self.silent.set()
        yield from drip(b" ")


def test_an_interrupt_ends_a_search_whose_server_does_not_answer(tmp_path):
    add_about(open_store(tmp_path / "s", create=True), "Fire clay pots in a kiln")
    answers = OneVector()
    with sending(JSON, answers) as url:
        command = ["search", "kiln", "--store", str(tmp_path / "s"), "--embedder", f"{url}#m1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "spade_envs", *command], stderr=subprocess.PIPE, text=True
        )
        assert answers.silent.wait(60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "\ninterrupted\n")


def test_a_search_that_finds_nothing_near_says_so(place):
    for question, near in (("a kiln for clay", True), ("zzzz qqqq", False)):
        code, _, told = run("search", question, "--store", place)
        assert (code, "nothing is near" in told) == (0, not near)
    assert run("search", " ", "--store", place)[0] == 2
