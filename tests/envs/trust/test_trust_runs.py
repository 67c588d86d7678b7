"""What is asked before something pulled runs: consent, then this machine's own gates."""

import os
from dataclasses import replace

import gymnasium as gym
import pytest

from envs.store.kit import PROVENANCE
from envs.store.test_store_tampering import CODE, whole
from spade_envs.errors import NotCertified, NotTrusted, StoreError
from spade_envs.gates import check
from spade_envs.ids import EnvId
from spade_envs.play import make_env
from spade_envs.registration import register_store
from spade_envs.sandbox import default_sandbox
from spade_envs.sharing.remotes import Address
from spade_envs.store import open_store, starter_path
from spade_envs.trust import reverify
from spade_envs.trust.consent import lookalike
from spade_envs.trust.origin import note_origin, origins_of, public_address, store_text
from spade_envs.trust.runs import is_verified, source_to_run, standing
from spade_envs.trust.settings import allow, allow_signer, load, remove
from spade_envs.trust.signatures import Signer
from spade_envs.types import EnvSource

REMOTE = "https://example.org/envs.git"


@pytest.fixture(scope="module")
def interface():
    worker = default_sandbox().load(EnvSource(code=CODE))
    found = worker.interface
    worker.close()
    return found


@pytest.fixture
def record(store, interface):
    report = replace(whole(), interface=interface)
    return store.add(EnvSource(code=CODE), report, PROVENANCE, name="alice.word")


@pytest.fixture
def judged(monkeypatch, interface):
    """Let the gates admit everything, and count how often they are asked."""
    asked = []

    def check(source, **settings):
        asked.append(settings)
        return replace(whole(), interface=interface, source_sha256=source.sha256)

    monkeypatch.setattr(reverify, "check", check)
    return asked


def pulled(store, record, **more):
    note_origin(store.root, EnvId.parse(record.id), record.digest, REMOTE, **more)


def test_ones_own_is_asked_nothing(store, record, judged):
    assert source_to_run(store, record).code == CODE
    assert judged == []
    assert standing(record.digest).may_run


def test_gym_make_names_the_command_that_consents_then_judges_once(store, record, judged):
    pulled(store, record)
    register_store(store)
    with pytest.raises(NotTrusted) as caught:
        gym.make("spade/alice.word-v0")
    assert str(caught.value).endswith(f"spade-envs trust add alice --from {REMOTE}")
    assert f"spade-envs audit spade/alice.word-v0 --store {store.root};" in str(caught.value)
    with pytest.raises(NotTrusted):
        gym.make_vec("spade/alice.word-v0", num_envs=2)
    with pytest.raises(NotTrusted):
        gym.make("spade/Env-v0", ref="alice.word", store=str(store.root))
    assert judged == []
    allow("alice", REMOTE)
    for _ in range(2):
        env = gym.make("spade/alice.word-v0")
        assert env.reset(seed=1)[0] == "Say please."
        env.close()
    assert len(judged) == 1
    assert judged[0]["certificate"] is not None
    assert is_verified(record.digest)


@pytest.mark.parametrize(
    ("namespace", "remote"), [("bob", REMOTE), ("alice", "https://evil.example/envs"), ("", REMOTE)]
)
def test_consent_is_to_one_namespace_from_one_remote(store, record, namespace, remote):
    pulled(store, record)
    allow(namespace, remote)
    with pytest.raises(NotTrusted):
        source_to_run(store, record)


def test_consent_that_is_taken_back_is_gone(store, record, judged):
    pulled(store, record)
    allow("alice", "")
    source_to_run(store, record)
    assert remove("alice") == 1
    with pytest.raises(NotTrusted):
        source_to_run(store, record)


def test_a_forged_certificate_ends_at_the_gates_of_this_machine(store, record):
    pulled(store, record)  # a whole certificate, in which every gate says yes
    allow("alice", REMOTE)
    for _ in range(2):
        with pytest.raises(
            NotCertified, match=r"does not pass the gates here.*spade-envs withdraw"
        ):
            make_env(record.id, str(store.root))
    assert not is_verified(record.digest)


def test_an_interface_that_the_code_does_not_have_is_refused(store, record, judged, monkeypatch):
    pulled(store, record)
    allow("alice", REMOTE)
    honest = reverify.check

    def check(source, **settings):
        found = honest(source, **settings)
        return replace(found, interface=replace(found.interface, max_turns=7))

    monkeypatch.setattr(reverify, "check", check)
    with pytest.raises(NotCertified, match="another interface"):
        source_to_run(store, record)


def test_a_signer_stands_for_consent_and_on_request_for_the_certificate(
    store, record, judged, public, home
):
    signer = Signer("alice", public["alice"], ("alice",))
    pulled(store, record, signed_by="alice", signed_key=signer.key)
    with pytest.raises(NotTrusted):
        source_to_run(store, record)  # signed, but nobody here allows the signer
    allow_signer(signer)
    assert standing(record.digest).consented
    assert not standing(record.digest).certified
    path = home / "config/spade-envs/trust.toml"
    path.write_text("trust_certificate = true\n" + path.read_text())
    source_to_run(store, record)
    assert judged == []
    allow_signer(Signer("alice", public["mallory"], ("alice",)))
    assert not standing(record.digest).consented  # alice has another key since hers was stolen
    allow_signer(signer)
    remove("alice")
    with pytest.raises(NotTrusted):
        source_to_run(store, record)


