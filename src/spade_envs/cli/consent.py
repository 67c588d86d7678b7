"""Asking for consent where somebody sits at the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from spade_envs.types import Record


def ask_consent(record: Record) -> None:
    """Ask, if this is a terminal, whether an environment from elsewhere may run; remember a yes.

    Whoever says no, or cannot be asked, meets the error of `trust.runs.source_to_run`.
    """
    from spade_envs.cli.output import say
    from spade_envs.trust.consent import lookalike, whose
    from spade_envs.trust.origin import origin_in
    from spade_envs.trust.runs import standing
    from spade_envs.trust.settings import allow, load

    found = standing(record.digest)
    origin = origin_in(record.store, record.id, found.origins)
    if origin and not found.consented and sys.stdin.isatty() and sys.stderr.isatty():
        trusted = [each.name for each in load().namespaces if each.name]
        say(f"{record.id} comes from {origin.remote} and would run here for the first time.")
        if origin.signed_by == "":
            say("No signer whom you allow vouches for it.")
        if (other := lookalike(origin.namespace, trusted)) is not None:
            say(f"Its namespace {origin.namespace!r} looks like {other!r}, which you trust.")
        question = f"Let {whose(origin.namespace)} from there run on this machine, in the sandbox?"
        if click.confirm(question, default=False, err=True):
            allow(origin.namespace, origin.remote)
            found = standing(record.digest)
    if found.consented and not found.certified:
        say(f"{record.id} runs here for the first time; the gates judge it first")
