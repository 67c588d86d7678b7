"""A data set on the Hugging Face Hub as a remote; the one door to huggingface_hub in sharing."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from spade_envs.errors import MissingExtra, RemoteError
from spade_envs.sharing.remotes.address import Address
from spade_envs.sharing.remotes.protocol import Moved, TooLong
from spade_envs.store.read import clean_line
from spade_envs.trust.incoming import Entry

T = TypeVar("T")

MOST_FILES = 3000
"""Of one commit: more are pushed in several, each of whole versions."""
MOST_BYTES = 256 << 20
COMMIT = re.compile(r"[0-9a-f]{40}")
ATTRIBUTES = ".gitattributes"


@contextmanager
def open_hub_remote(address: Address) -> Iterator[HubRemote]:
    """Give a data set on the Hub as a remote."""
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub") from None
    yield HubRemote(huggingface_hub, address)


class HubRemote:
    """A data set on the Hub. Whoever pushes needs the rights; the library finds the token."""

    def __init__(self, library: Any, address: Address) -> None:
        self._hub, self._api = library, library.HfApi()
        self._name = address.url.removeprefix("hf://datasets/")
        self._wanted = address.revision or None
        self.label, self.written = address.label, address.written
        self.known_as, self.absent = address.known_as, ""
        self._lock = threading.Lock()
        self._commit: str | None = None
        self._exists = False
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        self._waiting: dict[str, bytes] = {}
        self._bytes = 0

    def entries(self) -> Sequence[Entry]:
        """Return every file of the newest commit, or of the revision that the address names."""
        self._waiting, self._bytes, self._paths, self._folders = {}, 0, set(), set()
        missing = self._hub.errors.RepositoryNotFoundError
        where: dict[str, Any] = {"repo_type": "dataset"}
        try:
            info = self._ask(
                "found",
                lambda: self._api.repo_info(self._name, revision=self._wanted, **where),
                missing,
            )
        except missing:
            self._exists, self._commit = False, None
            return ()
        self._exists, self._commit = True, info.sha
        if self._wanted is not None and COMMIT.fullmatch(self._wanted):
            self._check_history(self._wanted)
        tree = self._ask(
            "listed",
            lambda: list(
                self._api.list_repo_tree(self._name, recursive=True, revision=info.sha, **where)
            ),
        )
        found = [Entry(item.path, int(item.size)) for item in tree if hasattr(item, "size")]
        self._paths = {entry.path for entry in found}
        self._folders = {path.rpartition("/")[0] for path in self._paths}
        return found

    def _check_history(self, commit: str) -> None:
        """See that a commit is one of `main`; those of proposed changes are given as well."""
        commits = self._ask(
            "listed", lambda: self._api.list_repo_commits(self._name, repo_type="dataset")
        )
        if all(each.commit_id != commit for each in commits):
            raise RemoteError(
                f"{self.label}: the commit {commit} is none of main's, so that whoever may propose "
                "changes could have made it; name a branch, a tag or a commit of main"
            )

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file of the commit that was listed; it is kept in the Hub's own cache."""
        missing = self._hub.errors.EntryNotFoundError
        where: dict[str, Any] = {"repo_type": "dataset", "revision": self._commit}
        try:
            place = self._ask(
                "read", lambda: self._hub.hf_hub_download(self._name, path, **where), missing
            )
        except missing:
            raise FileNotFoundError(path) from None
        with Path(place).open("rb") as file:
            data = file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise TooLong(f"{path} at {self.label} has more than {max_bytes} bytes")
        return data

    def check_rights(self) -> None:
        """Tell nothing: what may be written shows only when it is."""

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Put a version's files into the commit that is being made."""
        with self._lock:
            if folder in self._folders:
                return False
            if len(self._waiting) > MOST_FILES or self._bytes > MOST_BYTES:
                self._send("Push environments")
            for name, data in files.items():
                self._take(f"{folder}/{name}", data)
            self._folders.add(folder)
        return True

    def write_new(self, path: str, data: bytes) -> bool:
        """Put one file into the commit; False if the one before it has such a file."""
        with self._lock:
            if path in self._paths:
                return False
            self._take(path, data)
            self._paths.add(path)
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Put one file into the commit, whatever was there."""
        with self._lock:
            self._take(path, data)

    def finish(self, message: str) -> None:
        """Commit on top of the commit that was listed, or not at all."""
        with self._lock:
            if self._waiting:
                self._send(message)

    def _take(self, path: str, data: bytes) -> None:
        self._waiting[path] = data
        self._bytes += len(data)

    def _send(self, message: str) -> None:
        where: dict[str, Any] = {"repo_type": "dataset"}
        if not self._exists:
            self._make()
        changes = [
            self._hub.CommitOperationAdd(path_in_repo=path, path_or_fileobj=data)
            for path, data in sorted(self._waiting.items())
        ]
        made = self._ask(
            "written",
            lambda: self._api.create_commit(
                self._name,
                changes,
                commit_message=message,
                revision=self._wanted,
                parent_commit=self._commit,
                **where,
            ),
        )
        self._commit = made.oid
        self._waiting, self._bytes = {}, 0

    def _make(self) -> None:
        where: dict[str, Any] = {"repo_type": "dataset"}
        # Private: what is published to the world is its owner's decision, not ours.
        self._ask(
            "made",
            lambda: self._api.create_repo(self._name, private=True, exist_ok=True, **where),
        )
        waiting, size = self._waiting, self._bytes
        there = {entry.path for entry in self.entries()}
        if there - {ATTRIBUTES}:
            raise Moved(f"{self.label} holds something since just now")
        # The Hub's own attributes say which files it keeps elsewhere; they stay.
        self._waiting = {path: data for path, data in waiting.items() if path not in there}
        self._bytes = size

    def _ask(self, doing: str, act: Callable[[], T], *passing: type[Exception]) -> T:
        try:
            return act()
        except passing:
            raise
        except self._hub.errors.HfHubHTTPError as error:
            status = getattr(error.response, "status_code", None)
            if doing == "written" and status in (409, 412):
                raise Moved(f"somebody else pushed to {self.label} meanwhile") from None
            raise RemoteError(f"{self.label} cannot be {doing}: {_reason(error, status)}") from None
        except _errors() as error:
            raise RemoteError(f"{self.label} cannot be {doing}: {_reason(error, None)}") from None


def _reason(error: BaseException, status: int | None) -> str:
    mends = {401: "log in with: hf auth login", 403: "ask its owner for the right to do so"}
    text = clean_line(str(error), 300) or type(error).__name__
    return f"{text}; {mends[status]}" if status in mends else text


def _errors() -> tuple[type[Exception], ...]:
    library = sys.modules.get("httpx")
    found = getattr(library, "HTTPError", None)
    return (OSError, ValueError, RuntimeError, *(() if found is None else (found,)))
