"""One line more in the derived files of a large store: the same bytes as anew, and no false age."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.store.kit import add
from spade_envs.store import index, insertion, open_store

NAMES = ("index.jsonl", "CATALOG.md")
IDS = st.lists(
    st.tuples(st.sampled_from(["a", "ab", "a-b", "b", "z"]), st.integers(0, 12)),
    min_size=2,
    max_size=30,
    unique=True,
)


def row_of(pair):
    return b"%s %d\n" % (pair[0].encode(), pair[1])


def order(row):
    name, number = row.split()
    return name.decode(), int(number)


@given(IDS, st.sampled_from([b"", b"head\nof it\n"]))
def test_a_line_lands_where_its_order_asks_and_only_once(pairs, head):
    *others, new = pairs
    before = head + b"".join(map(row_of, sorted(others)))
    after = insertion.with_row(before, row_of(new), order, at=len(head))
    assert after == head + b"".join(map(row_of, sorted(pairs)))
    assert insertion.with_row(after, row_of(new), order, at=len(head)) == after
    with pytest.raises(ValueError, match="another line"):
        insertion.with_row(after, row_of(new)[:-1] + b" \n", order, at=len(head))


@pytest.fixture
def store(tmp_path, monkeypatch):
    opened = open_store(tmp_path / "store", create=True)
    for number in range(5):
        add(opened, number, name=f"maze-{2 * number}", title=f"Line {number} | of `it`")
    monkeypatch.setattr(insertion, "LEAST_BYTES", 0)
    return opened


def derived(store):
    return [(store.root / name).read_bytes() for name in NAMES]


@pytest.mark.parametrize("name", ["maze-3", "a", "zoo", "maze-4"])
def test_what_is_put_in_is_what_would_be_made_anew(store, name):
    age_ns = (store.root / "index.jsonl").stat().st_mtime_ns
    add(store, 9, name=name)
    grown = derived(store)
    assert (store.root / "index.jsonl").stat().st_mtime_ns == age_ns
    add(store, 9, name=name)  # again, as after a kill
    assert derived(store) == grown
    store.reindex()
    assert derived(store) == grown
    assert [line.id for line in index.load(store.root, trusting=True)][-1] == (
        "spade/zoo-v0" if name == "zoo" else "spade/maze-8-v0"
    )


def test_what_a_rival_published_meanwhile_is_still_younger_than_the_index(store):
    add(store, 8, name="rival", refresh=False)
    add(store, 9, name="mine")
    assert b"rival" not in derived(store)[0]
    for trusting in (False, True):
        ids = [line.id for line in index.load(store.root, trusting=trusting)]
        assert ids[-2:] == ["spade/mine-v0", "spade/rival-v0"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", [b"", b"\xff\n" * 9, b"{}\n", b'{"id": "x"', b"| `spade/x` |\n"])
def test_a_file_that_is_damaged_is_made_anew(store, name, damage):
    (store.root / name).write_bytes(damage)
    add(store, 9, name="mine")
    found = derived(store)
    store.reindex()
    assert derived(store) == found


def test_an_id_gets_no_second_line(store):
    path = store.root / "index.jsonl"
    path.write_bytes(path.read_bytes().replace(b"maze-4-v0", b"maze-3-v0"))
    add(store, 9, name="maze-3")
    assert [derived(store)[0].count(b"maze-%d-v0" % number) for number in (3, 4)] == [1, 1]


def test_a_link_is_not_followed(store, tmp_path):
    (tmp_path / "other").write_bytes(derived(store)[0])
    (store.root / "index.jsonl").unlink()
    (store.root / "index.jsonl").symlink_to(tmp_path / "other")
    add(store, 9, name="mine")
    assert not (store.root / "index.jsonl").is_symlink()
    assert b"mine" not in (tmp_path / "other").read_bytes()
    assert b"mine" in derived(store)[0]
