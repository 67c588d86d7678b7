"""Whom one trusts: a file that people edit too."""

import pytest

from spade_envs.errors import ConfigError, StorageError
from spade_envs.ids import EnvId
from spade_envs.trust.settings import Settings, allow, allow_signer, load, remove, settings_path
from spade_envs.trust.signatures import (
    PURPOSE,
    Forged,
    Signed,
    Signer,
    Unsigned,
    judge_signature,
    sign,
)

MAZE = EnvId("alice.maze", 0)
DATA = b'{\n  "id": "spade/alice.maze-v0"\n}\n'


def test_without_a_file_nobody_is_trusted():
    assert load() == Settings()
    assert not load().allows("", "")


def test_what_is_allowed_is_kept_and_so_are_the_users_own_words(public):
    path = settings_path()
    path.parent.mkdir(parents=True)
    path.write_text("# mine\ntrust_certificate = true  # because\n")
    allow("alice", "https://bob:hunter22@example.org/a")
    allow("alice", "https://example.org/a")
    allow_signer(Signer("alice@example.org", public["alice"], ("alice", "")))
    text = path.read_text()
    assert text.startswith("# mine\ntrust_certificate = true  # because\n")
    assert "hunter22" not in text
    found = load()
    assert [(each.name, each.remote) for each in found.namespaces] == [
        ("alice", "https://example.org/a")
    ]
    assert found.allows("alice", "https://example.org/a")
    assert not found.allows("alice", "https://example.org/b")
    assert found.signer("alice@example.org").namespaces == ("alice", "")
    assert (remove("alice@example.org"), remove("alice"), remove("alice")) == (1, 1, 0)
    assert load() == Settings(trust_certificate=True)
    assert path.read_text().startswith("# mine\n")


def test_a_link_to_the_settings_stays_one(tmp_path):
    real = tmp_path / "dotfiles/trust.toml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    settings_path().parent.mkdir(parents=True)
    settings_path().symlink_to(real)
    allow("alice", "")
    assert settings_path().is_symlink()
    assert 'name = "alice"' in real.read_text()


def test_settings_that_cannot_be_written_are_one_error_with_the_mend(tmp_path, monkeypatch):
    lock = settings_path().with_name(".trust.toml.lock")
    lock.mkdir(parents=True)
    with pytest.raises(StorageError, match=r"written \(Is a directory\); set XDG_CONFIG_HOME"):
        allow("alice", "")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match=r"read \(Not a directory\); set XDG_CONFIG_HOME"):
        allow("alice", "")


def test_a_signer_of_the_same_name_is_replaced(public):
    allow_signer(Signer("alice", public["alice"]))
    allow_signer(Signer("alice", public["mallory"], ("x",)))
    assert load().signers == (Signer("alice", public["mallory"], ("x",)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("trust_certificate = 1", "trust_certificate"),
        ("trust_certificat = true", "trust_certificat"),
        ("[[namespaces]]\nname = 3", "name"),
        (
            '[[signers]]\nname = "a"\nkey = "ssh-ed25519 evil\\nmallory ssh-rsa"',
            "no SSH public key",
        ),
        ('[[signers]]\nname = "a b"\nkey = "x"', "no name of a signer"),
        ("= broken", "cannot be read"),
        ('[[namespaces]]\nname = "*"', "no namespace"),
        ('[[namespaces]]\nname = "Alice"', "no namespace"),
    ],
)
def test_settings_that_cannot_be_read_trust_nobody_and_say_so(text, said):
    path = settings_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        load()
    assert str(path) in str(caught.value)
    with pytest.raises(ConfigError):
        allow("alice", "")
    assert path.read_text() == text


def test_a_pattern_for_what_a_signer_may_sign_is_refused_and_not_passed_over(public):
    path = settings_path()
    path.parent.mkdir(parents=True)
    entry = f'[[signers]]\nname = "a"\nkey = "{public["alice"]}"\nnamespaces = '
    path.write_text(f'{entry}["ali*"]\n')
    with pytest.raises(ConfigError, match=r"'ali\*' is no namespace"):
        load()
    path.write_text(f'{entry}["*", "", "bob"]\n')
    assert load().signers[0].namespaces == ("*", "", "bob")


@pytest.mark.parametrize("name", ["Alice", "a.b", "../x", "con", "alice\n", "\u0430lice"])
def test_a_namespace_is_one_word(name):
    with pytest.raises(ConfigError, match="no namespace"):
        allow(name, "")


def test_signatures_are_judged_by_who_may_sign_what(keys, public):
    made = sign(DATA, keys["alice"])
    alice = Signer("alice", public["alice"], ("alice",))
    mallory = Signer("mallory", public["mallory"])
    assert judge_signature(DATA, made, [mallory, alice], MAZE) == Signed("alice", alice.key)
    assert judge_signature(DATA, None, [alice], MAZE) == Unsigned("has no signature")
    assert isinstance(judge_signature(DATA, made, [mallory], MAZE), Unsigned)
    assert isinstance(judge_signature(DATA, made, [alice], EnvId("bob.maze", 0)), Unsigned)
    assert isinstance(judge_signature(DATA + b" ", made, [alice], MAZE), Forged)
    assert isinstance(judge_signature(DATA, b"x" * 100_000, [alice], MAZE), Forged)
    assert isinstance(judge_signature(DATA, b"-----BEGIN SSH SIGNATURE-----\n", [], MAZE), Forged)


def test_a_missing_program_is_no_signature_and_no_crash(keys, public, monkeypatch):
    made = sign(DATA, keys["alice"])
    monkeypatch.setenv("PATH", "/nowhere")
    found = judge_signature(DATA, made, [Signer("alice", public["alice"])], MAZE)
    assert isinstance(found, Unsigned)
    assert "ssh-keygen is missing" in found.reason
    with pytest.raises(ConfigError, match="ssh-keygen is missing"):
        sign(DATA, keys["alice"])


def test_a_key_that_cannot_sign_is_told(tmp_path, keys):
    with pytest.raises(ConfigError, match="ssh-keygen -t ed25519"):
        sign(DATA, tmp_path / "none")
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(ConfigError, match="signs nothing"):
        sign(DATA, tmp_path / "junk")
    assert PURPOSE == "spade-envstore"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("require_signature = true", "trust_certificate, require_signatures, signers, namespaces"),
        ("[[signers]]\nname = 'x'\nkeys = 'k'", "name, key, namespaces"),
        ("[[namespaces]]\nnam = 'alice'", "name, remote"),
    ],
)
def test_a_misspelt_key_is_told_with_the_keys_that_there_are(text, keys):
    settings_path().parent.mkdir(parents=True, exist_ok=True)
    settings_path().write_text(f"{text}\n")
    with pytest.raises(ConfigError, match=rf"unknown field .*; the keys there are {keys} \("):
        load()
