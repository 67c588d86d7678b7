"""What a check knows besides its target, and a check that breaks."""

import json
from dataclasses import replace

import msgspec
import pytest

from envs.store.kit import PROVENANCE, add, report_of
from spade_envs.errors import ConfigError, Corrupt, IsolationUnavailable, SandboxError
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.table import GATES_VERSION
from spade_envs.interop import (
    Library,
    Target,
    check_all,
    check_target,
    fingerprints,
    resolve,
    run,
)
from spade_envs.interop.fingerprints import stored
from spade_envs.interop.known import earlier_files, evaluation_texts, glance, same_environment
from spade_envs.store import open_store
from spade_envs.types import EnvSource, GateResult

CODE = 'class MazeEnv:\n    """A maze."""\n\n    wall = 1\n'
RENAMED = CODE.replace("wall", "hedge").replace("A maze.", "A garden.")


def target(label, code=CODE, **more):
    return Target(label=label, source=EnvSource(code=code), **more)


def test_a_glance_sees_the_program_and_not_its_names():
    one, same = glance(target("a")), glance(target("b", RENAMED))
    assert (one.name, one.replies, one.solutions) == ("a", "", ())
    assert one.program == same.program
    assert one.source_sha256 != same.source_sha256
    assert glance(target("c", CODE.replace("1", "2"))).program != one.program


def test_a_target_knows_those_before_it():
    library = Library(name="x", modules=("x",))
    targets = [target("a"), target("lib", library=library), Target(label="no", error="gone")]
    glances = [glance(item) for item in [*targets, target("b"), target("c")]]
    assert [[g.name for g in earlier_files(glances, n)] for n in range(5)] == [
        [],
        [],
        [],
        ["a"],
        ["a", "b"],
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("spade/maze-v0", "spade/maze-v12", True),
        ("spade/maze-v0", "spade/mazes-v0", False),
        ("a.py", "a.py", True),
        ("spade/maze-v0", "maze.py", False),
        ("a-v0", "a-v1", False),
    ],
)
def test_versions_of_one_name_are_one_environment(one, other, same):
    assert same_environment(one, other) is same is same_environment(other, one)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "one\ntwo\n\n\nthree\n", ("one\ntwo", "three")),
        ("a.jsonl", '"one"\n\n{"question": "two", "answer": "2"}\n', ("one", "two")),
        ("a.jsonl", '{"prompt": "one", "task": "two"}\n', ("one", "two")),
    ],
)
def test_evaluation_texts(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    assert evaluation_texts(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.txt", b" \n\n", "no evaluation text"),
        ("a.txt", b"\xff", "cannot read"),
        ("a.jsonl", b"{", "a.jsonl:1 is not JSON"),
        ("a.jsonl", b'"x"\n{"answer": "2"}', "a.jsonl:2 has no text"),
        ("a.jsonl", b"[" * 100_000, "not JSON"),
        ("a.jsonl", b"3", "has no text"),
    ],
)
def test_unreadable_evaluation_texts_are_refused(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=part):
        evaluation_texts(tmp_path / name)
    with pytest.raises(ConfigError, match="cannot read"):
        evaluation_texts(tmp_path / "gone.txt")


def test_a_check_that_breaks_costs_one_target_only(monkeypatch, caplog):
    def check(source, *, known, evaluation, **_):
        if "hedge" in source.code:
            raise ZeroDivisionError("a bug")
        seen.append(([other.name for other in known], tuple(evaluation)))
        return report_of(source)

    seen = []
    monkeypatch.setattr(run, "check", check)
    targets = [target("a"), target("b", RENAMED), target("c", CODE + "# c\n")]
    other = Fingerprint(name="c", source_sha256="", program="", replies="")
    found = dict(check_all(targets, jobs=1, known=(other,), evaluation=("x",)))
    assert "ZeroDivisionError: a bug" in found[1].error
    assert (found[0].error, found[2].error) == ("", "")
    assert seen == [(["c"], ("x",)), (["a", "b"], ("x",))]  # nothing is compared with itself
    assert "checking b failed" in caplog.text


def test_no_sandbox_ends_the_run(monkeypatch):
    def check(*_, **__):
        raise IsolationUnavailable("no seccomp")

    monkeypatch.setattr(run, "check", check)
    with pytest.raises(IsolationUnavailable):
        list(check_all([target("a"), target("b")]))


WORD = '''
from spade_envs.api import TextEnv


class Word(TextEnv):
    """Spell a number."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.n = self.draw_int(100, 10**6)
        return f"Write {self.n}.", {}

    def step(self, action):
        return self.win("Thanks.") if action == str(self.n) else self.lose("No.")

    def solution(self):
        return [str(self.n)]
'''


@pytest.fixture(autouse=True)
def own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))


def plays(store, monkeypatch):
    """Return the ids that are played to know the store."""
    played = []
    play = fingerprints.play

    def watched(source, name):
        played.append(name)
        return play(source, name)

    with monkeypatch.context() as patch:
        patch.setattr(fingerprints, "play", watched)
        stored(store)
    return played


