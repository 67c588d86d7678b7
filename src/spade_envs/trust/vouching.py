"""Signatures in a store of one's own: who signed what is there, and signing it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spade_envs.errors import Corrupt
from spade_envs.ids import EnvId
from spade_envs.store import EnvStore
from spade_envs.store.files import publish_file, read_file, replace_file
from spade_envs.store.layout import MANIFEST, MAX_MANIFEST_BYTES, SIGNATURE, version_path
from spade_envs.store.verify import Problem
from spade_envs.trust.incoming import MAX_SIGNATURE_BYTES
from spade_envs.trust.settings import Settings
from spade_envs.trust.signatures import (
    Forged,
    Signed,
    Verdict,
    judge_signature,
    sign,
    signer_command,
)
from spade_envs.types import Record


def signature_of(store: EnvStore, record: Record, settings: Settings) -> Verdict:
    """Return who signed a version as it lies in a store.

    Raises:
        Corrupt: manifest or signature is a link or too long.
        OSError: the manifest cannot be read.
    """
    env_id = EnvId.parse(record.id)
    folder = version_path(env_id)
    manifest = read_file(store.root, f"{folder}/{MANIFEST}", max_bytes=MAX_MANIFEST_BYTES)
    return judge_signature(manifest, _signature(store.root, folder), settings.signers, env_id)


def _signature(root: Path, folder: str) -> bytes | None:
    try:
        return read_file(root, f"{folder}/{SIGNATURE}", max_bytes=MAX_SIGNATURE_BYTES)
    except FileNotFoundError:
        return None


def signature_problems(store: EnvStore, settings: Settings) -> Iterator[Problem]:
    """Yield what is wrong with a store's signatures: forged ones, and as notes those that lack.

    Args:
        store: what is looked at.
        settings: who is allowed to sign.
    """
    for record in store.records():
        env_id = EnvId.parse(record.id)
        path = f"{version_path(env_id)}/{SIGNATURE}"
        try:
            verdict = signature_of(store, record, settings)
        except (Corrupt, OSError) as error:
            yield Problem("signature", path, str(error))
            continue
        if isinstance(verdict, Forged):
            yield Problem("signature", path, f"{record.id} {verdict.reason}")
        elif not isinstance(verdict, Signed):
            command = signer_command(env_id) if verdict.key else ""
            mend = f"; if you know whose it is: {command}" if command else ""
            told = f"{record.id} {verdict.reason}{mend}"
            yield Problem("signature", path, told, "note", command)


def sign_version(store: EnvStore, record: Record, key: Path, *, replace: bool = False) -> bool:
    """Put a signature beside a version's manifest; False if there is one already.

    Args:
        store: that holds it.
        record: which.
        key: private key, or a public one that an SSH agent knows.
        replace: put it in the place of another one.

    Raises:
        ConfigError: the key cannot be used.
        Corrupt: the version is not as it was published.
        StoreError: the store cannot be written to.
    """
    store.require_writable()
    store.source(record)  # nobody should vouch for what was changed
    env_id = EnvId.parse(record.id)
    folder = version_path(env_id)
    target = store.root / folder / SIGNATURE
    if not replace and _signature(store.root, folder) is not None:
        return False
    manifest = read_file(store.root, f"{folder}/{MANIFEST}", max_bytes=MAX_MANIFEST_BYTES)
    made = sign(manifest, key)
    if not replace:
        return publish_file(store.root, target, made)
    replace_file(store.root, target, made)
    return True
