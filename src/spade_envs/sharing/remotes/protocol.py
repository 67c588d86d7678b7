"""What a remote can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from spade_envs.errors import RemoteError
from spade_envs.store.layout import MANIFEST, REPORT, SOURCE
from spade_envs.trust.incoming import Entry


class Moved(RemoteError):
    """Raised when somebody else wrote to the remote meanwhile: look again, plan again, and retry.

    Nothing that was handed over since the last `finish` is there then.
    """


class TooLong(RemoteError):
    """Raised when a file has more bytes than its listing says, or than are taken."""


class Unreadable(RemoteError):
    """Raised when this one file cannot be read, though its remote can."""


LOST = (TooLong, Unreadable, FileNotFoundError)
"""What is wrong with one file alone; the remote can be asked for others."""


class Remote(Protocol):
    """An envstore elsewhere. Paths are relative to it. Any method may be called from any thread.

    What `add`, `write_new` and `replace` hand over may become visible as late as at `finish`, but
    never half: a reader takes a version for whole once its manifest is there, and the manifest is
    written last or together with the rest.

    Every method raises `RemoteError` if the remote cannot be reached or refuses.
    """

    label: str
    """What it is called in messages; holds no password or token."""
    known_as: str
    """What this machine's notes on its past are kept under: the label, and the branch if named."""
    written: str
    """Address that leads there again, with its kind and revision; holds no password or token."""
    absent: str
    """Why nothing was listed, where more is known than that; else empty."""

    def entries(self) -> Sequence[Entry]:
        """Return every file there, as the remote lists it now; nothing if there is no store yet."""
        ...

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file's bytes.

        Raises:
            FileNotFoundError: there is no such file.
            TooLong: it has more than `max_bytes` bytes.
            Unreadable: it is there, and may not be read.
        """
        ...

    def check_rights(self) -> None:
        """See that something could be written, as far as that can be told without writing.

        Raises:
            StorageError: nothing may be written into the folder.
        """
        ...

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Make a version's folder hold these files; False if another content has the place."""
        ...

    def write_new(self, path: str, data: bytes) -> bool:
        """Write one file; False if there is one already, which stays."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Put a derived file, or a ledger that has grown, in the place of its older self."""
        ...

    def finish(self, message: str) -> None:
        """Make visible what was handed over, and see that it is.

        Raises:
            Moved: somebody else wrote meanwhile.
        """
        ...


def in_order(files: Mapping[str, bytes]) -> list[str]:
    """Return the order in which a version's files are written one by one.

    The source comes first: whoever writes it has taken the place. The manifest comes last: with it
    the version is whole.
    """
    rank = {SOURCE: 0, REPORT: 1, MANIFEST: 3}
    return sorted(files, key=lambda name: (rank.get(name, 2), name))
