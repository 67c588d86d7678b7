"""A git repository as a remote: its tree is an envstore, every push one commit on top.

What was fetched once is kept in a bare repository in the user's cache folder, so a later pull
transfers what is new. A push that comes second is planned again on the other one's commit: nothing
is merged and nothing forced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from spade_envs.errors import RemoteError, StorageError
from spade_envs.sharing.remotes.address import Address, path_of
from spade_envs.sharing.remotes.gitprogram import NAME, Git
from spade_envs.sharing.remotes.protocol import Moved, TooLong
from spade_envs.store.trouble import NO_RIGHTS
from spade_envs.trust.incoming import Entry, Limits

_NO_HOOKS = "git -c core.hooksPath=/dev/null receive-pack"
_USUAL = ("refs/heads/main", "refs/heads/master")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_HEAD = re.compile(r"ref: (refs/heads/\S+)\tHEAD")
_SAFE = re.compile(r"[A-Za-z0-9._/-]+")
_RIVAL = (b"non-fast-forward", b"fetch first", b"cannot lock ref", b"failed to update ref",
          b"incorrect old value", b"stale info", b"reference already exists")  # fmt: skip
_END_S = 1.0
"""How long the end of what git runs is waited for."""
_DENIED = (b"Permission denied", b"unable to create directory")
_NOBODY = "spade-envs <spade-envs@localhost>"


@contextmanager
def open_git_remote(address: Address) -> Iterator[GitRemote]:
    """Give a git repository as a remote."""
    from platformdirs import user_cache_path

    key = hashlib.sha256(address.url.encode()).hexdigest()[:24]
    folder = user_cache_path("spade-envs", appauthor=False) / "git" / f"{key}.git"
    remote = GitRemote(Git(folder, address.url), address)
    try:
        yield remote
    finally:
        remote.close()


class GitRemote:
    """A branch of a git repository."""

    def __init__(self, git: Git, address: Address) -> None:
        self._git, self.label, self._wanted = git, address.label, address.revision
        self.written, self.known_as = address.written, address.known_as
        self.absent = ""
        self._lock, self._closed = threading.Lock(), False
        self._mine = f"refs/spade/{uuid.uuid4().hex}"
        self._branch, self._tip = "", ""
        self._blobs: dict[str, str] = {}
        self._folders: set[str] = set()
        self._changes: list[bytes] = []
        self._reader: subprocess.Popen[bytes] | None = None
        self._writer: subprocess.Popen[bytes] | None = None

    def entries(self) -> Sequence[Entry]:
        """Fetch the branch, and return every file of its newest commit."""
        self._drop()
        listing = self._fetch()
        self._blobs, self._folders = {}, set()
        found = []
        for line in listing:
            facts, _, name = line.partition(b"\t")
            mode, _, blob, size = facts.decode("ascii").split()
            path = name.decode("utf-8", "replace")
            kind: Literal["file", "link", "other"] = "file"
            if mode not in ("100644", "100755"):
                kind = "link" if mode == "120000" else "other"
            found.append(Entry(path, int(size) if size.isdigit() else 0, kind))
            self._blobs[path] = blob
            self._folders.add(path.rpartition("/")[0])
        return found

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return a file of the commit that was listed."""
        if path not in self._blobs:
            raise FileNotFoundError(path)
        with self._lock:
            self._check_open()
            if self._reader is None:
                self._reader = self._git.start("cat-file", "--batch")
            try:
                return self._read(self._reader, path, max_bytes)
            except (RemoteError, BrokenPipeError) as error:
                self._reader.kill()
                self._reader.communicate()
                self._reader = None
                if isinstance(error, TooLong):
                    raise
                raise RemoteError(f"git stopped while it read {path} of {self.label}") from None

    def _read(self, reader: subprocess.Popen[bytes], path: str, max_bytes: int) -> bytes:
        pipe_in, pipe_out = reader.stdin, reader.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(f"{self._blobs[path]}\n".encode())
        pipe_in.flush()
        words = pipe_out.readline().split()
        if words[1:] == [b"missing"] or (len(words) == 3 and words[1] != b"blob"):
            raise TooLong(f"{path} at {self.label} is no file")
        if len(words) == 3 and int(words[2]) > max_bytes:
            raise TooLong(f"{path} at {self.label} has more than {max_bytes} bytes")
        data = pipe_out.read(int(words[2]) + 1) if len(words) == 3 else b""
        if data[-1:] != b"\n" or len(data) <= int(words[2]):
            raise RemoteError("cut short")
        return data[:-1]

    def check_rights(self) -> None:
        """See that a branch is named, and of a repository on this machine that it may be written.

        Whether a server lets us push shows only when we do.
        """
        url = self._git.url
        here = Path(path_of(url)) if url.startswith("file:///") else None
        for objects in (here / "objects", here / ".git/objects") if here else ():
            if os.path.isdir(objects) and not os.access(objects, os.W_OK | os.X_OK):
                raise StorageError(f"nothing may be written into {objects}; {NO_RIGHTS}")
        if self._tip and not self._branch:
            raise RemoteError(f"{self.label}#{self._wanted} is no branch, so nothing is pushed")

    def add(self, folder: str, files: Mapping[str, bytes]) -> bool:
        """Put a version's files into the commit that is being made."""
        with self._lock:
            if folder in self._folders:
                return False
            for name, data in sorted(files.items()):
                self._write(f"{folder}/{name}", data)
            self._folders.add(folder)
        return True

    def write_new(self, path: str, data: bytes) -> bool:
        """Put one file into the commit; False if the commit before it has one."""
        with self._lock:
            if path in self._blobs:
                return False
            self._write(path, data)
            self._blobs[path] = ""
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Put one file into the commit, whatever was there."""
        with self._lock:
            self._write(path, data)

    def finish(self, message: str) -> None:
        """Commit, and push without force."""
        if self._writer is None:
            return
        self._tell(f"commit {self._mine}-new\ncommitter {self._identity()}\n".encode(), message)
        writer, self._writer = self._writer, None
        assert writer.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            writer.stdin.write(b"".join(self._changes))
            writer.stdin.write(b"\ndone\n")
        said = writer.communicate()[1]
        if writer.returncode != 0:
            raise self._git.failure("fast-import", said)
        self._push()

    # Fetching

    def _fetch(self) -> Sequence[bytes]:
        """Fetch the branch, and return its tree as git lists it; empty if there is none yet."""
        self._git.make()
        said = self._git.words("ls-remote", "--symref", NAME)
        refs = {name: what for what, tab, name in (line.partition("\t") for line in said) if tab}
        self._branch, source = _chosen(self._wanted, said, refs)
        self._git.fit(sha256=any(len(what) == 64 and " " not in what for what in refs.values()))
        self.absent = "" if source else _why_not(self._wanted, refs)
        if not source:
            self._tip = ""
            return ()
        try:
            return self._take(source)
        except RemoteError:
            if self._git.is_sound():
                raise
        # What was kept of earlier fetches was damaged, as by a full disk; it is no more than that.
        self._git.discard()
        self._git.make()
        return self._take(source)

    def _take(self, source: str) -> Sequence[bytes]:
        self._git.run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc",
            NAME, f"+{source}:{self._mine}",
        )  # fmt: skip
        if self._git.words("cat-file", "-t", f"{self._mine}^{{}}") != ["commit"]:
            raise RemoteError(
                f"{self.label}: {source} is no commit, but a file or folder; name a branch, tag "
                "or commit"
            )
        (self._tip,) = self._git.words("rev-parse", "--verify", f"{self._mine}^{{commit}}")
        if source == self._wanted and _COMMIT.fullmatch(source):
            self._check_history()
        # Kept for the next time, so that only what is new is fetched; a rival may be at it.
        self._git.run("update-ref", "refs/spade/last", self._tip, check=False)
        most = Limits().entries + 1
        return self._git.records("ls-tree", "-r", "-z", "-l", "--full-tree", self._tip, most=most)

    def _check_history(self) -> None:
        """See that a commit belongs to a branch or tag; servers give those of forks as well."""
        mine = [f"{self._mine}-heads", f"{self._mine}-tags"]
        try:
            self._git.run(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", NAME,
                f"+refs/heads/*:{mine[0]}/*", f"+refs/tags/*:{mine[1]}/*",
            )  # fmt: skip
            if not self._git.words("for-each-ref", "--count=1", "--contains", self._tip, *mine):
                raise RemoteError(
                    f"{self.label}: the commit {self._wanted} is on no branch and under no tag, "
                    "so that whoever may propose changes could have made it; name a branch or tag"
                )
        finally:
            self._git.delete_refs(self._git.words("for-each-ref", "--format=%(refname)", *mine))

    # Writing

    def _write(self, path: str, data: bytes) -> None:
        self._check_open()
        if not _SAFE.fullmatch(path):
            raise RemoteError(f"{path!r} cannot be a path of a store")
        if self._writer is None:
            self.check_rights()
            self._writer = self._git.start("fast-import", "--quiet", "--done", "--force")
            self._changes = []
        mark = len(self._changes) + 1
        head = f"blob\nmark :{mark}\ndata {len(data)}\n".encode()
        assert self._writer.stdin is not None
        try:
            self._writer.stdin.write(head + data + b"\n")
        except BrokenPipeError:
            raise RemoteError(f"git cannot write into {self._git.folder}; is it full?") from None
        self._changes.append(f"M 100644 :{mark} {path}\n".encode())

    def _tell(self, head: bytes, message: str) -> None:
        text = message.encode("utf-8", "replace")
        parent = f"from {self._tip}\n".encode() if self._tip else b""
        self._changes.insert(0, head + b"data %d\n" % len(text) + text + b"\n" + parent)

    def _identity(self) -> str:
        done = self._git.run("var", "GIT_COMMITTER_IDENT", check=False)
        text = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode == 0 and re.fullmatch(r"[^<>\n]* <[^<>\n]*> \d+ [+-]\d{4}", text):
            return text
        from datetime import UTC, datetime

        return f"{_NOBODY} {int(datetime.now(UTC).timestamp())} +0000"

    def _push(self) -> None:
        target = self._branch or self._git.unborn_branch() or "refs/heads/main"
        # On this machine git itself receives, and would run that repository's hooks as ours.
        here = [f"--receive-pack={_NO_HOOKS}"] if self._git.url.startswith("file:///") else []
        done = self._git.run(
            "push", "--porcelain", "--no-verify", *here, NAME, f"{self._mine}-new:{target}",
            check=False,
        )  # fmt: skip
        if done.returncode == 0:
            self._git.run("update-ref", "refs/spade/last", f"{self._mine}-new", check=False)
            return
        said = done.stdout + done.stderr
        denied = any(
            b"cannot lock ref" in line and any(word in line for word in _DENIED)
            for line in said.splitlines()
        )
        if any(word in said for word in _RIVAL) and not denied:
            why = str(self._git.failure("push", done.stderr or done.stdout))
            raise Moved(f"{why} (somebody else may have pushed meanwhile; do it again)")
        raise self._git.failure("push", done.stderr or done.stdout)

    def _drop(self) -> None:
        for process in (self._writer, self._reader):
            if process is not None:
                process.kill()  # so that a thread that waits for it lets the lock go
        held = self._lock.acquire(timeout=_END_S)
        try:
            for process in (self._writer, self._reader):
                if process is not None:
                    process.kill()
                    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
                        process.communicate(timeout=_END_S)  # a child of git may hold the pipe
            self._writer = self._reader = None
        finally:
            if held:
                self._lock.release()

    def _check_open(self) -> None:
        if self._closed:
            raise RemoteError(f"{self.label} is not asked any more")

    def close(self) -> None:
        """End git's processes, and forget what was begun; an interrupt leaves threads at work."""
        self._closed = True
        self._drop()
        if os.path.exists(self._git.folder / "HEAD"):
            for ref in (self._mine, f"{self._mine}-new"):
                self._git.run("update-ref", "-d", ref, check=False)


