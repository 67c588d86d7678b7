"""The memory of a store: what is near, whatever happened to the files and the environments."""

import os
import subprocess
import sys

import numpy as np
import pytest

from envs.memory.kit_memory import Axes, add_about, digest, source_about
from spade_envs.errors import ClientError, ConfigError, StoreError
from spade_envs.memory import open_memory, rebuild_memory
from spade_envs.memory.index import Index, load_graph, local_key, save_graph
from spade_envs.memory.vectors import place_of
from spade_envs.store import open_store

WORDS = "ferry train kiln garden"


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


@pytest.fixture(autouse=True)
def own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def names(found):
    return [each.record.id.removeprefix("spade/").removesuffix("-v0") for each in found]


def filled(store, **options):
    for name, text, skill in (
        ("boat", "a ferry and a ferry", "optimization"),
        ("rail", "a train to a ferry", "optimization"),
        ("oven", "a kiln", "data-retrieval"),
    ):
        add_about(store, text, name=name, skills=(skill,))
    memory = open_memory(store, Axes(WORDS), **options)
    assert memory.refresh() == 3
    return memory


@pytest.mark.parametrize("exact_up_to", [100, 0])
def test_the_nearest_come_first_with_their_cosines(store, exact_up_to):
    memory = filled(store, exact_up_to=exact_up_to)
    found = memory.search("ferry", 3)
    assert names(found) == ["boat", "rail", "oven"]
    cosines = [each.similarity for each in found]
    assert cosines == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)
    assert names(memory.similar(store.get("rail"), 1)) == ["boat"]


@pytest.mark.parametrize("exact_up_to", [100, 0])
def test_more_than_there_is_gives_what_there_is(store, exact_up_to):
    assert open_memory(store, Axes(WORDS)).search("ferry", 5) == []
    memory = filled(store, exact_up_to=exact_up_to)
    store.withdraw("oven", "cracked")
    memory.refresh()
    assert len(memory) == 2
    assert sorted(names(memory.search("ferry kiln", 5))) == ["boat", "rail"]
    assert names(memory.similar(store.get("boat"), 5)) == ["rail"]
    with pytest.raises(ConfigError, match="k must"):
        memory.search("ferry", 0)


def test_only_those_of_a_skill_can_be_asked_for(store):
    memory = filled(store)
    assert names(memory.search("kiln", 5, skill="optimization")) == ["boat", "rail"]
    assert memory.search("kiln", 5, skill="spatial-reasoning") == []


def test_a_text_that_means_nothing_to_the_embedder_finds_nothing(store):
    memory = filled(store)
    assert memory.search("submarine", 5) == []
    assert memory.search("", 5) == []


def test_nothing_is_embedded_twice_and_new_ones_are(store):
    filled(store)
    embedder = Axes(WORDS)
    memory = open_memory(store, embedder)
    assert memory.refresh() == 0
    assert embedder.asked == []
    assert names(memory.search("train", 1)) == ["rail"]

    record = add_about(store, "a garden", name="plot")
    assert memory.refresh() == 1
    assert names(memory.search("garden", 1)) == ["plot"]
    source = source_about("a garden with a train")
    record = add_about(store, "a garden with a train", name="toys")
    memory.add(record, source)
    assert names(memory.search("garden train", 2)) == ["toys", "plot"]


def test_one_process_sees_what_another_embedded(store):
    ours = filled(store)
    theirs = open_memory(store, Axes(WORDS))
    theirs.refresh()
    theirs.add(add_about(store, "a garden", name="plot"), source_about("a garden"))
    ours.embedder.asked.clear()
    assert ours.refresh() == 0
    assert ours.embedder.asked == []
    assert names(ours.search("garden", 1)) == ["plot"]


def test_the_same_content_under_two_names_is_found_once(store):
    add_about(store, "a kiln", name="one")
    add_about(store, "a kiln", name="two")
    memory = open_memory(store, Axes(WORDS))
    assert memory.refresh() == 1
    assert len(memory.search("kiln", 5)) == 1


def test_a_changed_source_is_left_out(store, caplog):
    memory = filled(store)
    add_about(store, "a garden", name="plot")
    path = store.root / "envs" / "plot" / "v0" / "env.py"
    path.write_text(path.read_text() + "\n")
    assert memory.refresh() == 0
    assert "left out of the memory" in caplog.text
    assert names(memory.search("garden train", 5)) == ["rail", "boat", "oven"]
    with pytest.raises(StoreError, match="not in the memory"):
        memory.similar(store.get("plot"))


