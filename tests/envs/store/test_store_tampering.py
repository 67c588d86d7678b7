"""One flipped bit anywhere in a registered environment is noticed, by `verify` and at load."""

import re
from dataclasses import replace

import gymnasium as gym
import pytest

from envs.store.kit import PROVENANCE, report_of
from spade_envs.errors import Corrupt, NotCertified
from spade_envs.gates import GATES, GATES_VERSION
from spade_envs.gates.certificate import NOTHING_GIVEN, missing_verdicts
from spade_envs.gates.hints import NO_HINT
from spade_envs.manifest.canonical import canonical_json, encode_report, parse_json, sealed, stamp
from spade_envs.play import make_env
from spade_envs.registration import register_store
from spade_envs.sandbox import default_sandbox
from spade_envs.store import open_store
from spade_envs.types import EnvSource, GateResult

CODE = '''
from spade_envs.api import TextEnv


class Word(TextEnv):
    """Say the word."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return "Say please.", {}

    def step(self, action):
        return self.win("Thanks.") if action == "please" else self.lose("No.")
'''
FILES = ("env.py", "manifest.json", "report.json")
STEPS = 40
"""Places tried in each file, evenly spread; the bit goes round."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("tampering") / "store", create=True)
    source = EnvSource(code=CODE)
    worker = default_sandbox().load(source)
    report = report_of(source, interface=worker.interface)
    worker.close()
    store.add(source, report, PROVENANCE, name="zz-word", title="A title", skills=["optimization"])
    register_store(store)
    return store


def test_what_was_published_verifies_and_plays(store):
    assert store.verify(deep=True) == []
    env = gym.make("spade/zz-word-v0")
    assert env.reset(seed=1)[0] == "Say please."
    assert env.step("please")[1] == 1.0
    env.close()


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_noticed(store, name):
    path = store.root / "envs/zz-word/v0" / name
    good = path.read_bytes()
    unnoticed = []
    try:
        for number in range(STEPS):
            position = number * (len(good) - 1) // (STEPS - 1)
            bad = bytearray(good)
            bad[position] ^= 1 << number % 8
            path.write_bytes(bytes(bad))
            if not any(problem.severity == "error" for problem in store.verify()):
                unnoticed.append(("verify", position))
            try:
                gym.make("spade/zz-word-v0").close()
            except Corrupt:
                continue
            unnoticed.append(("gym.make", position))
    finally:
        path.write_bytes(good)
    assert unnoticed == []


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(store, name):
    path = store.root / "envs/zz-word/v0" / name
    good = path.read_bytes()
    path.unlink()
    try:
        assert any(problem.severity == "error" for problem in store.verify())
        with pytest.raises(Exception, match="missing"):
            make_env("spade/zz-word-v0", str(store.root))
    finally:
        path.write_bytes(good)


def test_every_key_of_a_manifest_is_under_its_seal(store):
    path = store.root / "envs/zz-word/v0/manifest.json"
    good = path.read_bytes()
    try:
        path.write_bytes(good.replace(b'"A title"', b'"B title"'))
        with pytest.raises(Corrupt, match="seal"):
            store.get("zz-word")
    finally:
        path.write_bytes(good)


def test_a_manifest_without_a_seal_is_read_and_noted(store):
    path = store.root / "envs/zz-word/v0/manifest.json"
    good = path.read_bytes()
    lines = [line for line in good.splitlines(keepends=True) if not line.startswith(b'  "seal"')]
    try:
        path.write_bytes(b"".join(lines))
        assert store.get("zz-word").title == "A title"
        (problem,) = store.verify()
        assert (problem.severity, "seal" in problem.message) == ("note", True)
    finally:
        path.write_bytes(good)


def reseal(folder, report):
    """Put another report in place, as one would who knows how seals are made."""
    path = folder / "manifest.json"
    old, new = (folder / "report.json").read_bytes(), encode_report(report)
    (folder / "report.json").write_bytes(new)
    text = path.read_text().replace(stamp(old).sha256, stamp(new).sha256)
    text = re.sub(r'"seal": "\w+"', f'"seal": "{"0" * 64}"', text)
    path.write_bytes(sealed(text.encode()))


def whole():
    """Return a report that holds a verdict of every gate, as a full check gives."""
    report = report_of(EnvSource(code=CODE), gates_version=GATES_VERSION)
    reasons = {"L4.1": NO_HINT, "L4.2": NO_HINT, "L4.3": NO_HINT}
    reasons |= {gate: starts[0] + " to compare with" for gate, starts in NOTHING_GIVEN.items()}
    results = tuple(
        GateResult(
            gate=gate.id,
            title=gate.title,
            outcome="skip" if gate.id in reasons else "pass",
            message=reasons.get(gate.id, "fine"),
            evidence={"floor": 0.0} if gate.id == "L3.3" else {},
        )
        for gate in GATES
    )
    return replace(report, results=results)


def with_outcome(gate, outcome, message=None):
    """Return the whole report with one verdict that is another."""
    report = whole()
    results = (
        replace(result, outcome=outcome, message=message or result.message)
        if result.gate == gate
        else result
        for result in report.results
    )
    return replace(report, results=tuple(results))


@pytest.fixture
def sound(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    store.add(EnvSource(code=CODE), whole(), PROVENANCE, name="zz-sound")
    assert told(store) == []
    return store


def told(store):
    found = store.verify(deep=True, gates={GATES_VERSION: missing_verdicts})
    return [problem.message for problem in found if problem.severity == "error"]


def hinted(report):
    return replace(report, interface=replace(report.interface, has_hint=True))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(whole(), results=whole().results[:-1]), "lacks the verdicts of L5.3"),
        (
            replace(whole(), results=(*whole().results, whole().results[0])),
            "holds L0.1 more than once",
        ),
        (
            replace(whole(), results=(*whole().results, replace(whole().results[0], gate="L9.9"))),
            "holds verdicts of gates that there are not: L9.9",
        ),
        (with_outcome("L1.5", "skip"), "skips L1.5, which is never skipped in such a check"),
        (
            with_outcome("L3.17", "skip", "needs a reference solution; add solution()"),
            "skips L3.17, which is never skipped in such a check",
        ),
        (
            with_outcome("L4.1", "skip", "the deadline of the whole check has passed"),
            "skips L4.1, which is never skipped in such a check",
        ),
        (hinted(whole()), "skips L4.1, which is never skipped in such a check"),
        (with_outcome("L5.2", "skip", "why not"), "skips L5.2, which is never skipped in such"),
    ],
)
def test_a_resealed_report_with_other_verdicts_is_noticed(sound, other, said):
    reseal(sound.root / "envs/zz-sound/v0", other)
    assert any(message.startswith(said) for message in told(sound)), told(sound)
    assert sound.get("zz-sound").title == "Maze"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(whole(), results=()), "holds no gate's verdict"),
        (replace(whole(), gates_version="99"), "names version '99' of the gates"),
        (replace(whole(), gates_version="02"), "names version '02' of the gates"),
        (replace(whole(), gates_version=""), "names version '' of the gates"),
        (replace(whole(), complete=False), "does not admit the source"),
        (with_outcome("L1.5", "fail"), "does not admit the source"),
        (replace(whole(), source_sha256="0" * 64), "belongs to another source"),
        (replace(whole(), layers=("seccomp", "weakened: x")), "comes from a weakened worker"),
    ],
)
def test_a_resealed_report_that_certifies_nothing_is_no_certificate(sound, other, said):
    reseal(sound.root / "envs/zz-sound/v0", other)
    assert any(message.startswith(said) for message in told(sound)), told(sound)
    with pytest.raises(Corrupt, match=f"certifies nothing: it {said}"):
        sound.source(sound.get("zz-sound"))
    with pytest.raises(NotCertified):
        sound.add(EnvSource(code=CODE), other, PROVENANCE, name="zz-other")


def test_a_version_of_the_gates_that_is_not_known_is_noticed_by_the_hashes_alone(sound):
    path = sound.root / "envs/zz-sound/v0/manifest.json"
    edit(path, lambda manifest: manifest["report"].update(gates_version="99"))
    (problem,) = sound.verify()
    assert (problem.severity, problem.kind) == ("error", "manifest")
    assert "names version '99' of the gates" in problem.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layers": []}, "names other isolation layers than its manifest"),
        ({"measured": {}}, "measured other figures than its manifest says: L3.3"),
        (
            {"measured": {"L3.3": {"floor": 0.5}, "L3.4": {"best_constant": 0.0}}},
            "measured other figures than its manifest says: L3.3, L3.4",
        ),
    ],
)
def test_a_manifest_that_repeats_its_report_wrongly_is_noticed(sound, change, said):
    path = sound.root / "envs/zz-sound/v0/manifest.json"
    edit(path, lambda manifest: manifest["report"].update(change))
    assert told(sound) == [said]


def edit(path, change):
    """Change a manifest and seal it anew."""
    manifest = parse_json(path.read_bytes(), "manifest.json")
    change(manifest)
    path.write_bytes(sealed(canonical_json({**manifest, "seal": "0" * 64})))


def test_a_report_whose_verdicts_have_no_evidence_is_compared_all_the_same(sound):
    folder = sound.root / "envs/zz-sound/v0"
    report = parse_json((folder / "report.json").read_bytes(), "report.json")
    for result in report["results"]:
        del result["evidence"]
    data = canonical_json(report)
    (folder / "report.json").write_bytes(data)
    change = {"sha256": stamp(data).sha256}
    edit(folder / "manifest.json", lambda manifest: manifest["report"].update(change))
    assert told(sound) == ["measured other figures than its manifest says: L3.3"]


def test_a_catalogue_that_says_something_else_is_noted(sound):
    (sound.root / "CATALOG.md").write_text("# Take these\n")
    assert [(p.severity, p.path) for p in sound.verify()] == [("note", "CATALOG.md")]
    sound.reindex()
    assert sound.verify() == []


def test_a_report_that_holds_a_gate_twice_is_not_published(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    source = EnvSource(code=CODE)
    report = report_of(source)
    with pytest.raises(NotCertified, match="twice"):
        store.add(source, replace(report, results=report.results * 2), PROVENANCE)
