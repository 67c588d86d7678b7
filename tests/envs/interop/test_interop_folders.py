"""Pools fail closed: no broken list, line or checksum lets a file through, or drops one."""

import hashlib
import json
import os

import pytest

from spade_envs.errors import ConfigError, Corrupt
from spade_envs.interop import resolve
from spade_envs.interop.files import read_bounded
from spade_envs.interop.folders import MAX_BAD_LINES
from spade_envs.interop.known import evaluation_texts

TEXT = "x = 1\n"
SUM = hashlib.sha256(TEXT.encode()).hexdigest()
MANIFEST, SUMS = "manifest.jsonl", "checksums.sha256"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "a.py").write_text(TEXT)
    return tmp_path


def told(folder):
    """Return what is wrong, by target; all that is well has an empty text."""
    found = resolve(str(folder))
    assert all((item.source is None) == bool(item.error) for item in found)
    return {item.label.removeprefix(f"{folder}/"): item.error for item in found}


def a_folder(path):
    path.mkdir()


def a_link_to_a_device(path):
    path.symlink_to("/dev/zero")


def a_link_to_a_list(path):
    (path.parent / "list").write_text(f"{SUM}  games/a.py\n")
    path.symlink_to("list")


def a_dangling_link(path):
    path.symlink_to("nowhere")


def too_large(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (a_folder, "it is not an ordinary file"),
        (os.mkfifo, "it is not an ordinary file"),
        (a_link_to_a_device, "is a link instead of a file"),
        (a_link_to_a_list, "is a link instead of a file"),
        (a_dangling_link, "is a link instead of a file"),
        (too_large, "it is larger than"),
    ],
)
@pytest.mark.parametrize("name", [MANIFEST, SUMS])
def test_a_list_that_cannot_be_read_ends_the_pool(folder, name, broken, why):
    other = {MANIFEST: SUMS, SUMS: MANIFEST}[name]
    rows = {SUMS: f"{SUM}  games/a.py\n", MANIFEST: json.dumps({"path": "a.py", "sha256": SUM})}
    (folder / other).write_text(rows[other])
    assert told(folder) == {"games/a.py": ""}
    broken(folder / name)
    with pytest.raises(Corrupt, match=f"{name} .*{why}"):
        resolve(str(folder))


@pytest.mark.parametrize(
    ("line", "where", "why"),
    [
        ('{"path": "a.py"}', "games/a.py", "the pool gives no sha256 for this file"),
        ('{"path": "a.py", "sha256": null}', "games/a.py", "the pool gives no sha256"),
        ('{"path": "a.py", "sha256": 12}', f"{MANIFEST}:2", "sha256 of a.py must be 64 hex digits"),
        ('{"path": "a.py", "sha256": ""}', f"{MANIFEST}:2", "sha256 of a.py must be 64 hex digits"),
        ('{"path": "a.py", "sha256": ["' + SUM + '"]}', f"{MANIFEST}:2", "must be 64 hex digits"),
        (
            '{"path": "a.py", "sha256": "' + SUM[1:] + 'z"}',
            f"{MANIFEST}:2",
            "must be 64 hex digits",
        ),
        ('{"path": 3, "sha256": "' + SUM + '"}', f"{MANIFEST}:2", "this line names no file"),
        ('{"sha256": "' + SUM + '"}', f"{MANIFEST}:2", "this line names no file"),
        ('{"path": "", "sha256": "' + SUM + '"}', f"{MANIFEST}:2", "this line names no file"),
        ("no json", f"{MANIFEST}:2", "this line is not valid JSON"),
        ("[]", f"{MANIFEST}:2", "this line is no JSON object"),
        ("[" * 10_000, f"{MANIFEST}:2", "this line is not valid JSON"),
        ('{"path": "a.py", "path": "b.py"}', f"{MANIFEST}:2", "key 'path' is given twice"),
        ('{"path": "a\\u0000.py", "sha256": "' + SUM + '"}', f"{MANIFEST}:2", "control characters"),
        ('{"path": "a\\ud800.py", "sha256": "' + SUM + '"}', f"{MANIFEST}:2", "not UTF-8"),
    ],
)
def test_a_broken_row_of_a_manifest_is_told_with_its_line(folder, line, where, why):
    (folder / "games" / "b.py").write_text(TEXT)
    good = json.dumps({"file_name": "b.py", "sha256": SUM})
    (folder / MANIFEST).write_text(f"{good}\n{line}\n\n")
    found = told(folder)
    assert found.pop("games/b.py") == ""
    assert why in found[where], found
    assert "it is not verified" in found["games/a.py"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"garbage", "not of the form of sha256sum"),
        (f"{SUM[1:]}  games/a.py".encode(), "not of the form of sha256sum"),
        (f"{SUM}".encode(), "not of the form of sha256sum"),
        (f"SHA256 (games/a.py) = {SUM}".encode(), "not of the form of sha256sum"),
        (f"{SUM}  ../a.py".encode(), "a file outside the pool"),
        (f"{SUM}  /games/a.py".encode(), "a file outside the pool"),
        (f"{SUM}  games/\0a.py".encode(), "control characters"),
        (f"{SUM}  games/".encode() + b"\xff.py", "not UTF-8"),
    ],
)
def test_a_broken_line_of_checksums_is_told_with_its_number(folder, line, why):
    (folder / "games" / "b.py").write_text(TEXT)
    (folder / SUMS).write_bytes(f"{SUM}  games/b.py\n".encode() + line + b"\n")
    found = told(folder)
    assert found.pop("games/b.py") == ""
    assert why in found[f"{SUMS}:2"]
    assert "does not list this file" in found["games/a.py"]


