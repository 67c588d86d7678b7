"""Refs as people write them, names that clash with nobody's, addresses without surprises."""

import errno
import json
import os
import subprocess

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from envs.store.kit import add
from spade_envs.cli.main import cli, exit_code
from spade_envs.errors import ConfigError, IdError, NotFound, RemoteError, StorageError
from spade_envs.ids import EnvId
from spade_envs.sharing import Wanted
from spade_envs.sharing.known import (
    add_remote,
    address_of,
    file_path,
    known_remotes,
    remove_remote,
)
from spade_envs.sharing.local import greatest, next_free
from spade_envs.sharing.names import Renaming, read_ref
from spade_envs.sharing.remotes import Address, Kind, open_remote
from spade_envs.sharing.remotes.address import holds_secret, masked, shown
from spade_envs.store import open_store
from spade_envs.trust.origin import public_address
from spade_envs.trust.seen import _place

SLUGS = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("maze", "maze", None),
        ("alice/maze", "alice.maze", None),
        ("alice/maze@3", "alice.maze", 3),
        ("alice/maze@v3", "alice.maze", 3),
        ("alice/maze@latest", "alice.maze", None),
        ("alice.maze-v1", "alice.maze", 1),
        ("spade/alice.maze-v1", "alice.maze", 1),
        ("spade/maze@0", "maze", 0),
    ],
)
def test_a_ref_means_one_name(text, name, version):
    assert read_ref(text) == EnvId(name, version)


@pytest.mark.parametrize("text", ["", "a/b/c", "maze@", "maze@01", "maze-v0@1", "../maze", "A/b"])
def test_what_is_no_ref_is_refused_with_an_example(text):
    with pytest.raises(IdError, match="alice/maze@0"):
        read_ref(text)


@given(SLUGS, SLUGS, SLUGS, st.integers(0, 99))
def test_a_namespace_replaces_the_owner_and_nothing_else(owner, name, other, number):
    try:
        mine = EnvId(f"{owner}.{name}", number)
        renaming = Renaming(namespace=other)
    except (IdError, ConfigError):
        return
    once = renaming.of(mine)
    assert once == EnvId(f"{other}.{name}", number) == renaming.of(EnvId(name, number))
    assert renaming.of(once) == once


def test_a_selection_takes_owners_names_versions_and_digests(stores):
    store = stores[0]
    maze = [add(store, number, name="alice.maze") for number in range(2)]
    chess = add(store, 5, name="alice.chess", skills=["planning"])
    own = add(store, 6, name="own")
    store.withdraw(maze[1].id, "it leaks")
    records = store.records()

    def ids(*refs, **more):
        return {each.id for each in Wanted(refs=refs, **more).choose(records)}

    assert ids("alice/*") == {maze[0].id, maze[1].id, chess.id}
    assert ids("alice/maze") == {maze[0].id}
    assert ids("alice/maze@1", "own") == {maze[1].id, own.id}
    assert ids(chess.digest) == {chess.id}
    assert ids(skills=("planning",)) == {chess.id}
    with pytest.raises(NotFound, match=r"did you mean 'alice\.maze'"):
        ids("alice/maez")
    with pytest.raises(IdError, match="64 digits"):
        ids(chess.digest[:20])


