import subprocess
from pathlib import Path

import pytest

from spade_envs.store import open_store


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Settings and notes of a user who trusts nobody yet."""
    folder = tmp_path / "home"
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    return folder


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Private keys of alice and of mallory."""
    folder = tmp_path_factory.mktemp("keys")
    found = {}
    for name in ("alice", "mallory"):
        path = folder / name
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True
        )
        found[name] = path
    return found


@pytest.fixture(scope="session")
def public(keys):
    """Public keys, as a signer's entry holds them."""
    texts = {name: Path(f"{path}.pub").read_text() for name, path in keys.items()}
    return {name: " ".join(text.split()[:2]) for name, text in texts.items()}