def test_many_broken_lines_are_told_in_short(folder):
    (folder / SUMS).write_text("garbage\n" * (MAX_BAD_LINES + 500))
    found = told(folder)
    assert len(found) == MAX_BAD_LINES + 2
    assert found[SUMS] == "500 more of its lines cannot be understood"


@pytest.mark.parametrize("path", ["../../games/a.py", "/etc/a.py", "games/../../a.py"])
def test_a_row_that_names_a_file_outside_is_told_with_its_number(folder, path):
    rows = [{"path": "games/a.py"}, {"path": path, "sha256": "0" * 64}]
    (folder / MANIFEST).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = told(folder)
    assert found[f"{MANIFEST}:2"] == "this line names a file outside the pool"
    assert "0000" not in found["games/a.py"]


@pytest.mark.parametrize("first", [SUM, "0" * 64])
def test_lists_that_disagree_verify_nothing(folder, first):
    second = {SUM: "0" * 64, "0" * 64: SUM}[first]
    (folder / MANIFEST).write_text(json.dumps({"path": "a.py", "sha256": first}))
    (folder / SUMS).write_text(f"{second}  games/a.py\n")
    assert told(folder) == {"games/a.py": "the pool gives several checksums for this file"}
    (folder / MANIFEST).unlink()
    (folder / SUMS).write_text(f"{first}  games/a.py\n{second}  a.py\n")
    assert told(folder) == {"games/a.py": "the pool gives several checksums for this file"}


def test_lists_may_be_made_in_the_folder_of_the_games(folder):
    (folder / SUMS).write_text(f"{SUM.upper()} *./a.py\n{SUM}  notes.txt\n{SUM}\tgames/x/y/z.py\n")
    assert told(folder) == {"games/a.py": ""}


def test_a_checksum_is_of_the_file_that_its_line_names_if_that_is_there(folder):
    (folder / "a.py").write_text("x = 2\n")
    other = hashlib.sha256(b"x = 2\n").hexdigest()
    (folder / SUMS).write_text(f"{other}  a.py\n")
    assert told(folder) == {
        "a.py": "",
        "games/a.py": "the pool does not list this file; it is not verified",
    }
    (folder / SUMS).write_text(f"{other}  a.py\n{SUM}  games/a.py\n")
    assert told(folder) == {"a.py": "", "games/a.py": ""}


def test_a_listed_file_beside_the_lists_is_checked_too(folder):
    (folder / "b.py").write_text(TEXT)
    (folder / "setup.py").write_text(TEXT)
    (folder / SUMS).write_text(f"{SUM}  games/a.py\n{SUM}  b.py\n{SUM}  c.py\n")
    assert told(folder) == {
        "b.py": "",
        "games/a.py": "",
        "games/c.py": "the pool lists this file, but it is not there",
    }


