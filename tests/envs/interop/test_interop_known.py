"""What a check knows besides its target, and a check that breaks."""

import json

import pytest

from envs.store.kit import PROVENANCE, add, report_of
from spade_envs.errors import ConfigError, IsolationUnavailable
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.table import GATES_VERSION
from spade_envs.interop import Library, Target, check_all, check_target, resolve, run
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


def test_a_store_is_known_by_what_it_does(tmp_path):
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
    cache = store.root / ".cache" / "fingerprints-1.jsonl"
    assert len(cache.read_bytes().split()) == 1
    cache.write_bytes(cache.read_bytes().replace(found.replies.encode(), b"kept") + b"torn{")
    assert [again.replies for again in stored(store)] == ["kept"]  # it was not played again
    reworded = WORD.replace("Write {self.n}.", "{self.n} is what to write.") + "\nX = 1\n"
    checked = check_target(target("new", reworded), known=stored(store), depth="deep")
    (result,) = [r for r in checked.report.results if r.gate == "L5.1"]
    assert (result.outcome, result.evidence["repeats"]) == ("fail", record.id)


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