@pytest.mark.parametrize(
    ("text", "kind", "url", "revision"),
    [
        ("s3://bucket/envs/", Kind.OBJECTS, "s3://bucket/envs", ""),
        ("hf://datasets/team/envs@v1", Kind.HUB, "hf://datasets/team/envs", "v1"),
        ("https://host/team/envs", Kind.GIT, "https://host/team/envs", ""),
        ("git@host:team/envs.git#dev", Kind.GIT, "git@host:team/envs.git", "dev"),
        ("git+ssh://git@host/x", Kind.GIT, "ssh://git@host/x", ""),
        ("/shared/envs", Kind.FOLDER, "/shared/envs", ""),
        ("file:///shared/envs", Kind.FOLDER, "/shared/envs", ""),
        ("/shared/envs.git#v1", Kind.GIT, "file:///shared/envs.git", "v1"),
        ("FILE://localhost/shared/my%20envs", Kind.FOLDER, "/shared/my envs", ""),
        ("/shared/my%20envs", Kind.FOLDER, "/shared/my%20envs", ""),
        ("GIT+FILE:///shared/a%20b.git#v1", Kind.GIT, "file:///shared/a b.git", "v1"),
        ("git+file:///shared/a/%2e%2E/b.git", Kind.GIT, "file:///shared/b.git", ""),
        ("/shared/a%20b.git", Kind.GIT, "file:///shared/a%2520b.git", ""),
        ("file:///shared/a%2520b.git", Kind.GIT, "file:///shared/a%2520b.git", ""),
        ("HTTPS://host/team", Kind.GIT, "https://host/team", ""),
        ("https://host/team#feature+x", Kind.GIT, "https://host/team", "feature+x"),
        ("https://host/team#\u00fc/1=2", Kind.GIT, "https://host/team", "\u00fc/1=2"),
        ("https://host/team#refs/heads/x", Kind.GIT, "https://host/team", "x"),
        ("https://host/team#refs/tags/x", Kind.GIT, "https://host/team", "refs/tags/x"),
    ],
)
def test_an_address_means_one_kind_of_remote(text, kind, url, revision):
    assert Address.read(text) == Address(kind, url, revision)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-x",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "git+ext::sh",
        "git+foo://host/x",
        "ssh://-oProxyCommand=touch/x",
        "git+ssh://git@-oProxyCommand=x/y",
        "https:///x",
        "file://server/shared/envs",
        "git+file://server/shared/envs",
        "file:///shared/%0Aenvs",
        "file:///shared/%ff",
        "fd::17/foo",
        "simplecache::s3://bucket/x",
        "https://host/x#--force",
        "https://host/x#a..b",
        "https://host/x#a@{1}",
        "https://host/x#a^b",
        "https://host/x#HEAD",
        "https://host/x#refs/pull/7/head",
        "hf://datasets/team/envs@refs/pr/1",
        "hf://team/envs",
        "hf://datasets/../envs",
        "https://host/x\nproxy",
        " https://host/x",
    ],
)
def test_an_address_that_could_run_something_is_refused(text):
    with pytest.raises(ConfigError):
        Address.read(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://alice:hunter22@host/x.git",
        "https://ghp_token123@host/x.git",
        "s3://key:hunter22@bucket/x",
        "git+https://alice:hunter22@host/x.git",
    ],
)
def test_secrets_are_neither_shown_nor_written_down(url):
    assert holds_secret(url)
    for text in (shown(url), Address.read(url).label, masked(f"fatal: {url} and x", url)):
        assert "hunter22" not in text
        assert "ghp_token123" not in text
    with pytest.raises(ConfigError) as caught:
        add_remote("team", url)
    assert "hunter22" not in str(caught.value)
    assert known_remotes() == {}


@pytest.mark.parametrize(
    "url",
    [
        "https://alice:p/hunter22@host/x.git",
        "https://alice:p#hunter22@host/x.git",
        "git+https://alice:p?hunter22@host/x.git",
        "s3://key:p/hunter22@bucket/x",
        "https://hunter22@[host/x.git",
        "https://alice:1234/hunter22@host/x.git",
        "https://alice:1234#a/hunter22@host/x.git",
    ],
)
def test_a_password_that_cuts_its_address_short_is_refused_and_not_shown(url):
    assert holds_secret(url)
    with pytest.raises(ConfigError, match="%2F") as caught:
        Address.read(url)
    with pytest.raises(ConfigError):
        add_remote("team", url)
    for text in (str(caught.value), shown(url), masked(f"fatal: {url} and x", url)):
        assert "hunter22" not in text


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hunter22@bucket/x?secret=hunter22",
        "s3://bucket/team?hunter22",
        "s3://bucket/team#hunter22",
        "memory://team?",
        "https://host/x.git?token=hunter22",
        "https://host/x.git?#main",
        "git+https://host/x.git?repo=hunter22",
        "ssh://git@host/srv/team/envs?/../../hunter22/x.git",
        "git://host/x?hunter22",
        "github://hunter22:envs@main/x",
        "sftp://hunter22@host/x",
        "ssh://hunter22@host/~/x.git",
        "ssh://git@host/~",
    ],
)
def test_what_may_be_secret_and_may_tell_places_apart_is_refused_and_not_shown(url):
    with pytest.raises(ConfigError, match=r"leave|without|name whose") as caught:
        Address.read(url)
    for text in (str(caught.value), shown(url), masked(f"fatal: {url} and x", url)):
        assert "hunter22" not in text


