"""From an address to an open remote."""

from __future__ import annotations

from contextlib import AbstractContextManager

from spade_envs.sharing.remotes.address import Address, Kind
from spade_envs.sharing.remotes.protocol import Remote


def open_remote(address: str | Address) -> AbstractContextManager[Remote]:
    """Return a remote, as a context manager; nothing is asked of it yet.

    Args:
        address: a folder or `file://`; a git URL (`https://`, `ssh://`, `git@host:path`,
            `git+file://`, a path that ends in `.git`), with `#branch` if it is not the usual one;
            `hf://datasets/OWNER/NAME`; any other URL goes to fsspec, such as `s3://bucket/envs`.

    Raises:
        ConfigError: it is no such address.
        MissingExtra: the library that reaches it is not installed.
        RemoteError: the file system that the address names cannot be used.
    """
    found = address if isinstance(address, Address) else Address.read(address)
    if found.kind is Kind.FOLDER:
        from spade_envs.sharing.remotes.folder import open_folder_remote

        return open_folder_remote(found)
    if found.kind is Kind.GIT:
        from spade_envs.sharing.remotes.git import open_git_remote

        return open_git_remote(found)
    if found.kind is Kind.HUB:
        from spade_envs.sharing.remotes.hub import open_hub_remote

        return open_hub_remote(found)
    from spade_envs.sharing.remotes.objects import open_object_remote

    return open_object_remote(found)
