"""Git repositories: what a hostile one cannot do, and two who push at once."""

import contextlib
import os
import shutil
import subprocess
import threading
import uuid
from pathlib import Path

import pytest

from envs.store.kit import add
from spade_envs.errors import ConfigError, NotFound, RemoteError, StorageError
from spade_envs.sharing import install, make_lock, pull, push
from spade_envs.sharing.push import PushOptions
from spade_envs.sharing.remotes import git as module
from spade_envs.sharing.remotes import open_remote
from spade_envs.store import open_store
from spade_envs.trust.incoming import Limits
from spade_envs.trust.origin import origins_of

_BARE = {".git": ["--bare"], "": []}


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    return path


def git(*arguments, cwd):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)
    return done.stdout.decode()


def clone(repository, tmp_path):
    git("clone", "--quiet", str(repository), "work", cwd=tmp_path)
    return tmp_path / "work"


def commit(work):
    git("add", "--all", "--force", cwd=work)
    git("commit", "--quiet", "--message", "by hand", cwd=work)
    git("push", "--quiet", "origin", "HEAD", cwd=work)


def test_every_push_is_one_commit_of_text_on_top(repository, stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    add(bob, 2, name="chess")
    push(str(repository), bob)
    push(str(repository), bob)
    log = git("log", "--format=%s", "--all", cwd=repository).split("\n")[:2]
    assert log == ["Add spade/chess-v0", "Add spade/maze-v0"]
    work = clone(repository, tmp_path)
    changed = git("show", "--numstat", "--format=", "HEAD", cwd=work).split("\n")
    assert {line.split("\t")[2]: line.split("\t")[1] for line in changed if line}[
        "index.jsonl"
    ] == "0"
    assert "\0" not in (work / "index.jsonl").read_text()


def test_a_push_that_comes_second_is_planned_again(repository, stores, monkeypatch):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    add(bob, 2, name="chess")
    first = module.GitRemote._push
    rivals = iter([alice])

    def late(self):
        monkeypatch.setattr(module.GitRemote, "_push", first)
        for rival in rivals:
            push(str(repository), rival)
        first(self)

    monkeypatch.setattr(module.GitRemote, "_push", late)
    assert push(str(repository), bob).of("new")[0].id == "spade/chess-v0"
    pull(str(repository), carol)
    assert {each.id for each in carol.records()} == {"spade/maze-v0", "spade/chess-v0"}
    with open_remote(str(repository)) as remote:
        index = next(each for each in remote.entries() if each.path == "index.jsonl")
        assert remote.read("index.jsonl", index.size).count(b"\n") == 2


def test_branches_and_commits_are_chosen_by_the_address(repository, stores):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(f"{repository}#dev", alice)
    assert pull(f"{repository}#dev", bob).of("new")
    (commit_id,) = git("rev-parse", "dev", cwd=repository).split()
    assert pull(f"{repository}#{commit_id}", carol).of("new")
    with pytest.raises(NotFound, match="no envstore"):
        pull(f"{repository}#gone", carol)
    add(bob, 2, name="chess")
    with pytest.raises(RemoteError, match="no branch"):
        push(f"{repository}#{commit_id}", bob)


def test_a_repository_of_the_other_hash_is_taken_and_given(repository, stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    pull(str(repository), bob)
    for path in (repository, tmp_path / "work"):
        shutil.rmtree(path, ignore_errors=True)
        git(
            "init",
            "--quiet",
            "--object-format=sha256",
            *_BARE[path.suffix],
            str(path),
            cwd=tmp_path,
        )
    git("commit", "--quiet", "--allow-empty", "--message", "x", cwd=tmp_path / "work")
    git("push", "--quiet", str(repository), "HEAD:refs/heads/main", cwd=tmp_path / "work")
    assert len(git("rev-parse", "main", cwd=repository).strip()) == 64
    add(carol, 2, name="chess")
    assert push(str(repository), carol).of("new")
    assert pull(str(repository), bob).of("new")[0].id == "spade/chess-v0"


def test_an_older_branch_has_a_past_of_its_own(repository, stores):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(f"{repository}#v1", alice)
    add(alice, 2, name="maze")
    push(f"{repository}#main", alice)
    assert len(pull(f"{repository}#main", bob).of("new")) == 2
    older = pull(f"{repository}#v1", carol)
    assert (older.clean, [each.id for each in older.of("new")]) == (True, ["spade/maze-v0"])
    git("update-ref", "refs/heads/main", "refs/heads/v1", cwd=repository)
    (back,) = pull(f"{repository}#main", carol).outcomes
    assert (back.kind, "older state" in back.note) == ("refused", True)


def test_a_link_hook_or_filter_in_a_repository_does_nothing(repository, stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    add(alice, 2, name="chess")
    push(str(repository), alice)
    work, canary = clone(repository, tmp_path), tmp_path / "canary"
    for name in ("post-checkout", "pre-push", "reference-transaction"):
        hook = work / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    (work / ".gitattributes").write_text("* filter=evil\n")
    (work / ".gitmodules").write_text(f'[submodule "x"]\n path = x\n url = ext::touch {canary}\n')
    source = work / "envs/maze/v0/env.py"
    source.unlink()
    source.symlink_to("/etc/passwd")
    commit(work)
    done = pull(str(repository), bob)
    assert {each.id for each in bob.records()} == {"spade/chess-v0"}
    assert any("link" in each.note for each in done.of("refused"))
    assert not canary.exists()


def test_a_clone_is_a_store_and_merges_by_hand(repository, stores, tmp_path):
    from spade_envs.store import open_store

    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    work = clone(repository, tmp_path)
    git("checkout", "--quiet", "-b", "mine", cwd=work)
    mine = open_store(work)
    add(mine, 2, name="chess")
    git("add", "--all", cwd=work)
    git("commit", "--quiet", "--message", "mine", cwd=work)
    add(bob, 3, name="go")
    push(str(repository), bob)
    git("fetch", "--quiet", cwd=work)
    git("merge", "--quiet", "origin/HEAD", cwd=work)
    assert mine.reindex() == 3
    assert [each for each in mine.verify(deep=True) if each.severity == "error"] == []


def test_damage_to_what_was_kept_of_a_repository_is_mended(repository, stores, tmp_path):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    (kept,) = (tmp_path / "home" / "cache" / "spade-envs" / "git").iterdir()
    for path in [each for each in kept.rglob("*") if each.is_file() and "objects" in each.parts]:
        path.chmod(0o600)
        path.write_bytes(b"")
    assert pull(str(repository), bob).of("new")
    (kept / "HEAD").unlink()
    (kept / "objects").rename(kept / "moved")
    (kept / "HEAD").write_text("ref: refs/heads/main\n")
    assert pull(str(repository), carol).of("new")
    assert list(kept.parent.iterdir()) == [kept]


def test_no_password_is_in_a_message_a_command_line_or_the_cache(tmp_path, monkeypatch, stores):
    url = "http://alice:hunter22@127.0.0.1:9/x.git"
    seen = []
    real = subprocess.run

    def spying(command, **options):
        seen.append(command)
        return real(command, **options)

    monkeypatch.setattr(subprocess, "run", spying)
    with pytest.raises(RemoteError) as caught:
        pull(url, stores[0])
    assert "hunter22" not in str(caught.value)
    assert seen
    assert not any("hunter22" in word for command in seen for word in command)
    held = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert held
    assert not any(b"hunter22" in path.read_bytes() for path in held)


def test_a_repository_that_lists_billions_of_files_is_read_no_further_than_is_taken(
    repository, tmp_path, monkeypatch
):
    blob = git("hash-object", "-w", "--stdin", cwd=repository).strip()
    kind, inner = "100644 blob", blob
    for _ in range(30):  # 10 ** 30 files in thirty small objects
        rows = "".join(f"{kind} {inner}\tx{number}\n" for number in range(10))
        made = subprocess.run(
            ["git", "mktree"], cwd=repository, input=rows.encode(), capture_output=True, check=True
        )
        kind, inner = "040000 tree", made.stdout.decode().strip()
    tip = git("commit-tree", "-m", "bomb", inner, cwd=repository).strip()
    git("update-ref", "HEAD", tip, cwd=repository)
    monkeypatch.setattr(module, "Limits", lambda: Limits(entries=5000))
    with open_remote(str(repository)) as remote:
        assert len(remote.entries()) == 5001


def test_a_git_that_is_killed_while_it_reads_is_started_anew_and_refuses_nothing(
    repository, stores, monkeypatch
):
    alice, bob, _ = stores
    for number in range(3):
        add(alice, number, name=f"maze-{number}")
    push(str(repository), alice)
    first, killed = module.GitRemote._read, []

    def read(self, reader, path, max_bytes):
        if path.endswith(("maze-0/v0/env.py", "maze-1/v0/report.json")) and path not in killed:
            killed.append(path)
            reader.kill()
            if len(killed) == 1:
                reader.wait()
        return first(self, reader, path, max_bytes)

    monkeypatch.setattr(module.GitRemote, "_read", read)
    done = pull(str(repository), bob)
    assert (len(killed), [each.kind for each in done.outcomes]) == (2, ["new"] * 3)


def test_a_branch_that_is_not_there_is_told_with_those_that_are(repository, stores):
    alice, bob, _ = stores
    with pytest.raises(NotFound, match=r"remote\.git \(the repository has no branch yet\)"):
        pull(str(repository), bob)
    add(alice, 1, name="maze")
    push(f"{repository}#stable", alice)
    with pytest.raises(NotFound, match=r"#spare \(.* has no 'spare'; its branches are stable\)"):
        pull(f"{repository}#spare", bob)


def test_a_dry_run_foretells_that_a_tag_is_not_pushed_to(repository, stores, tmp_path):
    alice, *_ = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    git("tag", "v1", "HEAD", cwd=clone(repository, tmp_path))
    git("push", "--quiet", "origin", "v1", cwd=tmp_path / "work")
    add(alice, 2, name="chess")
    for dry_run in (True, False):
        with pytest.raises(RemoteError, match="is no branch"):
            push(f"{repository}#v1", alice, PushOptions(dry_run=dry_run))


def test_threads_that_an_interrupt_leaves_start_no_git_after_the_end(repository, stores):
    alice, *_ = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    ended = []

    def work(remote, begun):
        with contextlib.suppress(RemoteError):
            while True:
                remote.read("index.jsonl", 1 << 20)
                begun.set()
        with pytest.raises(RemoteError, match="not asked any more"):
            remote.add("envs/chess/v0", {"env.py": b""})
        ended.append(True)

    for round_ in range(3):
        begun = threading.Event()
        with open_remote(str(repository)) as remote:
            remote.entries()
            threads = [threading.Thread(target=work, args=(remote, begun)) for _ in range(4)]
            for each in threads:
                each.start()
            assert begun.wait(30)
        for each in threads:
            each.join(30)
        assert ended == [True] * 4 * (round_ + 1)
        assert remote._reader is None
        assert remote._writer is None


@pytest.mark.parametrize("kind", ["", ".git"])
def test_a_dry_run_foretells_that_a_repository_here_cannot_be_written(
    stores, tmp_path, kind, monkeypatch
):
    alice, *_ = stores
    add(alice, 1, name="maze")
    path = tmp_path / f"a place{kind}"
    subprocess.run(["git", "init", "--quiet", *_BARE[kind], str(path)], check=True)
    objects = path / ("objects" if kind else ".git/objects")
    asked = os.access
    monkeypatch.setattr(
        "os.access", lambda place, *a, **k: place != objects and asked(place, *a, **k)
    )
    for dry_run in (True, False):
        with pytest.raises(StorageError, match=r"nothing may be written into .*; give yourself"):
            push(f"git+file://{path}", alice, PushOptions(dry_run=dry_run))


def test_what_git_says_of_rights_is_told_as_it_is(repository, stores, monkeypatch):
    alice, *_ = stores
    add(alice, 1, name="maze")
    git("config", "receive.maxInputSize", "1", cwd=repository)
    with pytest.raises(RemoteError, match="pack exceeds maximum allowed size"):
        push(str(repository), alice)
    said = b"fatal: detected dubious ownership in repository at '/x'\nTo add\n\nCall it\n"
    error = module.Git(repository, "file:///x").failure("ls-remote", said)
    assert "/x belongs to another user; if you trust them: git config --global" in str(error)
    error = module.Git(repository, "ssh://host/x").failure("ls-remote", said)
    assert "if you trust them" not in str(error)


@pytest.mark.parametrize("hook", ["pre-receive", "update", "post-receive", "post-update"])
def test_hooks_of_a_repository_on_this_machine_do_not_run(repository, stores, tmp_path, hook):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    place = repository / "hooks" / hook
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    place.chmod(0o755)
    assert push(str(repository), alice).of("new")
    assert pull(str(repository), bob).of("new")
    assert not (tmp_path / "ran").exists()


def test_a_repository_needs_a_place(stores):
    for address in ("git+file://", "git+file://#main"):
        with pytest.raises(ConfigError, match="names no place"):
            push(address, stores[0])


def test_a_branch_that_is_locked_for_good_is_told_in_git_s_words(repository, stores):
    alice, *_ = stores
    add(alice, 1, name="maze")
    push(f"{repository}#main", alice)
    (repository / "refs/heads/main.lock").write_text("")
    add(alice, 2, name="chess")
    with pytest.raises(RemoteError, match=r"cannot lock ref .*somebody else may have pushed"):
        push(f"{repository}#main", alice)


def test_repositories_whose_names_part_by_a_question_mark_have_pasts_of_their_own(stores, tmp_path):
    alice, bob, carol = stores
    for number, store in enumerate((alice, bob)):
        add(store, number, name="maze")
        path = tmp_path / f"a?{number}.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
        push(str(path), store)
        fresh = open_store(tmp_path / f"fresh{number}", create=True)
        (brought,) = pull(str(path), fresh).outcomes
        assert (brought.kind, brought.digest) == ("new", store.records()[0].digest)
        lock = make_lock(fresh)
        assert list(lock.remotes.values()) == [f"git+file://{tmp_path}/a%3F{number}.git"]
        (origin,) = origins_of(brought.digest)
        assert origin.remote == f"file://{tmp_path}/a%3F{number}.git"
    assert install(lock, carol).of("new")


def proposed(repository, tmp_path, name="refs/pull/7/head"):
    """Return a commit that a stranger proposed: on no branch, as servers keep such."""
    work = tmp_path / f"fork-{uuid.uuid4().hex}"
    git("clone", "--quiet", str(repository), str(work), cwd=tmp_path)
    (work / "more.txt").write_text("evil")
    git("add", "--all", cwd=work)
    git("commit", "--quiet", "--message", "theirs", cwd=work)
    git("push", "--quiet", "origin", f"HEAD:{name}", cwd=work)
    return git("rev-parse", "HEAD", cwd=work).strip()


def test_what_somebody_proposed_is_not_taken_for_the_repository(repository, stores, tmp_path):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    theirs = proposed(repository, tmp_path)
    for revision in ("refs/pull/7/head", "refs/merge-requests/1/head"):
        with pytest.raises(ConfigError, match="neither a branch nor a tag"):
            pull(f"{repository}#{revision}", bob)
    with pytest.raises(RemoteError, match="on no branch and under no tag"):
        pull(f"{repository}#{theirs}", bob)
    assert bob.records() == []
    git("tag", "reviewed", theirs, cwd=repository)
    assert pull(f"{repository}#{theirs}", bob).of("new")


def test_a_branch_that_only_ends_like_the_usual_one_is_not_the_usual_one(
    repository, stores, tmp_path
):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(f"{repository}#mallory/main", alice)
    push(f"{repository}#other", alice)
    git("symbolic-ref", "HEAD", "refs/heads/none", cwd=repository)
    with pytest.raises(RemoteError, match="no usual branch; write URL#branch"):
        pull(str(repository), bob)


@pytest.mark.parametrize("damage", ["no config", "torn config", "empty config", "a file"])
def test_a_cache_that_was_made_in_part_is_made_anew(repository, stores, damage):
    alice, bob, carol = stores
    add(alice, 1, name="maze")
    push(str(repository), alice)
    pull(str(repository), bob)
    cache = Path(os.environ["XDG_CACHE_HOME"])
    (kept,) = {head.parent for head in cache.rglob("HEAD")}
    if damage == "a file":
        shutil.rmtree(kept)
        kept.touch()
    elif damage == "no config":
        (kept / "config").unlink()
    else:
        (kept / "config").write_text("[core\n\trepo" if damage == "torn config" else "")
    assert pull(str(repository), carol).of("new")
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]


def test_a_lone_branch_is_not_the_usual_one_either(repository, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(f"{repository}#mallory/main", alice)
    git("symbolic-ref", "HEAD", "refs/heads/none", cwd=repository)
    with pytest.raises(RemoteError, match="no usual branch; write URL#branch, such as #mallory/"):
        pull(str(repository), bob)
    assert pull(f"{repository}#mallory/main", bob).of("new")


def test_a_branch_by_its_whole_name_is_that_branch(repository, stores):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(f"{repository}#refs/heads/new", alice)
    assert git("for-each-ref", "--format=%(refname)", cwd=repository).split() == ["refs/heads/new"]
    assert pull(f"{repository}#new", bob).of("new")
    with pytest.raises(RemoteError, match="has no 'refs/tags/v1'"):
        push(f"{repository}#refs/tags/v1", alice)


@pytest.mark.parametrize("what", ["HEAD:index.jsonl", "HEAD^{tree}"])
def test_a_hash_of_no_commit_is_told(repository, stores, what):
    alice, bob, _ = stores
    add(alice, 1, name="maze")
    push(f"{repository}#main", alice)
    git("symbolic-ref", "HEAD", "refs/heads/main", cwd=repository)
    odd = git("rev-parse", what, cwd=repository).strip()
    with pytest.raises(RemoteError, match=f"{odd} is no commit, but a file or folder"):
        pull(f"{repository}#{odd}", bob)