@pytest.mark.parametrize(
    "places",
    [
        ("/srv/a?1.git", "/srv/a?2.git", "/srv/a#3.git", "/srv/a%3F1.git", "/srv/a.git", "/srv/a"),
        ("git+file:///srv/x%23y.git", "git+file:///srv/x%3Fy.git", "git+file:///srv/x"),
        ("git+file:///srv/x?y.git", "git+file:///srv/x?", "git+file:///srv/x.git#y"),
        ("/srv/envs?1", "/srv/envs#1", "/srv/envs"),
        ("git@host:team?1", "git@host:team?2", "git@host:team", "git@host:team#1"),
        ("ssh://git@host/a%3F1", "ssh://git@host/a%3F2", "ssh://git@host/a"),
        ("abfs://team@account/x", "abfs://evil@account/x", "abfs://account/x"),
        ("host:a://b?1", "host:a://b?2"),
    ],
)
def test_two_places_never_share_what_consent_and_past_are_noted_under(places):
    read = [Address.read(text) for text in places]
    for known in ([each.label for each in read], [public_address(each.label) for each in read]):
        branches = [each.revision for each in read]
        assert len(set(zip(known, branches, strict=True))) == len(places)
    assert len({_place(each.known_as) for each in read}) == len(places)
    for each in read:
        assert public_address(each.label) == each.label
        again = Address.read(each.written)
        assert (again.kind, again.label, again.revision) == (each.kind, each.label, each.revision)


def test_a_relative_address_below_what_cannot_be_printed_is_refused(tmp_path, monkeypatch):
    for name in ("a\nb", "a\tb"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for text in ("./envs", "./x.git"):
            with pytest.raises(ConfigError, match="rename that folder"):
                Address.read(text)


def test_a_question_mark_of_a_path_is_written_as_git_reads_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, told in (("a?1.git", "a%3F1.git"), ("a%1.git", "a%251.git"), ("b:c.git", "b:c.git")):
        (tmp_path / name).mkdir()
        assert Address.read(f"./{name}").label == f"file://{tmp_path}/{told}"
        assert Address.read(name).written == f"git+file://{tmp_path}/{told}"


@pytest.mark.parametrize(
    "url", ["https://host:8443/@team/x", "s3://arn:aws:s3/x", "ssh://git@[::1]:22/a@b"]
)
def test_an_at_sign_in_a_path_is_no_password(url):
    assert Address.read(url).label.endswith(url.rpartition("/")[2])
    assert not holds_secret(url)


@pytest.mark.parametrize("url", ["reference://x", "zip://x", "nosuch://x"])
def test_a_file_system_that_wants_more_than_an_address_is_one_clear_error(url, tmp_path):
    with pytest.raises(RemoteError, match=url), open_remote(url):
        pass


def test_the_next_free_number_is_after_the_greatest_and_not_taken():
    used = greatest([("maze", 2), ("maze", 0), ("chess", 7)])
    taken = {EnvId("maze", 3), EnvId("maze", 4), EnvId("go", 1)}
    found = [str(next_free(name, used, taken)) for name in ("maze", "chess", "go")]
    assert found == ["spade/maze-v5", "spade/chess-v8", "spade/go-v0"]


@pytest.mark.parametrize("url", ["memory:///team/envs", "git+file:///a/envs.git", "s3://team/envs"])
def test_an_address_that_is_shown_can_be_read_again(url):
    assert shown(url) == public_address(url) == url
    assert Address.read(public_address(Address.read(url).label)).kind is Address.read(url).kind


def test_a_secret_that_was_written_into_the_names_is_not_shown():
    secret = "https://alice:hunter22@host/x.git"
    add_remote("team", "https://host/x.git")
    file_path().write_text(json.dumps({"team": secret, "disk": "/mnt/a#b"}))
    for arguments in (["list"], ["list", "--json"], ["add", "team", "/x"], ["remove", "team"]):
        done = CliRunner().invoke(cli, ["remote", *arguments])
        said = f"{done.output}{done.exception}"
        assert "hunter22" not in said
        assert "host/x.git" in said
    assert known_remotes() == {"disk": "/mnt/a#b"}


def test_a_configuration_folder_that_cannot_be_used_is_one_error_with_the_mend(
    tmp_path, monkeypatch
):
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "blocked"))
    with pytest.raises(ConfigError, match="set XDG_CONFIG_HOME"):
        add_remote("team", "/mnt/envs")


