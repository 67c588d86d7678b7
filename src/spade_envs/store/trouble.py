"""What to say when a disk or file system fails: which file, what happened, and the mend."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from spade_envs.errors import StorageError

_SPACE = "free some space there, then do the same again: nothing is half-written"
_RIGHTS = "give yourself the right to write there, or name {other}"
NO_RIGHTS = "give yourself the right to do so, or name a place of your own"
_NAME = "name {other}"
_GONE = "see that the disk or shared folder is mounted, then do the same again"
_BROKEN = "do the same again; if it stays so, copy the store to another disk and run: spade-envs "
_MENDS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.ENOTDIR: _NAME,
    errno.EEXIST: _NAME,
    errno.ENAMETOOLONG: _NAME,
    errno.ELOOP: _NAME,
    errno.ESTALE: _GONE,
    errno.ENODEV: _GONE,
    errno.ENOTCONN: _GONE,
    errno.EHOSTDOWN: _GONE,
    errno.ETIMEDOUT: _GONE,
    errno.EMFILE: "close files, or raise the limit (ulimit -n), then do the same again",
}


def storage_error(error: OSError, doing: str, path: str | Path, *, other: str = "") -> StorageError:
    """Return the error that tells a person what a disk or file system did.

    Args:
        error: what the operating system said.
        doing: `read`, `written`, `made`, ...
        path: of the file or folder.
        other: what can be named instead of it; empty for a store of the user's.
    """
    if isinstance(error, StorageError):
        return error
    why = os.strerror(error.errno) if error.errno else str(error)
    usual = _NAME if other else f"{_BROKEN}verify"
    mend = _MENDS.get(error.errno or 0, usual).format(other=other or "a store of your own")
    if doing == "read" and mend.startswith(_RIGHTS[:20]):
        mend = "give yourself the right to read it"
    told = StorageError(f"{path} cannot be {doing}: {why}; {mend}")
    told.errno = error.errno
    return told
