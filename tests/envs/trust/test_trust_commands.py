"""`trust`, `sign`, `verify --signatures` and `audit`, as a user meets them."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from envs.store.kit import PROVENANCE, add, report_of, source_of
from envs.trust.kit import tree
from spade_envs.cli.main import cli, exit_code
from spade_envs.errors import NotFound, NotTrusted, StorageError
from spade_envs.ids import EnvId
from spade_envs.store import open_store
from spade_envs.trust.consent import consent_command
from spade_envs.trust.lineage import lineage_of
from spade_envs.trust.origin import Origin, note_origin
from spade_envs.trust.settings import Settings, allow_signer, load
from spade_envs.trust.signatures import Signer

ROOT = Path(__file__).parents[3]
REMOTE = "https://example.org/envs"
_PUSHES = (["--dry-run"], [], [])


def run(*arguments):
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_trust_is_added_shown_and_removed(keys):
    assert run("trust", "add", "alice", "--from", REMOTE).exit_code == 0
    assert run("trust", "add", "alice", "--key", f"{keys['alice']}.pub").exit_code == 0
    assert run("trust", "add", "--from", REMOTE).exit_code == 0
    shown = json.loads(run("trust", "list", "--json").stdout)
    assert shown["namespaces"] == [
        {"name": "alice", "remote": REMOTE},
        {"name": "", "remote": REMOTE},
    ]
    assert [(each["name"], each["namespaces"]) for each in shown["signers"]] == [
        ("alice", ["alice"])
    ]
    assert "(no owner)" in run("trust", "list").stdout
    assert run("trust", "remove", "alice").stdout == "2 lines removed from trust.toml\n"
    assert run("trust", "remove", "--from", REMOTE).exit_code == 0
    assert load() == Settings()
    assert isinstance(run("trust", "remove", "alice").exception, NotFound)


def test_a_name_that_looks_like_a_trusted_one_is_warned_of():
    run("trust", "add", "alice")
    done = run("trust", "add", "a1ice")
    assert "'a1ice' looks like 'alice'" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a namespace"),
        (["--key", "x.pub"], "name the signer"),
        (["alice", "--key", "missing.pub"], "no such file"),
        (["alice@example.org", "--key", "ssh-ed25519 AAAA"], "say with --for"),
        (["alice", "--from", ""], "--from names no remote"),
        (["alice", "--for", "bob"], "--for goes with --key"),
        (["alice", "--key", "ssh-ed25519 AAAA", "--from", "x"], "leave --from out"),
    ],
)
def test_wrong_usage_names_the_mend(arguments, said):
    done = run("trust", "add", *arguments)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_a_private_key_is_not_taken_for_a_public_one(keys):
    done = run("trust", "add", "alice", "--key", keys["alice"])
    assert (done.exit_code, "give the .pub file" in done.output) == (2, True)


def test_a_key_that_is_not_there_signs_nothing_and_says_so(store, tmp_path):
    done = run("sign", "--key", tmp_path / "nokey", "--store", store.root)
    assert (done.exit_code, "no such file; make one with" in done.output) == (2, True)


def test_signing_and_verifying_a_store(store, keys, public):
    first, second = add(store, 1, name="alice.maze"), add(store, 2, name="maze")
    bare = tree(store.root)
    allow_signer(Signer("alice", public["alice"], ("alice",)))
    assert run("verify", "--signatures", "--store", store.root).exit_code == 0
    done = run("sign", first.id, "--key", keys["alice"], "--store", store.root)
    assert "1 version signed" in done.output
    assert [problem for problem in store.verify(deep=True) if problem.severity == "error"] == []
    shown = json.loads(run("verify", "--signatures", "--store", store.root, "--json").stdout)
    notes = [each["message"] for each in shown if each["kind"] == "signature"]
    assert notes == [f"{second.id} has no signature"]
    changed = {path for path, data in tree(store.root).items() if bare.get(path) != data}
    assert changed == {"envs/alice.maze/v0/manifest.json.sig"}
    again = run("sign", first.id, "--key", keys["mallory"], "--store", store.root)
    assert "0 versions signed, 1 had" in again.output
    run("sign", "--replace", first.id, "--key", keys["mallory"], "--store", store.root)
    shown = json.loads(run("verify", "--signatures", "--store", store.root, "--json").stdout)
    assert any("is no key of a signer allowed" in each["message"] for each in shown)


def test_verify_names_the_command_that_lets_a_signature_count(store, keys):
    first, second = add(store, 1, name="alice.maze"), add(store, 2, name="maze")
    run("sign", "--key", keys["alice"], "--store", store.root)
    words = ("verify", "--signatures", "--store", store.root, "--json")
    for record in (first, second):
        (told,) = [
            each["message"]
            for each in json.loads(run(*words).stdout)
            if each["kind"] == "signature" and record.id in each["message"]
        ]
        command = told.partition("if you know whose it is: spade-envs ")[2]
        text = command.replace("NAME", f"n{len(load().signers)}").replace(
            "FILE", str(keys["alice"])
        )
        assert run(*shlex.split(text)).exit_code == 0
    assert not [each for each in json.loads(run(*words).stdout) if each["kind"] == "signature"]


def test_the_table_of_audit_keeps_ids_whole(store):
    record = add(store, 1, name="somebody.a-maze-with-a-name-of-many-words")
    note_origin(store.root, EnvId.parse(record.id), record.digest, REMOTE)
    assert record.id in run("audit", "--store", store.root).stdout


def test_a_forged_signature_is_an_error_of_verify(store, keys):
    first, second = add(store, 1, name="one"), add(store, 2, name="two")
    run("sign", first.id, second.id, "--key", keys["alice"], "--store", store.root)
    envs = store.root / "envs"
    forged = (envs / "one/v0/manifest.json.sig").read_bytes()
    (envs / "two/v0/manifest.json.sig").write_bytes(forged)
    done = run("verify", "--signatures", "--store", store.root)
    assert done.exit_code == 1
    assert run("verify", "--store", store.root).exit_code == 0


def test_a_version_that_is_certified_anew_loses_its_signature(store, keys):
    from dataclasses import replace

    record = add(store, 1, name="one")
    run("sign", "--key", keys["alice"], "--store", store.root)
    report = replace(report_of(source_of(1)), gates_version="2")
    store.renew(record, report, title="Another title")
    assert not (store.root / "envs/one/v0/manifest.json.sig").exists()


def test_signing_without_ids_leaves_what_was_pulled(store, keys):
    mine, theirs = add(store, 1, name="mine"), add(store, 2, name="bob.maze")
    note_origin(store.root, EnvId.parse(theirs.id), theirs.digest, REMOTE)
    done = run("sign", "--key", keys["alice"], "--store", store.root)
    assert "1 left out that came from a remote too" in done.output
    assert (store.root / "envs/mine/v0/manifest.json.sig").exists()
    assert not (store.root / "envs/bob.maze/v0/manifest.json.sig").exists()
    assert mine.id == "spade/mine-v0"


PASSAGE = {"corpus": "docs", "source": "a.txt", "sha256": "0" * 64, "licence": "CC-BY-SA-4.0"}


def made(store, number, name, licence="MIT", **provenance):
    source = source_of(number)
    whole = {**PROVENANCE, **provenance}
    return store.add(source, report_of(source), whole, name=name, licence=licence)


def test_columns_of_audit_that_say_nothing_go_first(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run("audit", "--store", ROOT / "envstore")
    head = next(line for line in done.stdout.splitlines() if "made by" in line)
    assert "licence" in head
    assert "pulled from" not in head
    assert "pulled from (COLUMNS=200 or --json shows all)" in done.stderr


def test_audit_tells_makers_documents_and_licences(store, keys, public):
    allow_signer(Signer("alice", public["alice"]))
    designer = {"model": "a-model", "revision": "r1"}
    one = made(store, 1, "one", method="designed", designer=designer, passage=PASSAGE)
    two = made(store, 2, "alice.two", author="Alice", parents=["sha256:" + "1" * 64, one.digest])
    run("sign", one.id, "--key", keys["alice"], "--store", store.root)
    note_origin(store.root, EnvId.parse(two.id), two.digest, REMOTE)
    done = run("audit", "--store", store.root, "--json")
    first, second = sorted(json.loads(done.stdout), key=lambda each: each["id"], reverse=True)
    assert done.exit_code == 0
    assert (first["maker"], first["document"], first["document_licence"]) == (
        "a-model r1",
        "docs: a.txt",
        "CC-BY-SA-4.0",
    )
    assert first["remarks"] == ["is MIT, but its document is CC-BY-SA-4.0: share alike"]
    assert (first["signed_by"], first["remote"]) == ("alice", "")
    assert (second["maker"], second["remote"], second["signed_by"]) == ("Alice", REMOTE, "")
    assert second["remarks"] == [
        "was made of 1 environment(s) that are not here",
        "was pulled, and no allowed signer vouches for what it says of itself",
    ]
    table = run("audit", "--store", store.root)
    assert "2 environments by" in table.output
    assert "pulled from" in run("audit", two.id, "--store", store.root).stdout


@pytest.mark.parametrize(
    ("licence", "document", "said"),
    [
        ("MIT", "unknown", "licence is not known"),
        ("unknown", "MIT", "says nothing of its licence"),
        ("MIT", "CC-BY-NC-4.0", "not for commercial use"),
        ("MIT", "CC-BY-ND-4.0", "no derived works"),
        ("MIT", "GPL-3.0-only", "share alike"),
        ("CC-BY-SA-4.0", "CC-BY-SA-4.0", ""),
        ("MIT", "CC-BY-4.0", ""),
    ],
)
def test_licences_that_do_not_go_together_are_remarked_on(store, licence, document, said):
    record = made(store, 1, "one", licence=licence, passage={**PASSAGE, "licence": document})
    remarks = " ".join(lineage_of(store, record, Settings()).remarks)
    assert (said in remarks) if said else not remarks


def test_a_broken_manifest_is_one_error_and_the_rest_is_told(store):
    add(store, 1, name="one")
    add(store, 2, name="two")
    (store.root / "envs/two/v0/manifest.json").write_bytes(b"{}")
    done = run("audit", "--store", store.root, "--json")
    assert done.exit_code == 1
    assert [each["id"] for each in json.loads(done.stdout)] == ["spade/one-v0"]


def test_play_asks_nobody_where_nobody_sits(store):
    record = add(store, 1, name="bob.maze")
    note_origin(store.root, EnvId.parse(record.id), record.digest, REMOTE)
    done = run("play", record.id, "--store", store.root)
    assert isinstance(done.exception, NotTrusted)
    assert exit_code(done.exception) == 1
    assert load().namespaces == ()


def test_play_asks_at_a_terminal_and_remembers_a_yes(store, monkeypatch):
    from spade_envs.cli import consent

    record = add(store, 1, name="bob.maze")
    note_origin(store.root, EnvId.parse(record.id), record.digest, REMOTE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    asked = []

    def answer(question, **_):
        asked.append(question)
        return len(asked) > 1

    monkeypatch.setattr(consent.click, "confirm", answer)
    consent.ask_consent(record)
    assert load().namespaces == ()
    consent.ask_consent(record)
    assert load().allows("bob", REMOTE)
    consent.ask_consent(record)
    assert len(asked) == 2


def test_a_remote_is_named_as_pull_names_it(tmp_path, monkeypatch):
    from spade_envs.sharing.known import add_remote

    (tmp_path / "theirs").mkdir()
    monkeypatch.chdir(tmp_path)
    add_remote("team", "https://example.org/team.git")
    run("trust", "add", "alice", "--from", "team")
    run("trust", "add", "alice", "--from", "./theirs")
    assert load().allows("alice", "https://example.org/team.git")
    assert load().allows("alice", str(tmp_path / "theirs"))
    assert run("trust", "remove", "alice", "--from", "team").exit_code == 0
    assert not load().allows("alice", "https://example.org/team.git")


def test_a_pull_ends_with_what_lets_it_run_until_that_is_said(store, tmp_path):
    add(store, 1, name="bob.maze")
    add(store, 2, name="chess")
    run("push", str(tmp_path / "shared"), "--store", store.root)
    arguments = ["pull", str(tmp_path / "shared"), "--json", "--store"]
    assert "trust add" not in run(*arguments, tmp_path / "zero").output
    del arguments[2]
    first = run(*arguments, tmp_path / "one").stderr.splitlines()
    commands = [line.split() for line in first if "trust add" in line]
    assert commands == [
        f"spade-envs trust add bob --from {tmp_path}/shared".split(),
        f"spade-envs trust add --from {tmp_path}/shared".split(),
    ]
    for words in commands:
        assert run(*words[1:]).exit_code == 0
    assert "trust add" not in run(*arguments, tmp_path / "two").output


def test_the_gates_can_be_run_before_the_first_run(store):
    record = add(store, 1, name="bob.maze")
    note_origin(store.root, EnvId.parse(record.id), record.digest, REMOTE)
    done = run("trust", "check", "--store", store.root)
    assert (done.exit_code, "does not pass the gates here" in done.stdout) == (1, True)
    assert "1 version checked, 1 refused" in done.output
    store.withdraw(record.id, "it does not pass")
    assert run("trust", "check", "--store", store.root).exit_code == 0


@pytest.mark.parametrize("place", ["shared", "shared.git"])
def test_a_signature_that_was_made_later_is_pushed_to_its_own_manifest_alone(
    store, keys, public, tmp_path, place
):
    if place.endswith(".git"):
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / place)], check=True)
    other = open_store(tmp_path / "other", create=True)
    add(other, 2, name="chess", title="Ghess")
    run("push", tmp_path / place, "--store", other.root)
    add(store, 1, name="maze")
    add(store, 2, name="chess", title="Chess")
    remote = (tmp_path / place, "--store", store.root)
    run("push", *remote)
    run("sign", "--key", keys["alice"], "--store", store.root)
    told = [run("push", *more, *remote).stdout.count("its signature is new") for more in _PUSHES]
    assert told == [1, 1, 0]
    allow_signer(Signer("alice", public["alice"]))
    done = run("pull", tmp_path / place, "--store", tmp_path / "new")
    assert (done.exit_code, done.stdout.count("signed by alice")) == (0, 1)


def test_a_disk_that_fails_ends_audit_as_machinery(store, monkeypatch):
    add(store, 1, name="maze")

    def fail(*_, **__):
        raise StorageError("manifest.json cannot be read: Input/output error; do the same again")

    monkeypatch.setattr("spade_envs.trust.lineage.lineage_of", fail)
    done = run("audit", "--store", store.root)
    assert done.exit_code == 3
    assert "error: manifest.json cannot be read: Input/output error" in done.output


def test_what_is_advised_for_a_repository_here_consents_to_it(tmp_path):
    place = f"file://{tmp_path}/work tree"
    name, digest = "spade/bob.maze-v0", "sha256:" + "0" * 64
    origin = Origin(digest=digest, id=name, store=str(tmp_path), remote=place)
    words = shlex.split(consent_command(origin))
    done = run(*words[1:])
    assert done.output == f"the namespace 'bob' may run as {place} offers it\n"
    assert load().allows("bob", place)