@pytest.mark.parametrize("rows", [np.ones((1, 4)), np.full((1, 4), np.nan), np.zeros((1, 3))])
def test_given_vectors_and_questions_must_be_sound(store, rows):
    memory = filled(store)
    with pytest.raises(ConfigError):
        memory.add_vectors([digest(1)], rows)
    with pytest.raises(ConfigError):
        memory.near(rows[0], 1)


def test_given_vectors_may_be_changed_afterwards(store):
    record = add_about(store, "a garden", name="plot")
    memory = open_memory(store, Axes(WORDS))
    rows = np.array([[0, 0, 1, 0]], dtype=np.float32)
    memory.add_vectors([record.digest], rows)
    rows[:] = np.nan
    assert memory.refresh() == 0
    assert memory.search("kiln", 1)[0].similarity == 1.0


def test_another_embedder_is_told_how_to_rebuild(store):
    filled(store)
    for other in (Axes(WORDS, revision="2"), Axes("ferry train"), "hashed"):
        with pytest.raises(ConfigError, match=r"spade-envs reindex --embedder \w+ --store") as told:
            open_memory(store, other)
        assert "axes (revision 1, 4 dimensions)" in str(told.value)
    with pytest.raises(ConfigError, match="name that embedder"):
        open_memory(store)

    memory = rebuild_memory(store, "hashed:64")
    assert names(memory.search("the kiln", 1)) == ["oven"]
    assert open_memory(store).fingerprint == memory.fingerprint
    kept = [path.name for path in (store.root / ".cache/memory").iterdir() if path.is_dir()]
    assert kept == [memory.fingerprint.folder]


def test_a_rebuilding_that_is_stopped_changes_nothing_and_goes_on(store, monkeypatch):
    monkeypatch.setattr("spade_envs.memory.memory._BATCH", 1)
    filled(store)
    other = Axes(WORDS, name="other")

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild_memory(store, other, stop)
    assert open_memory(store, Axes(WORDS)).refresh() == 0
    rebuild_memory(store, other)
    assert len(other.asked) == 3
    with pytest.raises(ConfigError, match=r"made with other \(revision 1"):
        open_memory(store, Axes(WORDS))
    assert open_memory(store, other).refresh() == 0


def test_a_store_that_cannot_be_written_to_is_searched_all_the_same(store, monkeypatch):
    add_about(store, "a kiln", name="oven")
    monkeypatch.setattr(type(store), "read_only", property(lambda self: True))
    memory = open_memory(store)
    assert memory.refresh() == 1
    assert names(memory.search("kiln", 2)) == ["oven"]
    assert not (store.root / ".cache").exists()
    with pytest.raises(StoreError, match="read-only"):
        rebuild_memory(store, "hashed")


def test_a_failing_embedder_keeps_what_was_done(store, monkeypatch):
    monkeypatch.setattr("spade_envs.memory.memory._BATCH", 1)
    for number in range(3):
        add_about(store, f"a kiln {number}", name=f"oven-{number}")
    embedder = Axes(WORDS)
    good = embedder.embed

    def failing(texts):
        if len(embedder.asked) == 2:
            raise ClientError("down")
        return good(texts)

    embedder.embed = failing
    told = []
    with pytest.raises(ClientError):
        open_memory(store, embedder).refresh(lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3)]
    assert open_memory(store, Axes(WORDS)).refresh() == 1


# The index


def clustered(count, dimension, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, dimension))
    rows = centres[rng.integers(20, size=count)] + 0.4 * rng.standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("graph", [False, True])
def test_the_index_agrees_with_comparing_one_by_one(graph):
    rows = clustered(2000, 24)
    index = Index(24, graph=graph)
    index.add(rows[:1500])
    index.add(rows[1500:])
    hits = 0
    for query in clustered(50, 24, seed=1):
        places, products = index.nearest(query, 10)
        assert products.tolist() == pytest.approx((rows[places] @ query).tolist(), abs=1e-5)
        assert (np.diff(products) <= 1e-6).all()
        hits += len(set(places.tolist()) & set(np.argsort(-(rows @ query))[:10].tolist()))
    assert hits == 500 if not graph else hits >= 475
    assert len(index.nearest(rows[0], 5000)[0]) == 2000 if not graph else True