def test_a_store_is_known_by_what_it_does(tmp_path, monkeypatch):
    store = open_store(tmp_path / "store", create=True)
    kept, gone = (EnvSource(code=WORD + f"# {n}\n") for n in range(2))
    record = store.add(kept, report_of(kept), PROVENANCE, name="kept")
    store.add(gone, report_of(gone), PROVENANCE, name="gone")
    store.withdraw("gone", "no")
    count = []
    (found,) = stored(store, done=lambda: count.append(1))
    assert (found.name, found.source_sha256, len(count)) == (record.id, kept.sha256, 1)
    assert found.replies
    assert len(set(found.solutions)) > 4
    assert plays(store, monkeypatch) == []  # it is not played again
    reworded = WORD.replace("Write {self.n}.", "{self.n} is what to write.") + "\nX = 1\n"
    checked = check_target(target("new", reworded), known=stored(store), depth="deep")
    (result,) = [r for r in checked.report.results if r.gate == "L5.1"]
    assert (result.outcome, result.evidence["repeats"]) == ("fail", record.id)


@pytest.fixture
def known_store(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    for name, extra in (("kept", ""), ("other", "# other\n")):
        source = EnvSource(code=WORD + extra)
        store.add(source, report_of(source), PROVENANCE, name=name)
    stored(store)
    return store


def cache_of(store):
    return store.root / ".cache" / "fingerprints-2.jsonl"


def blank(fingerprint):
    return replace(fingerprint, source_sha256="", program="", replies="", solutions=())


def poison_the_values(store):
    found = stored(store)[0]
    lines = cache_of(store).read_bytes()
    cache_of(store).write_bytes(lines.replace(found.replies.encode(), b"0" * len(found.replies)))


def poison_with_plain_lines(store):
    row = [store.get("kept").digest, GATES_VERSION, msgspec.to_builtins(blank(stored(store)[0]))]
    with cache_of(store).open("ab") as file:
        file.write(b"\n" + json.dumps(row).encode() + b"\n")
        file.write(b"\n" + b"0" * 64 + b" " + json.dumps(row).encode() + b"\n")


def poison_with_another_key(store):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(store.root.parent / "a-stranger"))
        cache_of(store).unlink()
        found = {one.name: one for one in stored(store)}
        for name in ("kept", "other"):
            record = store.get(name)
            fingerprints.keep(store, record, blank(found[record.id]))


def poison_the_index(store):
    kept, other = store.get("kept").digest, store.get("other").digest
    index = store.root / "index.jsonl"
    index.write_text(index.read_text().replace(kept, other))


@pytest.mark.parametrize(
    "poison",
    [poison_the_values, poison_with_plain_lines, poison_with_another_key, poison_the_index],
)
def test_a_poisoned_cache_hides_no_environment(known_store, poison):
    before = stored(known_store)
    poison(known_store)
    assert stored(known_store) == before
    assert len({one.replies for one in before} - {""}) == 1  # they were played


def test_a_version_that_cannot_be_read_ends_the_comparison(known_store):
    (known_store.root / "envs/kept/v0/manifest.json").write_text("{}")
    with pytest.raises(Corrupt, match=r"nothing can be compared with spade/kept-v0: .*verify"):
        stored(known_store)


def test_a_version_that_cannot_be_run_is_compared_by_its_text(known_store, monkeypatch, caplog):
    def play(source, name):
        raise SandboxError("no memory")

    cache_of(known_store).unlink()
    monkeypatch.setattr(fingerprints, "play", play)
    found = stored(known_store)
    assert [(one.name, one.replies) for one in found] == [
        ("spade/kept-v0", ""),
        ("spade/other-v0", ""),
    ]
    assert found[0].program == fingerprints.fingerprint(EnvSource(code=WORD)).program
    assert "only the text of spade/kept-v0" in caplog.text


def test_a_certificate_of_older_gates_binds_nobody(monkeypatch):
    seen = []

    def check(source, **more):
        seen.append(more["certificate"])
        message = "no certificate was given"
        result = GateResult(gate="L5.3", title="t", outcome="skip", message=message)
        return report_of(source, results=(result,))

    monkeypatch.setattr(run, "check", check)
    old, new = (
        report_of(EnvSource(code=CODE)),
        report_of(EnvSource(code=CODE), gates_version=GATES_VERSION),
    )
    checked = [
        check_target(target("a", certificate=certificate)) for certificate in (old, new, None)
    ]
    assert seen == [None, new, None]
    told = [one.report.results[0].message for one in checked]
    assert f"of version 1 of the gates, and these are version {GATES_VERSION}" in told[0]
    assert told[1:] == ["no certificate was given"] * 2


def test_a_stored_version_brings_its_certificate(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    record = add(store, 1, name="maze")
    (found,) = resolve("maze", lambda: [store])
    assert found.certificate == store.report(record)
    assert json.dumps(found.label) == '"spade/maze-v0"'
