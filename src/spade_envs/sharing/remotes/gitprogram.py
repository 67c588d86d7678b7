"""The `git` program, asked so that an address or a repository cannot make it run anything.

Only bare repositories of our own are worked in: nothing is checked out, so no filter, hook or
attribute of what was fetched takes effect. The address reaches git through its environment and is
on no command line and in no file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from spade_envs.errors import ConfigError, RemoteError, StorageError
from spade_envs.sharing.remotes.address import masked

MOST_BLOCKS = 16 << 20
"""Of 512 bytes: no file that git writes while it fetches may be greater."""
MOST_LISTED_BYTES = 512 << 20
_PIECE_BYTES = 1 << 20
_OTHERS = re.compile(r"dubious ownership in repository at '([^'\n]+)'")

_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("fetch.fsckObjects", "true"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
    ("protocol.ext.allow", "never"),
)
NAME = "spade"
"""What the remote is called inside git."""


class Git:
    """The git program on one bare repository, with one remote."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.sha256 = False
        """Whether objects are named by SHA-256, as the remote's are; a repository has one sort."""
        found = shutil.which("git")
        if found is None:
            raise ConfigError("this remote needs the git program; install git")
        self._git = found

    def make(self) -> None:
        """Make the repository, if it is not there or, after a kill or on a full disk, in part."""
        try:
            if os.path.lexists(self.folder):
                if self._has_settings():
                    return
                self.discard()
            self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageError(
                f"{self.folder.parent} cannot be used ({error.strerror}), and what git fetches "
                "is kept there; set XDG_CACHE_HOME to a folder of your own"
            ) from None
        new = Git(self.folder.with_name(f"{self.folder.name}.{uuid.uuid4().hex}"), self.url)
        new.sha256 = self.sha256
        try:
            new.run("init", "--quiet", "--bare", "--template=", str(new.folder))
            with contextlib.suppress(OSError):  # somebody else was first
                new.folder.rename(self.folder)
        finally:
            shutil.rmtree(new.folder, ignore_errors=True)

    def _has_settings(self) -> bool:
        """Whether git can read the repository's own settings, which are made last."""
        if not (self.folder / "HEAD").is_file():
            return False
        asked = ("config", "--file", str(self.folder / "config"), "core.bare")
        return self.run(*asked, check=False).stdout.strip() == b"true"

    def fit(self, *, sha256: bool) -> None:
        """Make the repository anew if it is of another sort than the remote."""
        self.sha256 = sha256
        config = (self.folder / "config").read_text("utf-8", "replace").lower()
        if ("objectformat = sha256" in config) != sha256:
            self.discard()
            self.make()

    def is_sound(self) -> bool:
        """Whether the repository has every object that its refs need."""
        done = self.run(
            "fsck", "--connectivity-only", "--no-dangling", "--no-progress", check=False
        )
        return done.returncode == 0

    def discard(self) -> None:
        """Remove the repository; nobody sees half of it meanwhile."""
        gone = self.folder.with_name(f"{self.folder.name}.{uuid.uuid4().hex}")
        with contextlib.suppress(FileNotFoundError):
            self.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        gone.unlink(missing_ok=True)  # it was no folder

    def environment(self) -> dict[str, str]:
        """Return what git may know: no repository of the caller's, and our settings last."""
        kept = {name: value for name, value in os.environ.items() if not _is_local(name)}
        settings = [*_SETTINGS, (f"remote.{NAME}.url", self.url)]
        numbered = {}
        for number, (key, value) in enumerate(settings):
            numbered[f"GIT_CONFIG_KEY_{number}"] = key
            numbered[f"GIT_CONFIG_VALUE_{number}"] = value
        return kept | numbered | {
            "GIT_CONFIG_COUNT": str(len(settings)),
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_VARIANT": os.environ.get("GIT_SSH_VARIANT", "ssh"),
            "GIT_DEFAULT_HASH": "sha256" if self.sha256 else "sha1",
            "LC_ALL": "C",
        }  # fmt: skip

    def command(self, *arguments: str) -> list[str]:
        """Return the command line, bounded in what it may write."""
        call = [self._git, f"--git-dir={self.folder}", "--literal-pathspecs", *arguments]
        return ["/bin/sh", "-c", f'ulimit -f {MOST_BLOCKS}; exec "$@"', "sh", *call]

    def run(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        """Return what git answered.

        Raises:
            RemoteError: it failed and `check` is set; the message holds no secret.
        """
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise self.failure(arguments[0], done.stderr)
        return done

    def failure(self, doing: str, said: bytes) -> RemoteError:
        """Return the error for what git said on stderr."""
        text = said.decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip() and "hint:" not in line]
        told = lines if len(lines) < 5 else [*lines[:2], *lines[-2:]]  # the cause, and the end
        why = masked(" ".join(told), self.url) or "it gave no reason"
        if (found := _OTHERS.search(text)) and self.url.startswith("file:///"):
            why = (
                f"{found[1]} belongs to another user; if you trust them: git config --global --add "
                f"safe.directory {shlex.quote(found[1])}"
            )
        return RemoteError(f"git {doing} of {masked(self.url, self.url)} failed: {why}")

    def unborn_branch(self) -> str:
        """Return the branch that an empty repository will have, as a clone would; else empty."""
        key = {"GIT_CONFIG_KEY_0": f"url.{self.url}.insteadOf", "GIT_CONFIG_VALUE_0": f"{NAME}:"}
        with tempfile.TemporaryDirectory(prefix="spade-envs-") as folder:
            target = Path(folder) / "empty.git"
            call = [self._git, "clone", "--quiet", "--bare", "--template=", f"{NAME}:", str(target)]
            done = subprocess.run(
                call,
                env=self.environment() | key,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if done.returncode != 0:
                return ""
            return Git(target, self.url).run("symbolic-ref", "HEAD").stdout.decode().strip()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start git with pipes to and from it."""
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def records(self, *arguments: str, most: int) -> Sequence[bytes]:
        """Return what git lists with `-z`, and read no further than `most` of it.

        A few kilobytes of a repository can list billions of files.

        Raises:
            RemoteError: git failed, or names are absurdly long.
        """
        process = self.start(*arguments)
        pipe = process.stdout
        assert pipe is not None
        parts, found, size = [], 0, 0
        try:
            while found < most and (part := os.read(pipe.fileno(), _PIECE_BYTES)):
                parts.append(part)
                found, size = found + part.count(b"\0"), size + len(part)
                if size > MOST_LISTED_BYTES:
                    raise self.failure(arguments[0], b"its list of files has no end")
        finally:
            if found >= most or size > MOST_LISTED_BYTES:
                process.kill()
            said = process.communicate()[1]
        if found < most and process.returncode != 0:
            raise self.failure(arguments[0], said)
        return b"".join(parts).split(b"\0")[:-1][:most]

    def delete_refs(self, refs: Sequence[str]) -> None:
        """Delete refs of our own, all in one go."""
        subprocess.run(
            self.command("update-ref", "--stdin"),
            env=self.environment(),
            input="".join(f"delete {ref}\n" for ref in refs).encode(),
            capture_output=True,
            check=False,
        )

    def words(self, *arguments: str) -> Sequence[str]:
        """Return the lines that git answered."""
        return self.run(*arguments).stdout.decode("utf-8", "replace").splitlines()


def _is_local(name: str) -> bool:
    """Whether an environment variable would tie git to a repository of the caller's."""
    kept = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_CAINFO"}
    kept |= {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH"}
    identity = name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
    return name.startswith("GIT_") and name not in kept and not identity