def test_a_graph_is_kept_and_grows(store):
    memory = filled(store, exact_up_to=0)
    memory.search("ferry", 1)
    digests, index = load_graph(store.root, memory.fingerprint, local_key())
    assert sorted(digests) == sorted(record.digest for record in store.records())
    assert (index.graph, len(index)) == (True, 3)
    add_about(store, "a garden", name="plot")
    again = open_memory(store, Axes(WORDS), exact_up_to=0)
    again.refresh()
    assert names(again.search("garden", 1)) == ["plot"]
    store.withdraw("boat", "leaks")
    again.refresh()
    assert names(again.search("ferry", 4)) == ["rail", "oven", "plot"]


def test_a_torn_foreign_or_poisoned_graph_is_made_anew(store, tmp_path):
    memory = filled(store, exact_up_to=0)
    memory.search("ferry", 1)
    (kept,) = (store.root / place_of(memory.fingerprint)).glob("graph-*.idx")
    whole = kept.read_bytes()
    rng = np.random.default_rng(0)
    poisoned = [b"", whole[:20], whole[:-1], whole + b"x", os.urandom(len(whole)), bytes(99)]
    for _ in range(20):
        flipped = bytearray(whole)
        flipped[rng.integers(len(whole))] ^= 4
        poisoned.append(bytes(flipped))
    for data in poisoned:
        kept.write_bytes(data)
        assert load_graph(store.root, memory.fingerprint, local_key()) is None
    again = open_memory(store, Axes(WORDS), exact_up_to=0)
    again.refresh()
    assert names(again.search("ferry", 2)) == ["boat", "rail"]
    assert kept.read_bytes() != poisoned[-1]

    # made by somebody else, with a key of their own and wrong on purpose
    false = Index(4, graph=True)
    false.add(np.eye(4, dtype=np.float32)[:3])
    save_graph(
        store.root, memory.fingerprint, [r.digest for r in store.records()], false, b"k" * 32
    )
    (foreign,) = set(kept.parent.glob("graph-*.idx")) - {kept}
    os.replace(foreign, kept)
    again = open_memory(store, Axes(WORDS), exact_up_to=0)
    again.refresh()
    assert names(again.search("ferry", 2)) == ["boat", "rail"]


def test_the_key_is_one_and_for_its_owner_alone(tmp_path):
    key = local_key(tmp_path / "k")
    assert len(key) == 32
    assert local_key(tmp_path / "k") == key
    assert local_key(tmp_path / "other") != key
    path = tmp_path / "k" / "cache.key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert local_key(tmp_path / "k") is None
    (tmp_path / "file").write_bytes(b"")
    assert local_key(tmp_path / "file") is None


def test_a_store_is_killed_while_embedding_and_finds_the_right_ones(tmp_path):
    """Kill -9 while a memory is filled; whatever is kept then is true, and the rest follows."""
    store = open_store(tmp_path / "store", create=True)
    for number in range(30):
        add_about(store, f"{WORDS.split()[number % 4]} " * (number + 1), refresh=False)
    store.reindex()
    code = f"""
import os, signal, sys
sys.path.insert(0, {os.path.dirname(os.path.dirname(os.path.dirname(__file__)))!r})
from envs.memory.kit_memory import Axes
from spade_envs.memory import memory, open_memory
from spade_envs.store import open_store
memory._BATCH = 2
seen = 0
def progress(done, total):
    global seen
    seen += 1
    if seen == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
open_memory(open_store({str(store.root)!r}), Axes({WORDS!r})).refresh(progress)
"""
    for kill_at in (1, 3, 2):
        done = subprocess.run([sys.executable, "-c", code, str(kill_at)], check=False)
        assert done.returncode == -9
    memory = open_memory(store, Axes(WORDS))
    assert memory.refresh() == 30 - 2 * 6
    for record in store.records():
        text = store.source(record).code
        nearest = memory.search(text, 8)
        assert all(each.similarity == pytest.approx(1) for each in nearest[:7])
        word = text.split('"""')[1].split()[0]
        assert all(word in store.source(each.record).code for each in nearest[:7])


@pytest.mark.parametrize("exact_up_to", [100, 0])
def test_what_was_just_added_is_near_whoever_looks_at_the_records_first(store, exact_up_to):
    memory = filled(store, exact_up_to=exact_up_to)
    assert names(memory.search("garden", 1)) != ["plot"]
    source = source_about("a garden")
    memory.add(add_about(store, "a garden", name="plot"), source)
    assert len(memory.records) == len(memory) == 4  # it must not take the index for up to date
    assert names(memory.search("garden", 1)) == ["plot"]
    store.withdraw("plot", "overgrown")
    memory.refresh()
    assert len(memory.records) == 3
    assert "plot" not in names(memory.search("garden", 4))