def test_a_checksum_in_one_list_is_enough(folder):
    (folder / MANIFEST).write_text('{"path": "a.py", "sha256": null}\n{"path": "readme.md"}\n')
    (folder / SUMS).write_text(f"{SUM}  games/a.py\n")
    assert told(folder) == {"games/a.py": ""}


def test_an_empty_list_verifies_nothing(folder):
    (folder / SUMS).write_text("")
    assert "does not list this file" in told(folder)["games/a.py"]


def test_an_empty_name_is_no_target(monkeypatch, folder):
    monkeypatch.chdir(folder)
    for name in ("", " "):
        with pytest.raises(ConfigError, match="empty name"):
            resolve(name)


def test_evaluation_texts_come_from_ordinary_files_of_a_limited_size(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    too_large(tmp_path / "sparse.jsonl")
    for path, why in (
        ("/dev/zero", "not an ordinary file"),
        (tmp_path / "pipe.txt", "not an ordinary file"),
        (tmp_path, "not an ordinary file"),
        (tmp_path / "sparse.jsonl", "larger than"),
    ):
        with pytest.raises(ConfigError, match=f"cannot read the evaluation texts .*{why}"):
            evaluation_texts(path)


def test_a_file_is_read_up_to_its_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_bounded(tmp_path / "a", 4)


def test_files_may_lie_in_folders_of_the_games(folder):
    (folder / "games" / "gen_0001").mkdir()
    (folder / "games" / "gen_0001" / "b.py").write_text(TEXT)
    (folder / "games" / "gen_0001" / "c.py").write_text(TEXT)
    (folder / "games" / "gen_0001" / "d.py").write_text("x = 2\n")
    rows = [
        {"filename": "b.py", "path_in_dataset": "games/gen_0001/b.py", "sha256": SUM},
        {"path": "gen_0001/d.py", "sha256": SUM},
        {"path": "a.py", "sha256": SUM},
    ]
    (folder / MANIFEST).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / SUMS).write_text(f"{SUM}  games/gen_0002/e.py\n{SUM}  games/x/y/deep.py\n")
    assert told(folder) == {
        "games/a.py": "",
        "games/gen_0001/b.py": "",
        "games/gen_0001/c.py": "the pool does not list this file; it is not verified",
        "games/gen_0001/d.py": "the file does not have the checksum that the pool lists",
        "games/gen_0002/e.py": "the pool lists this file, but it is not there",
    }


def test_a_folder_of_the_games_that_is_a_link_is_not_followed(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "b.py").write_text(TEXT)
    (folder / "games" / "gen_0001").symlink_to(elsewhere)
    (folder / SUMS).write_text(f"{SUM}  games/a.py\n{SUM}  games/gen_0001/b.py\n")
    assert told(folder)["games/a.py"] == ""
    assert "a link instead of a file" in told(folder)["games/gen_0001/b.py"]
    for path in ("gen_0001/../../b.py", "/etc/hosts.py", "../b.py", "games/gen_0001/../b.py"):
        (folder / MANIFEST).write_text(json.dumps({"path": path, "sha256": SUM}))
        labels = told(folder).keys() - {f"{MANIFEST}:1"}
        assert all(label.startswith("games/") for label in labels), path


def test_rows_tell_licence_title_and_skills_and_nothing_wild(folder):
    (folder / "games" / "b.py").write_text(TEXT)
    digest = "sha256:" + "a" * 64
    row = {"path": "a.py", "sha256": SUM, "licence": "apache-2.0", "title": "A title",
           "skill": "API Orchestration", "digest": digest}  # fmt: skip
    wild = {"path": "b.py", "sha256": SUM, "license": ["MIT"], "title": "x\u202ey", "digest": "1",
            "skills": ["no-skill", 3, "data-retrieval"]}  # fmt: skip
    (folder / MANIFEST).write_text(f"{json.dumps(row)}\n{json.dumps(wild)}\n")
    first, second = resolve(str(folder))
    known = (first.licence, first.title, first.skills, first.digest)
    assert known == ("Apache-2.0", "A title", ("api-orchestration",), digest)
    told_wild = (second.licence, second.title, second.skills, second.digest)
    assert told_wild == ("unknown", None, ("data-retrieval",), None)
    assert (first.name, second.name) == (None, None)
    (folder / MANIFEST).write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'licence': 'MIT'})}\n")
    assert [each.licence for each in resolve(str(folder)) if not each.error] == ["unknown"]
