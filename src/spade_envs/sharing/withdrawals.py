"""Following a remote in what it withdraws."""

from __future__ import annotations

import shlex
from pathlib import Path

from spade_envs.errors import Corrupt, FormatTooNew
from spade_envs.manifest.models import Tombstone, read_model
from spade_envs.sharing.offered import Offered
from spade_envs.sharing.outcome import Outcome
from spade_envs.sharing.planning import Plan
from spade_envs.sharing.remotes.protocol import LOST
from spade_envs.store.layout import MAX_TOMBSTONE_BYTES, TOMBSTONE, version_path
from spade_envs.store.publish import bury
from spade_envs.store.read import clean_line
from spade_envs.trust.origin import public_address, sources_in

GONE = "was withdrawn there"


def follow(root: Path, offered: Offered, plan: Plan, *, dry_run: bool) -> Outcome:
    """Withdraw here what was withdrawn at the remote that it came from; else only tell.

    A version that did not come from there, or from another name there, stays as it is: a remote
    decides about its own.
    """
    source, target = str(plan.source), str(plan.target)
    reason = _reason(offered, plan)
    address = public_address(offered.remote.label)
    if source not in sources_in(root, target, plan.digest, address):
        command = withdraw_command(root, target, reason)
        note = f"{GONE} ({reason}); if you agree: {command}"
        return Outcome("kept", source, target, plan.digest, note, command)
    if not dry_run:
        bury(root, plan.target, f"{reason} (as at {address})")
    return Outcome("withdrawn", source, target, plan.digest, f"{GONE}: {reason}")


def withdraw_command(root: Path, env_id: str, reason: str) -> str:
    """Return the command that withdraws here too what was withdrawn elsewhere."""
    where = f"--store {shlex.quote(str(root))} --reason {shlex.quote(reason)}"
    return f"spade-envs withdraw {env_id} {where}"


def _reason(offered: Offered, plan: Plan) -> str:
    path = f"{version_path(plan.source)}/{TOMBSTONE}"
    try:
        data = offered.reader.read(path, MAX_TOMBSTONE_BYTES)
        return clean_line(read_model(Tombstone, data, path).reason) or "no reason given"
    except (*LOST, Corrupt, FormatTooNew):
        return "no readable reason given"
