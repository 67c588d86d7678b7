"""What holds for any listing and any bytes, and for real folders and repositories."""

import contextlib
import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs.trust.kit import MARKER, Fake, canary, good, pull, tree
from spade_envs.errors import Corrupt, RemoteError
from spade_envs.ids import EnvId
from spade_envs.sharing.pull import pull as pull_url
from spade_envs.store.layout import version_path
from spade_envs.trust.incoming import Checked, Entry, Limits, Refused, check_files, sort_listing
from spade_envs.trust.paths import Place, place_of
from spade_envs.trust.quarantine import MOST_BYTES, MOST_FOLDERS, quarantine

MAZE = EnvId("maze", 0)
PARTS = st.sampled_from(
    ["envs", "maze", "v0", "env.py", "..", ".", "", "Envs", "con", "v00", "\u0430", "a b", "x" * 90]
)


CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@CALM
@given(st.one_of(st.text(), st.lists(PARTS, max_size=6).map("/".join)))
def test_a_path_is_taken_only_as_it_is_written(path):
    place = place_of(path)
    assert isinstance(place, (str, Place))
    if isinstance(place, Place) and place.env_id is not None:
        assert path == f"{version_path(place.env_id)}/{place.file}"
        assert os.path.normpath(path) == path


@CALM
@given(st.lists(st.tuples(st.lists(PARTS, max_size=5).map("/".join), st.integers(-5, 1 << 40))))
def test_a_listing_gives_whole_versions_or_reasons(found):
    listing = sort_listing(Entry(path, size) for path, size in found)
    for env_id, entries in listing.versions.items():
        assert [entry.path.rpartition("/")[0] for entry in entries] == [version_path(env_id)] * len(
            entries
        )
        assert all(0 <= entry.size <= 16 << 20 for entry in entries)


@settings(CALM, max_examples=60)
@given(
    st.sampled_from(["manifest.json", "report.json", "env.py"]),
    st.floats(0, 0.999),
    st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from([b"\0", b"{", b'"', b"9" * 5000])),
)
def test_changed_bytes_are_refused_and_never_raise(name, where, new):
    files = good()
    data = files[name]
    at = int(where * len(data))
    changed = data[:at] + new + data[at + len(new) :]
    found = check_files(MAZE, {**files, name: changed})
    assert isinstance(found, Checked if changed == data else Refused)


def test_a_sound_version_is_taken():
    found = check_files(MAZE, good())
    assert isinstance(found, Checked)
    assert (found.env_id, found.withdrawn, found.signature) == (MAZE, None, None)


POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


@pytest.mark.parametrize("name", ["env.py", "report.json", "manifest.json"])
def test_a_file_that_git_lfs_left_behind_says_how_to_fetch_it(name, store):
    remote = Fake().put({**good(), name: POINTER}).put(good("fine"), "fine")
    (told,) = pull(remote, store)
    assert told.startswith("spade/maze-v0 ")
    assert f"{name} is only a Git LFS pointer (`git lfs pull`" in told
    assert [record.id for record in store.records()] == ["spade/fine-v0"]


def test_a_store_whose_marker_git_lfs_left_behind_says_so(store):
    remote = Fake()
    remote.files["ENVSTORE.json"] = POINTER
    with pytest.raises(Corrupt, match=r"ENVSTORE\.json is only a Git LFS pointer"):
        pull(remote, store)


def test_a_listing_is_read_no_further_than_the_limit():
    read = []

    def endless():
        number = 0
        while True:
            read.append(number)
            yield Entry(f"envs/maze/v{number}/env.py", 1)
            number += 1

    listing = sort_listing(endless(), Limits(entries=100))
    assert len(read) == 101
    assert "lists more than 100 files" in str(listing.refused[-1])


def test_all_versions_together_have_a_limit():
    entries = [
        Entry(f"envs/maze/v{number}/{name}", 1000)
        for number in range(3)
        for name in ("manifest.json", "env.py", "report.json")
    ]
    listing = sort_listing(entries, Limits(total_bytes=7000))
    assert [str(each) for each in listing.versions] == ["spade/maze-v0", "spade/maze-v1"]
    assert "goes beyond 7000 bytes" in str(listing.refused[0])


