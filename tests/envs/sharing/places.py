"""An empty place for a remote of each kind."""

import contextlib
import subprocess
import uuid

import pytest


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


@contextlib.contextmanager
def s3(tmp_path):
    """A bucket of an S3 server on this machine (extra `share-test`)."""
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    import boto3
    import s3fs

    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        s3fs.S3FileSystem.clear_instance_cache()
        bucket = f"team-{uuid.uuid4().hex[:12]}"
        boto3.client("s3").create_bucket(Bucket=bucket)
        try:
            yield f"s3://{bucket}/envs"
        finally:
            s3fs.S3FileSystem.clear_instance_cache()
            server.stop()


@contextlib.contextmanager
def hub(tmp_path):
    """A data set of a Hub on this machine."""
    pytest.importorskip("huggingface_hub")
    from envs.sharing.hub import running

    with pytest.MonkeyPatch.context() as patch, running(patch, tmp_path):
        yield "hf://datasets/team/envs"


PLACES = {"folder": folder, "git": git, "memory": memory, "hub": hub, "s3": s3}