def test_remotes_have_names_that_belong_to_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add_remote("team", "git@host:team/envs.git#dev")
    add_remote("disk", "shared")
    assert known_remotes() == {"team": "git@host:team/envs.git#dev", "disk": f"{tmp_path}/shared"}
    assert address_of("team") == "git@host:team/envs.git#dev"
    with pytest.raises(ConfigError, match="remove it first"):
        add_remote("team", "https://host/other.git")
    with pytest.raises(ConfigError, match="spade-envs remote add"):
        address_of("taem")
    assert remove_remote("team") == "git@host:team/envs.git#dev"
    with pytest.raises(NotFound, match="disk"):
        remove_remote("team")


def test_a_repository_with_a_number_sign_in_its_path_is_told_how_to_be_written(tmp_path):
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "a#b.git"], check=True)
    with pytest.raises(ConfigError, match=r"write git.file://.*/a%23b.git") as caught:
        Address.read(f"{tmp_path}/a#b.git")
    told = str(caught.value).rpartition(" ")[2]
    assert Address.read(told).url == f"file://{tmp_path}/a%23b.git"


@pytest.mark.parametrize("scheme", ["dir", "filecache"])
def test_a_layer_over_another_file_system_is_no_remote(scheme):
    with pytest.raises(ConfigError, match="is a layer over another file system"):
        Address.read(f"{scheme}:///x")


@pytest.mark.parametrize(
    "text", ["~nobody-is-called-so/x", "git+file://~nobody-is-called-so/x", "~nobody-is-called-so"]
)
def test_the_home_of_nobody_is_no_remote(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"there is no user of that name; write \./~nobody-is-"):
        Address.read(text)
    done = CliRunner().invoke(cli, ["remote", "add", "team", text])
    assert exit_code(done.exception) == 2
    assert known_remotes() == {}
    here = "./~nobody-is-called-so/x"
    assert Address.read(here).url == str(tmp_path / "~nobody-is-called-so/x")


def test_a_full_disk_leaves_no_half_of_the_names(monkeypatch, tmp_path):
    add_remote("team", str(tmp_path / "team"))
    folder = file_path().parent

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("spade_envs.sharing.known.os.fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        add_remote("other", str(tmp_path / "other"))
    assert [each.name for each in folder.iterdir()] == ["remotes.json"]
    assert set(known_remotes()) == {"team"}


@pytest.mark.parametrize("revision", ["a//b", "/a", "a/", "a/.b", "a.lock", "a/b.", "refs/heads/"])
def test_a_branch_that_git_cannot_have_is_told_before_git_is_asked(revision):
    with pytest.raises(ConfigError, match="is no branch, tag or commit; write URL#main"):
        Address.read(f"https://host/team#{revision}")


def test_a_name_for_what_is_no_address_any_more_costs_itself_alone(tmp_path):
    add_remote("team", str(tmp_path / "team"))
    path = file_path()
    names = json.loads(path.read_text())
    path.write_text(json.dumps({**names, "old": "local:///x", "odd": "https://h/t#refs/pull/1"}))
    done = CliRunner().invoke(cli, ["remote", "list", "--json"])
    told = {each["name"]: each for each in json.loads(done.stdout)}
    assert (done.exit_code, told["team"]["problem"]) == (0, "")
    assert told["old"]["problem"].endswith("remove it with: spade-envs remote remove old")
    assert "neither a branch nor a tag" in told["odd"]["problem"]
    done = CliRunner().invoke(cli, ["remote", "list"])
    assert (done.exit_code, "old cannot be used:" in done.output) == (0, True)
    open_store(tmp_path / "s", create=True)
    words = ["lock", "--store", str(tmp_path / "s"), "--out", str(tmp_path / "l")]
    done = CliRunner().invoke(cli, words)
    assert "local" not in done.output
    assert remove_remote("old") == "local:///x"