def test_the_quarantine_is_bounded(store):
    refused = Refused("spade/maze-v0", "is bad", "leave it")
    folder = quarantine(store.root, refused, {"env.py": b"x" * (MOST_BYTES + 5)})
    assert (folder / "0.data").stat().st_size == MOST_BYTES
    assert b'"cut": true' in (folder / "refused.json").read_bytes()
    assert quarantine(store.root, refused, {"env.py": b"x" * (MOST_BYTES + 5)}) == folder
    for number in range(MOST_FOLDERS):
        (store.root / "quarantine" / str(number)).mkdir()
    assert quarantine(store.root, refused, {"env.py": b"y"}) is None
    assert [p.severity for p in store.verify()] == []


def put(root, files, name="maze"):
    folder = root / f"envs/{name}/v0"
    folder.mkdir(parents=True)
    for key, data in files.items():
        (folder / key).write_bytes(data)
    return folder


@pytest.mark.parametrize("case", ["source", "folder", "name", "fifo", "sparse"])
def test_a_real_folder_with_links_and_pipes(case, store, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    theirs, spot = tmp_path / "theirs", tmp_path / "canary"
    theirs.mkdir()
    (theirs / "ENVSTORE.json").write_bytes(MARKER)
    put(theirs, good("fine"), "fine")
    folder = put(theirs, good(code=canary(spot)))
    if case == "source":
        (folder / "env.py").unlink()
        (folder / "env.py").symlink_to(secret / "key")
    elif case == "folder":
        folder.rename(secret / "v0")
        folder.symlink_to(secret / "v0")
    elif case == "name":
        folder.parent.rename(secret / "maze")
        folder.parent.symlink_to(secret / "maze")
    elif case == "fifo":
        (folder / "env.py").unlink()
        os.mkfifo(folder / "env.py")
    else:
        os.truncate(folder / "env.py", 1 << 40)
    done = pull_url(str(theirs), store)
    assert {record.id for record in store.records()} == {"spade/fine-v0"}
    told = [each.note for each in done.outcomes if each.kind == "refused"]
    assert told
    assert b"secret" not in b"".join(tree(store.root).values())
    assert not spot.exists()


def git(folder, *arguments, text=None):
    done = subprocess.run(
        ["git", f"--git-dir={folder}", *arguments], input=text, capture_output=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("case", ["up", "link", "dotgit", "submodule"])
def test_a_real_repository_with_a_tree_that_no_checkout_survives(case, store, tmp_path):
    bare, spot = tmp_path / "theirs.git", tmp_path / "canary"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)

    def blob(data):
        return git(bare, "hash-object", "-w", "--stdin", text=data)

    def folder(rows):
        text = b"".join(b"%s %s %s\t%s\n" % row for row in rows)
        return git(bare, "mktree", "--missing", text=text)

    def version(files):
        rows = [(b"100644", b"blob", blob(data), name.encode()) for name, data in files.items()]
        return folder([(b"040000", b"tree", folder(rows), b"v0")])

    evil = blob(canary(spot).encode())
    row = {
        "up": (b"040000", b"tree", folder([(b"100644", b"blob", evil, b"evil.py")]), b".."),
        "link": (b"120000", b"blob", blob(b"/etc"), b"maze"),
        "dotgit": (b"040000", b"tree", folder([(b"100755", b"blob", evil, b"hooks")]), b".git"),
        "submodule": (b"160000", b"commit", b"1" * 40, b"maze"),
    }[case]
    envs = folder([(b"040000", b"tree", version(good("fine")), b"fine"), row])
    top = folder(
        [(b"100644", b"blob", blob(MARKER), b"ENVSTORE.json"), (b"040000", b"tree", envs, b"envs")]
    )
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    commit = git(bare, *who, "commit-tree", "-m", "evil", top.decode())
    git(bare, "update-ref", "refs/heads/main", commit.decode())
    before = set(tree(tmp_path)) - set(tree(store.root))
    with contextlib.suppress(RemoteError):  # git's own check of objects refuses some as a whole
        pull_url(f"git+file://{bare}", store)
    taken = {record.id for record in store.records()}
    assert taken == ({"spade/fine-v0"} if case in ("link", "submodule") else set())
    assert not spot.exists()
    strange = [path for path in tree(tmp_path) if path not in before and "evil" in path]
    assert strange == []


def test_what_was_taken_is_held_to_its_bytes(store):
    remote = Fake().put(good())
    assert pull(remote, store) == []
    path = store.root / "envs/maze/v0/env.py"
    path.write_bytes(path.read_bytes().replace(b"pass", b"evil"))
    assert any(problem.severity == "error" for problem in store.verify())
