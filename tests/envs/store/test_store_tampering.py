"""One flipped bit anywhere in a registered environment is noticed, by `verify` and at load."""

import re
from dataclasses import replace

import gymnasium as gym
import pytest

from envs.store.kit import PROVENANCE, report_of
from spade_envs.errors import Corrupt, NotCertified
from spade_envs.manifest.canonical import encode_report, sealed, stamp
from spade_envs.play import make_env
from spade_envs.registration import register_store
from spade_envs.sandbox import default_sandbox
from spade_envs.store import open_store
from spade_envs.types import EnvSource

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


@pytest.mark.parametrize(
    ("gates", "said"),
    [((), "lacks the verdicts of L3.1"), (("L3.1", "L3.1"), "holds L3.1 more than once")],
)
def test_a_resealed_report_that_lacks_a_gate_or_holds_one_twice_is_noticed(tmp_path, gates, said):
    store = open_store(tmp_path / "store", create=True)
    source = EnvSource(code=CODE)
    report = report_of(source)
    good = report.results[0]
    held = tuple(replace(good, gate=gate) for gate in ("L0.1", *gates))
    other = replace(report, results=held)
    store.add(source, report, PROVENANCE, name="zz-word")
    reseal(store.root / "envs/zz-word/v0", other)
    expected = {report.gates_version: ["L0.1", "L3.1"]}
    assert [p.message for p in store.verify(deep=True, gates=expected)] == [said]
    assert store.get("zz-word").title == "Maze"


def test_a_report_that_holds_a_gate_twice_is_not_published(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    source = EnvSource(code=CODE)
    report = report_of(source)
    with pytest.raises(NotCertified, match="twice"):
        store.add(source, replace(report, results=report.results * 2), PROVENANCE)