def _why_not(wanted: str, refs: Mapping[str, str]) -> str:
    """Return why nothing was found to fetch."""
    heads = sorted(ref.removeprefix("refs/heads/") for ref in refs if ref.startswith("refs/heads/"))
    if not heads:
        return "the repository has no branch yet"
    there = ", ".join(heads[:5]) + (", ..." if len(heads) > 5 else "")
    return f"the repository has no {wanted!r}; its branches are {there}"


def _chosen(wanted: str, said: Sequence[str], refs: Mapping[str, str]) -> tuple[str, str]:
    """Return the branch to push to, if it is one, and what is fetched; both empty if new."""
    if wanted:
        for ref in (f"refs/heads/{wanted}", f"refs/tags/{wanted}", wanted):
            if ref in refs and ref.startswith(("refs/heads/", "refs/tags/")):
                return (ref if ref.startswith("refs/heads/") else ""), ref
        if wanted.startswith("refs/"):
            raise RemoteError(f"the repository has no {wanted!r}; name a branch by its short name")
        return ("", wanted) if _COMMIT.fullmatch(wanted) else (f"refs/heads/{wanted}", "")
    named = next((match[1] for line in said if (match := _HEAD.fullmatch(line))), "")
    if named in refs:
        return named, named
    heads = sorted(ref for ref in refs if ref.startswith("refs/heads/"))
    if not heads:
        return "", ""
    for ref in _USUAL:
        if ref in refs:
            return ref, ref
    # Not even a lone one is taken: who may push a branch of their own could make it.
    raise RemoteError(
        "the repository has no usual branch; write URL#branch, such as "
        f"#{heads[0].removeprefix('refs/heads/')}"
    )