def test_a_pull_may_trust_the_certificates_of_signers_alone(store, record, judged, public):
    pulled(store, record, trust_certificate=True)
    allow("alice", REMOTE)
    source_to_run(store, record)
    assert len(judged) == 1  # nobody had signed it


def test_a_signature_counts_for_the_name_that_was_signed(store, record, public):
    allow_signer(Signer("bob", public["mallory"], ("bob",)))
    signed = {"signed_by": "bob", "signed_key": public["mallory"]}
    pulled(store, record, **signed)
    assert not standing(record.digest).consented
    pulled(store, record, **signed, signed_as=EnvId("bob.word", 0))
    assert standing(record.digest).consented


def test_what_cannot_be_noted_is_not_placed(store, record, monkeypatch, tmp_path):
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "blocked"))
    with pytest.raises(StoreError, match="XDG_STATE_HOME"):
        pulled(store, record)


def test_a_store_whose_path_is_no_text_can_be_pulled_into(tmp_path, record):
    root = tmp_path / os.fsdecode(b"st\xff")
    note_origin(root, EnvId.parse(record.id), record.digest, REMOTE)
    assert origins_of(record.digest)[-1].store == store_text(root)
    assert store_text(root).endswith("st\\udcff")


def test_a_torn_note_costs_no_other(store, record, home):
    path = home / "state/spade-envs/trust/origins.jsonl"
    pulled(store, record)
    path.write_bytes(path.read_bytes() + b'{"digest": "sha256:torn')
    pulled(store, record, signed_by="alice")
    assert [each.signed_by for each in origins_of(record.digest)] == ["", "alice"]
    assert path.stat().st_mode & 0o077 == 0


def test_many_notes_of_many_threads_are_all_kept(store, record):
    from concurrent.futures import ThreadPoolExecutor

    def note(number):
        note_origin(store.root, EnvId("maze", number), "sha256:" + f"{number % 7:064x}", REMOTE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(note, range(140)))
    found = [origins_of("sha256:" + f"{number:064x}") for number in range(7)]
    assert [len(each) for each in found] == [20] * 7
    assert len({each.id for group in found for each in group}) == 140


def test_notes_that_begin_anew_are_read_anew(store, record, home):
    pulled(store, record)
    path = home / "state/spade-envs/trust/origins.jsonl"
    assert len(origins_of(record.digest)) == 1
    path.unlink()
    assert origins_of(record.digest) == []
    pulled(store, record)
    assert len(origins_of(record.digest)) == 1


@pytest.mark.parametrize(
    ("remote", "shown"),
    [
        ("https://bob:secret@example.org/x.git?token=abc#frag", "https://example.org/x.git"),
        ("s3://bucket/envs", "s3://bucket/envs"),
        ("git@example.org:alice/envs.git", "git@example.org:alice/envs.git"),
        ("/home/alice/envs", "/home/alice/envs"),
    ],
)
def test_no_secret_is_noted(remote, shown):
    assert public_address(remote) == shown


@pytest.mark.parametrize(
    ("name", "seen"),
    [("a1ice", "alice"), ("al-ice", "alice"), ("rnaze", "maze"), ("alice", None), ("b0b", "bob")],
)
def test_names_that_look_alike_are_told(name, seen):
    assert lookalike(name, ["alice", "maze", "bob"]) == seen


def test_a_starter_that_comes_back_from_a_remote_is_no_stranger(store):
    starter = open_store(starter_path())
    record = starter.get("paper-punch")
    note_origin(store.root, EnvId("bob.punch", 0), record.digest, REMOTE)
    assert origins_of(record.digest)
    assert standing(record.digest).may_run
    assert source_to_run(starter, record).code


@pytest.mark.slow
def test_what_was_pulled_passes_the_gates_again_before_its_first_run(store):
    starter = open_store(starter_path())
    source = EnvSource(code=starter.source(starter.get("paper-punch")).code + "# another\n")
    record = store.add(source, check(source), PROVENANCE, name="punch")
    note_origin(store.root, EnvId("punch", 0), record.digest, REMOTE)
    with pytest.raises(NotTrusted, match="names without an owner"):
        make_env(record.id, str(store.root))
    allow("", REMOTE)
    make_env(record.id, str(store.root)).close()
    assert is_verified(record.digest)


def test_consent_to_one_repository_is_none_to_its_namesakes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine, others = "./a?1.git", ("./a?2.git", "./a#1.git", "./a%3F1.git", "./a", "./a?")
    allow("", Address.read(mine).label)
    decided = load()
    assert decided.allows("", Address.read(f"{tmp_path}/a?1.git").label)
    for other in others:
        assert not decided.allows("", Address.read(other).label)
    assert remove("", "./elsewhere") == 0
    assert remove("", Address.read(mine).label) == 1
