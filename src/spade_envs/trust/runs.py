"""What is asked before an environment from elsewhere runs here for the first time.

First the user's consent, by namespace and remote; then this machine's own gates, since a
certificate is only as good as whoever wrote it. Both are remembered outside every store. What no
pull noted as foreign (your own, the starters) is asked nothing.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from spade_envs._version import GATES_VERSION
from spade_envs.errors import NotTrusted
from spade_envs.store import EnvStore, open_store, starter_path
from spade_envs.store.discovery import is_shipped
from spade_envs.trust import journal
from spade_envs.trust.consent import plea
from spade_envs.trust.origin import Origin, origins_of
from spade_envs.trust.settings import Settings, load
from spade_envs.types import EnvSource, Record

logger = logging.getLogger(__name__)

FILE = "verified.jsonl"


class Verified(msgspec.Struct, frozen=True):
    """An environment that passed the gates on this machine."""

    digest: str
    gates_version: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How this machine stands to one environment."""

    origins: tuple[Origin, ...]
    """Where it was pulled from; empty for one's own."""
    consented: bool
    certified: bool
    """Whether its certificate need not be verified again."""

    @property
    def may_run(self) -> bool:
        """Whether it may run with nothing more asked."""
        return self.consented and self.certified


def standing(digest: str, settings: Settings | None = None) -> Standing:
    """Return how this machine stands to the environment with this digest.

    Raises:
        ConfigError: the user's settings cannot be read.
        StoreError: what was noted cannot be read.
    """
    origins = tuple(origins_of(digest))
    if not origins or _is_starter(digest):
        return Standing((), consented=True, certified=True)
    decided = settings if settings is not None else load()
    signed = [each for each in origins if decided.vouches_for(each)]
    consented = bool(signed) or any(decided.allows(o.namespace, o.remote) for o in origins)
    trusted = any(decided.trust_certificate or each.trust_certificate for each in signed)
    return Standing(origins, consented=consented, certified=trusted or is_verified(digest))


def _is_starter(digest: str) -> bool:
    """Whether the starter store that is shipped has this very content: then it is no stranger."""
    root = starter_path()
    return root is not None and digest in _digests(str(root))


@lru_cache(maxsize=4)
def _digests(root: str) -> frozenset[str]:
    return frozenset(record.digest for record in open_store(Path(root)).records())


def is_verified(digest: str) -> bool:
    """Whether an environment passed the gates on this machine since it was pulled."""
    return digest in journal.grouped(FILE, Verified, "digest")


def note_verified(digest: str) -> None:
    """Note that an environment passed this release's gates on this machine.

    Raises:
        StoreError: it cannot be noted.
    """
    if not is_verified(digest):
        journal.append(FILE, [Verified(digest, GATES_VERSION)])


def source_to_run(store: EnvStore, record: Record) -> EnvSource:
    """Return the source of a version, verified and ready to run in a sandbox.

    Runs the gates first if it came from elsewhere and has not passed them here.

    Raises:
        NotTrusted: it came from elsewhere and nobody consented; the message names the command.
        NotCertified: the gates refuse it here, whatever its certificate says.
        Withdrawn: the version was withdrawn.
        Corrupt: its bytes are not what was published.
    """
    source = store.source(record)
    if _is_imported(store.root):
        return source
    found = standing(record.digest)
    if not found.consented:
        raise NotTrusted(plea(record.id, found.origins, store.root))
    if not found.certified:
        logger.info("%s runs here for the first time: the gates judge it first", record.id)
        certify(store, record)
    return source


def _is_imported(root: Path) -> bool:
    """Whether a store lies in a package that this process has imported, code of its own included.

    Whoever installed it has let it run, wherever else the same environments may come from.
    """
    module = sys.modules.get(root.parent.name)
    file = getattr(module, "__file__", None)
    return is_shipped(root) and file is not None and Path(file) == root.parent / "__init__.py"


def certify(store: EnvStore, record: Record) -> None:
    """Run the gates on a version, in the sandbox, and note that it passed; it needs no consent.

    Raises:
        NotCertified: the gates refuse it here, whatever its certificate says.
        Withdrawn: the version was withdrawn.
        Corrupt: its bytes are not what was published.
        StoreError: it cannot be noted.
    """
    from spade_envs.trust.reverify import reverify

    reverify(store.source(record), store.report(record), record)
    note_verified(record.digest)
