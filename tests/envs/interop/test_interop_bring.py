"""What is registered, what was there already, and what is refused; no gate is run."""

import sys

import pytest

from envs.store.kit import PROVENANCE, add, report_of, source_of
from spade_envs.errors import NotCertified, Withdrawn
from spade_envs.gates import GATES_VERSION
from spade_envs.gates.context import Fingerprint
from spade_envs.interop import Checked, Library, Target, bring
from spade_envs.interop.bring import Brought, bring_all, refusal
from spade_envs.interop.fingerprints import stored
from spade_envs.interop.known import strangers
from spade_envs.store import open_store
from spade_envs.types import GateResult

bring_module = sys.modules["spade_envs.interop.bring"]  # the package has a function of that name


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def checked(number=1, label="pool/maze.py", name=None, **changes):
    source = source_of(number)
    target = Target(label=label, source=source, name=name)
    return Checked(target=target, report=report_of(source, **changes))


def failed(gate, message, **evidence):
    return GateResult(gate=gate, title="t", outcome="fail", message=message, evidence=evidence)


def test_what_is_new_is_registered_with_its_origin(store):
    brought = bring(checked(), store, licence="CC0-1.0", skills=("optimization",))
    assert brought.note == ""
    assert (brought.record.licence, brought.record.skills) == ("CC0-1.0", ("optimization",))
    origin = store.manifest(brought.record).provenance
    assert (origin.method, origin.run) == ("imported", "pool/maze.py")
    other = bring(checked(2), store, provenance=PROVENANCE).record
    assert store.manifest(other).provenance.method == "hand-written"


def test_what_is_there_keeps_its_version_and_says_so(store):
    first = add(store, 1, name="maze")
    brought = bring(checked(), store)
    assert (brought.record, brought.note) == (first, "was there already")
    assert bring(checked(name="maze"), store).record == first
    again = bring(checked(gates_version=GATES_VERSION), store, licence="CC0-1.0", title="Ways")
    assert again.note == (
        f"was there already; certified anew by version {GATES_VERSION} of the gates (before: 1); "
        "licence now CC0-1.0 (before: MIT); title now Ways (before: Maze)"
    )
    assert store.report(again.record).gates_version == GATES_VERSION
    assert [record.id for record in store.records()] == ["spade/maze-v0"]


def test_a_content_has_one_name(store):
    add(store, 1, name="maze")
    with pytest.raises(NotCertified, match="spade/maze-v0 has this very content"):
        bring(checked(name="labyrinth"), store)
    assert len(store.records()) == 1
    store.withdraw("maze", "a better name")
    with pytest.raises(Withdrawn, match="a better name"):
        bring(checked(), store)
    assert bring(checked(name="labyrinth"), store).record.id == "spade/labyrinth-v0"
    assert bring(checked(), store).record.id == "spade/labyrinth-v0"


def test_what_repeats_another_target_of_the_run_is_not_registered(store, monkeypatch):
    def play(source, name):
        played.append(name)
        said = {"b.py": "a.py", "d.py": "a.py"}.get(name, name)
        return Fingerprint(name, source.sha256, program=source.sha256, replies=said)

    played = []
    monkeypatch.setattr(bring_module, "play", play)
    refused = checked(9, "x.py", results=(failed("L3.3", "luck"),))
    names = enumerate(("a.py", "b.py", "c.py", "d.py"))
    targets = [refused, *(checked(number, name) for number, name in names)]
    found = list(bring_all(targets, store))
    first = store.records()
    assert [type(one) for one in found] == [str, Brought, str, Brought, str]
    assert found[0] == "L3.3: luck"
    assert found[2].startswith(f"L5.1: it repeats {found[1].record.id}: another program that says")
    assert len(first) == 2
    assert played == ["a.py", "b.py", "c.py", "d.py"]
    assert {one.replies for one in stored(store)} == {"a.py", "c.py"}  # from the cache
    again = [one for one in bring_all([targets[1], targets[3]], store) if one.note]
    assert (len(again), played[4:]) == (2, [])


def test_one_target_is_not_played_again(store, monkeypatch):
    monkeypatch.setattr(bring_module, "play", lambda source, name: pytest.fail("played"))
    (brought,) = bring_all([checked()], store)
    assert brought.record.id in [record.id for record in store.records()]


def test_of_two_names_the_one_that_was_typed_is_meant(store):
    add(store, 1, name="alice.maze")
    add(store, 1, name="maze")
    assert bring(checked(label="spade/maze-v0"), store).record.id == "spade/maze-v0"


def test_the_gravest_failure_is_the_reason():
    results = (failed("L3.1", "no reference solution; add it"), failed("L3.10", "it leaks"))
    assert refusal(checked(results=results)) == "L3.10: it leaks"


@pytest.mark.parametrize(
    ("repeats", "also", "hint"),
    [
        ("spade/maze-v3", (), True),
        ("pool/maze.py", (), False),
        ("spade/maze-v3", (failed("L3.3", "luck"),), False),
    ],
)
def test_how_the_next_version_is_published_is_said(repeats, also, hint):
    results = (failed("L5.1", "it repeats", repeats=repeats), *also)
    reason = refusal(checked(results=results))
    assert ("add --name maze)" in reason) is hint
    assert "L5.1: it repeats" in reason or also


def test_what_a_target_is_compared_with():
    def known(name, source="other"):
        return Fingerprint(name=name, source_sha256=source, program="p", replies="")

    target = Target(label="maze.py", source=source_of(1))
    held = [
        known("spade/maze-v0"),
        known("spade/maze-v1"),
        known("spade/ways-v0"),
        known("spade/twin-v0", target.source.sha256),
    ]
    files = [known("maze.py"), known("b.py"), known("c.py", target.source.sha256)]

    def names(found):
        return [other.name for other in found]

    assert names(strangers(target, files, held)) == [
        "b.py",
        "c.py",
        "spade/maze-v0",
        "spade/maze-v1",
        "spade/ways-v0",
    ]
    named = Target(label="maze.py", source=target.source, name="maze")
    assert names(strangers(named, (), held)) == ["spade/ways-v0"]
    stored = Target(label="spade/ways-v4", source=target.source)
    assert names(strangers(stored, held[:3], held)) == ["spade/maze-v0", "spade/maze-v1"] * 2
    library = Library(name="x", modules=("x",))
    played = Target(label="x:y", source=target.source, library=library)
    assert strangers(played, (), held) == []
