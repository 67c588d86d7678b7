"""What each attempt of a run asks for, kept on disk before it is asked."""

from __future__ import annotations

import logging

import msgspec

from spade_envs.design.brief import Challenge
from spade_envs.store import EnvStore
from spade_envs.store.files import append_file, read_file, refuse_links
from spade_envs.types import Mode, Skill

_log = logging.getLogger(__name__)

FOLDER = "ledger"
_MAX_BYTES = 1 << 30


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one attempt asks for: with corpus and store, all that its brief is made of."""

    attempt: int
    position: int
    """Place of its passage in the corpus's order of draws."""
    skill: Skill
    challenge: Challenge
    mode: Mode
    domain: str = ""
    task: str = ""
    parents: tuple[str, ...] = ()
    """Digests of the environments that the new one is made of."""
    facts: tuple[tuple[str, ...], ...] = ()
    """Of each parent: how it was played and what the gates measured, one line each."""
    examples: tuple[str, ...] = ()
    """Digests of the environments that are shown as good ones."""
    avoid: tuple[str, ...] = ()


class Choices:
    """The choices of one run: append-only, so that an attempt asks for the same after any kill.

    What may be chosen depends on what is in the store at that moment; what was chosen does not. Of
    two lines for one attempt the first one counts.

    Args:
        store: whose ledger keeps them.
        key: name of the run.
        keep: write new choices into the ledger; to look at briefs, nothing need be written.
    """

    def __init__(self, store: EnvStore, key: str, *, keep: bool = True) -> None:
        name = f"briefs-{key}.jsonl"
        self._keep, self._root, self._path = keep, store.root, store.root / FOLDER / name
        refuse_links(store.root, FOLDER, name)
        try:
            raw = read_file(store.root, f"{FOLDER}/{name}", max_bytes=_MAX_BYTES)
        except FileNotFoundError:
            raw = b""
        self.by_attempt: dict[int, Choice] = {}
        for choice in map(_read, raw.split(b"\n")):
            if choice is not None:
                self.by_attempt.setdefault(choice.attempt, choice)

    def add(self, choice: Choice) -> None:
        """Note a choice; it is on disk when this returns, if it is to be kept."""
        self.by_attempt[choice.attempt] = choice
        if not self._keep:
            return
        append_file(self._root, self._path, msgspec.json.encode(choice) + b"\n")


def _read(raw: bytes) -> Choice | None:
    if not raw.strip():
        return None
    try:
        choice = msgspec.json.decode(raw, type=Choice)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _log.warning("passed over a line of a run's briefs that is not whole")
        return None
    sound = min(choice.attempt, choice.position) >= 0 and len(choice.facts) == len(choice.parents)
    return choice if sound else None
