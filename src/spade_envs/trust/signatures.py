"""Detached signatures over manifests, made and judged by OpenSSH's `ssh-keygen -Y`.

A manifest vouches for source and report, so its bytes are all that is signed. The signature is a
file beside it, `manifest.json.sig`, which a store may lack.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from spade_envs.errors import ConfigError
from spade_envs.ids import EnvId

PURPOSE = "spade-envstore"
"""The namespace of `ssh-keygen -Y`: signatures made for something else do not count."""

_TIMEOUT_S = 30.0
_MAX_BYTES = 1 << 16
_KEY = re.compile(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com"
    r"|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]{40,12000}={0,3}"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_FINGERPRINT = re.compile(rb"SHA256:[A-Za-z0-9+/]{43}")


def owner_of(env_id: EnvId) -> str:
    """Return the owner in a name, `alice` of `spade/alice.maze-v0`; empty without one."""
    return env_id.name.partition(".")[0] if "." in env_id.name else ""


@dataclass(frozen=True, slots=True)
class Signer:
    """Somebody whose signature counts here."""

    name: str
    """`alice` or `alice@example.org`."""
    key: str
    """Public key, as in a `.pub` file without its comment."""
    namespaces: tuple[str, ...] = ("*",)
    """Owners in names that they may sign for; `*` stands for any, the empty word for names
    without one."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"{self.name!r} is no name of a signer; write alice@example.org")
        if not _KEY.fullmatch(self.key):
            raise ConfigError(
                f"the key of {self.name} is no SSH public key; give the line of a .pub file, such "
                "as 'ssh-ed25519 AAAA...'"
            )

    def covers(self, env_id: EnvId) -> bool:
        """Whether this signer may sign for the owner in the id's name."""
        return "*" in self.namespaces or owner_of(env_id) in self.namespaces


@dataclass(frozen=True, slots=True)
class Signed:
    """An allowed signer signed exactly this manifest."""

    by: str
    key: str
    """The public key that it was made with, as `Signer.key`."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Nobody who is allowed here vouches for it."""

    reason: str
    key: str = ""
    """Fingerprint of the key that it is signed with, if it is."""


@dataclass(frozen=True, slots=True)
class Forged:
    """A signature that does not belong to the manifest."""

    reason: str


Verdict: TypeAlias = Signed | Unsigned | Forged


def judge_signature(
    manifest: bytes, signature: bytes | None, signers: Sequence[Signer], env_id: EnvId
) -> Verdict:
    """Return who signed a manifest.

    Args:
        manifest: bytes of `manifest.json`.
        signature: bytes of `manifest.json.sig`; None if there is none.
        signers: who is allowed here; those who may not sign for `env_id` do not count.
        env_id: where the manifest lies.
    """
    if signature is None:
        return Unsigned("has no signature")
    if len(signature) > _MAX_BYTES:
        return Forged("has a signature of absurd length")
    with tempfile.TemporaryDirectory(prefix="spade-envs-") as name:
        folder = Path(name)
        (folder / "sig").write_bytes(signature)
        try:
            whole = _keygen(
                ["check-novalidate", "-n", PURPOSE, "-s", str(folder / "sig")], manifest
            )
        except ConfigError as error:
            return Unsigned(f"has a signature that cannot be checked: {error}")
        if whole.returncode != 0:
            return Forged("has a signature that does not belong to this manifest")
        mark = _FINGERPRINT.search(whole.stdout + whole.stderr)
        key = mark[0].decode("ascii") if mark else "an unknown key"
        covering = [signer for signer in signers if signer.covers(env_id)]
        for signer in covering:
            allowed = folder / "allowed"
            allowed.write_text(f'{signer.name} namespaces="{PURPOSE}" {signer.key}\n')
            asked = ["verify", "-n", PURPOSE, "-I", signer.name, "-f", str(allowed)]
            if _keygen([*asked, "-s", str(folder / "sig")], manifest).returncode == 0:
                return Signed(signer.name, signer.key)
    reason = f"is signed with {key}, which is no key of a signer allowed for {env_id.name}"
    return Unsigned(reason, key)


def signer_command(env_id: EnvId) -> str:
    """Return the command that lets a signature of a version count; NAME and FILE are to be set."""
    owner = owner_of(env_id)
    return f"spade-envs trust add NAME --key FILE.pub --for {owner or shlex.quote(owner)}"


def sign(manifest: bytes, key: Path) -> bytes:
    """Return the detached signature of a manifest's bytes.

    Args:
        manifest: what is signed.
        key: private key, or a public one whose private half an SSH agent holds.

    Raises:
        ConfigError: the key cannot be used, or `ssh-keygen` is missing.
    """
    if not key.is_file():
        raise ConfigError(f"{key} is no file; make a key with: ssh-keygen -t ed25519 -f {key}")
    done = _keygen(["sign", "-q", "-n", PURPOSE, "-f", str(key.absolute())], manifest, ask=True)
    if done.returncode != 0 or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        said = done.stderr.decode("utf-8", "replace").strip()[:300]
        raise ConfigError(f"{key} signs nothing: {said or 'ssh-keygen failed'}")
    return done.stdout


def _keygen(
    arguments: list[str], data: bytes, *, ask: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run `ssh-keygen -Y` on `data`; it reads no settings and asks nothing unless `ask`."""
    command, *options = arguments
    environ = {
        key: os.environ[key] for key in ("PATH", "HOME", "SSH_AUTH_SOCK") if key in os.environ
    }
    if ask:
        environ |= {
            key: os.environ[key]
            for key in ("TERM", "SSH_ASKPASS", "DISPLAY", "SSH_ASKPASS_REQUIRE")
            if key in os.environ
        }
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", command, *options],
            input=data,
            capture_output=True,
            check=False,
            timeout=None if ask else _TIMEOUT_S,
            env={**environ, "LC_ALL": "C"},
            start_new_session=not ask,
        )
    except FileNotFoundError:
        raise ConfigError("ssh-keygen is missing; install OpenSSH's client") from None
    except subprocess.TimeoutExpired:
        raise ConfigError("ssh-keygen did not end") from None
