"""Sorting a listing into versions that may be fetched and what is refused, entry by entry."""

from __future__ import annotations

from spade_envs.ids import EnvId
from spade_envs.store.layout import MANIFEST, REPORT, SOURCE, TOMBSTONE, version_path
from spade_envs.trust.incoming import Entry, Limits, Listing, Refused
from spade_envs.trust.paths import Place, place_of

_KINDS = {"link": "is a link; a store holds none", "other": "is no ordinary file"}
_MEND = "it was left where it is; tell the remote's owner"
_MOST_TOLD = 100
"""Refusals that are kept one by one; a listing of a million bad paths is told in one line."""


class Sorter:
    """Takes a listing entry by entry; see `incoming.sort_listing`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._count, self._bytes = 0, 0
        self._versions: dict[EnvId, dict[str, Entry]] = {}
        self._bad: dict[EnvId, Refused] = {}
        self._refused: list[Refused] = []
        self._untold = 0
        self._alone: dict[str, Refused] = {}
        self._others: dict[str, Entry] = {}
        self._cut = False
        self._blocked: set[str] = set()

    def take(self, entry: Entry) -> bool:
        """Take one entry; False if no more are wanted."""
        if self._count >= self._limits.entries:
            self._cut = True
            return False
        self._count += 1
        place = place_of(entry.path)
        if entry.kind == "unreadable":
            self._refuse(entry.path, "is a folder that you may not read")
        elif isinstance(place, str):
            self._refuse(entry.path, place)
        elif place.left_alone:
            top = entry.path.split("/")[0]
            self._alone.setdefault(top, Refused(top, f"is left alone: {place.left_alone}", ""))
        elif flaw := self._flaw(entry, place):
            self._refuse(entry.path, flaw, place.env_id)
        elif place.env_id is None:
            self._others[place.file] = entry
        else:
            self._versions.setdefault(place.env_id, {})[place.file] = entry
        return True

    def listing(self) -> Listing:
        """Return all that was taken, sorted."""
        whole: dict[EnvId, tuple[Entry, ...]] = {}
        unfinished = []
        for env_id in sorted(self._versions, key=lambda item: (item.name, item.version or 0)):
            files = self._versions[env_id]
            if env_id in self._bad:
                continue
            if self._blocked and (block := self._blocking(env_id)):
                reason = f"lies below {block}, which is listed as something else than a folder"
                self._refused.append(Refused(version_path(env_id), reason, _MEND))
                continue
            if lacking := _lacking(files):
                mend = "pull again when its push has ended"
                where = version_path(env_id)
                unfinished.append(Refused(where, f"is not whole: it lacks {lacking}", mend))
                continue
            self._bytes += sum(entry.size for entry in files.values())
            if self._bytes > self._limits.total_bytes:
                reason = f"goes beyond {self._limits.total_bytes} bytes for all versions together"
                self._refused.append(Refused(version_path(env_id), reason, "select fewer versions"))
                break
            whole[env_id] = tuple(files[name] for name in sorted(files))
        return Listing(
            versions=whole,
            refused=(*self._refused, *self._bad.values(), *self._summary()),
            unfinished=tuple(unfinished),
            left_alone=tuple(self._alone.values()),
            others=tuple(self._others.values()),
        )

    def _summary(self) -> list[Refused]:
        told = []
        if self._untold:
            told.append(Refused("the remote", f"lists {self._untold} more bad paths", _MEND))
        if self._cut:
            reason = f"lists more than {self._limits.entries} files; the rest was not looked at"
            told.append(Refused("the remote", reason, "split it into several stores"))
        return told

    def _refuse(self, path: str, reason: str, env_id: EnvId | None = None) -> None:
        env_id = env_id or _whose(path)
        if path.count("/") < 3:
            self._blocked.add(path)
        refused = Refused(ascii(path[:300])[1:-1], reason, _MEND)
        if env_id is not None:
            self._bad.setdefault(env_id, refused)
        elif len(self._refused) < _MOST_TOLD:
            self._refused.append(refused)
        else:
            self._untold += 1

    def _blocking(self, env_id: EnvId) -> str:
        parts = version_path(env_id).split("/")
        above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return next((path for path in above if path in self._blocked), "")

    def _flaw(self, entry: Entry, place: Place) -> str:
        if entry.kind != "file":
            return _KINDS.get(entry.kind, "is no ordinary file")
        if type(entry.size) is not int or entry.size < 0:
            return f"has the size {str(entry.size)[:40]!r}, which is none"
        if place.env_id is None:
            return "is listed twice" if place.file in self._others else ""
        if entry.size > self._limits.of(place.file):
            return f"has {entry.size} bytes; at most {self._limits.of(place.file)} are taken"
        if place.file in self._versions.get(place.env_id, {}):
            return "is listed twice"
        return ""


def _whose(path: str) -> EnvId | None:
    """Return the version in whose folder a bad path lies, so that all of it is refused."""
    parts = path.split("/")
    if len(parts) < 4:
        return None
    place = place_of("/".join((*parts[:3], MANIFEST)))
    return None if isinstance(place, str) else place.env_id


def _lacking(files: dict[str, Entry]) -> str:
    needed = [MANIFEST, REPORT] if TOMBSTONE in files else [MANIFEST, REPORT, SOURCE]
    return ", ".join(name for name in needed if name not in files)
