"""An empty place for a remote of each kind."""

import contextlib
import subprocess
import uuid


@contextlib.contextmanager
def folder(tmp_path):
    yield str(tmp_path / "remote")


@contextlib.contextmanager
def git(tmp_path):
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    yield str(path)


@contextlib.contextmanager
def memory(tmp_path):
    import fsspec

    name = uuid.uuid4().hex
    yield f"memory://{name}/envs"
    with contextlib.suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(f"/{name}", recursive=True)


PLACES = {"folder": folder, "git": git, "memory": memory}
