"""Whether a checked version is let in, by the user's settings."""

from __future__ import annotations

from dataclasses import dataclass

from spade_envs.store.layout import MANIFEST
from spade_envs.trust.incoming import Checked, Refused
from spade_envs.trust.settings import Settings, settings_path
from spade_envs.trust.signatures import Forged, Signed, judge_signature, signer_command


@dataclass(frozen=True, slots=True)
class Admitted:
    """A version that may be placed."""

    signed_by: str = ""
    """The allowed signer whose signature holds; empty if there is none."""
    signed_key: str = ""
    """Their key."""
    remark: str = ""
    """Why no signature counts."""


def admit(checked: Checked, settings: Settings) -> Admitted | Refused:
    """Return whether a version may be placed, judged by the manifest that the remote sent.

    Args:
        checked: what `check_files` gave, before anything of it is renamed.
        settings: of this machine's user; `settings.load()`.
    """
    env_id = checked.env_id
    verdict = judge_signature(checked.files[MANIFEST], checked.signature, settings.signers, env_id)
    if isinstance(verdict, Signed):
        return Admitted(signed_by=verdict.by, signed_key=verdict.key)
    if isinstance(verdict, Forged):
        mend = "take it from another remote, or ask its publisher to sign it anew"
        return Refused(str(env_id), verdict.reason, mend)
    if settings.require_signatures:
        command = signer_command(env_id) if checked.signature is not None else ""
        unsigned = "ask its maker to sign it (spade-envs sign) and to push it again"
        mend = (
            f"{settings_path()} has require_signatures = true; set that to false, or "
            f"{f'allow its signer with: {command}' if command else unsigned}"
        )
        return Refused(str(env_id), verdict.reason, mend, command)
    return Admitted(remark=verdict.reason)
