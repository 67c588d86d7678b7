"""`spade-envs corpus`, from the outside."""

import hashlib
import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from envs.corpus.corpus_kit import prose, write_rows
from spade_envs.cli.corpus import corpus_command
from spade_envs.cli.main import cli, exit_code
from spade_envs.corpus import Cursor, open_corpus

PAGE = (Path(__file__).parents[3] / "docs" / "corpus.md").read_text("utf-8")


def run(*arguments):
    return CliRunner().invoke(cli, ["corpus", *map(str, arguments)])


@pytest.fixture
def rows(tmp_path):
    path = write_rows(tmp_path / "r.jsonl", [prose(n, 10 * n) for n in range(1, 9)])
    with path.open("a") as file:
        file.write('torn\n{"text": "esc \\u001b[2J"}\n')
    return path


def test_stats_as_json(rows):
    result = run("stats", rows, "--json", "--min-words", "20", "--licence", "MIT")
    found = json.loads(result.stdout)
    sizes = [len(prose(n, 10 * n)) for n in range(2, 9)]
    assert (found["name"], found["passages"], found["documents"]) == ("r.jsonl", 7, 9)
    assert found["characters"] == sum(sizes)
    assert (found["left_out"], found["unusable"]) == ({"too short": 2}, {"not JSON": 1})
    assert found["sources"][0]["licence"] == "MIT"
    assert found["examples"][0].startswith("r.jsonl#9 is not JSON")
    lengths = found["lengths"]
    assert (lengths["least"], lengths["most"]) == (min(sizes), max(sizes))
    assert sum(count for _, _, count in lengths["histogram"]) == 7
    for first, last, count in lengths["histogram"]:
        assert count == sum(first <= size < last for size in sizes)


def test_stats_as_tables(rows):
    result = run("stats", rows, rows, "--weight", "3", "--weight", "1", "--words", "20")
    assert result.exit_code == 0
    assert re.search(r"r\.jsonl\s+9\s+\d+\s+\d+\s+75\.0%\s+unknown", result.stdout)
    assert "unusable files, rows" in result.stdout
    assert re.search(r"not JSON\s+2", result.stdout)
    assert "█" in result.stdout
    assert "fingerprint" in result.stderr


def test_sample_prints_what_a_run_with_the_seed_draws(rows):
    result = run("sample", rows, "--count", "4", "--seed", "5", "--position", "3", "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    corpus, cursor = open_corpus(rows), Cursor(seed=5, position=3)
    for line in lines:
        passage, cursor = corpus.draw(cursor)
        assert (line["text"], line["source"]) == (passage.text, passage.source)
        assert line["sha256"] == hashlib.sha256(line["text"].encode()).hexdigest()
        assert Cursor.from_json(line["cursor"]) == cursor
    assert len(lines) == 4
    assert "--position 7" in result.stderr


def test_a_sample_cannot_move_the_terminal(rows):
    result = run("sample", rows, "--count", "9")
    assert "esc \\x1b[2J" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_file_of_sources_settles_everything(rows, tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text('words = 20\n[[source]]\npath = "r.jsonl"\n')
    found = json.loads(run("stats", path, "--json").stdout)
    assert found["passages"] == len(open_corpus(rows, words=20))
    for more in ([rows], ["--words", "9"], ["--replacement"], ["--language", "en"]):
        result = run("stats", path, *more)
        assert (result.exit_code, "edit it instead" in result.stderr) == (2, True)


def test_wrong_use(rows, tmp_path):
    assert exit_code(run("stats", tmp_path / "absent").exception) == 2
    assert exit_code(run("sample", rows, "--min-words", "999").exception) == 2
    for wrong in (
        ["--weight", "1", "--weight", "2"],
        ["--near-duplicates", "0.1"],
        ["--words", "0"],
    ):
        assert run("stats", rows, *wrong).exit_code == 2
    assert run("stats").exit_code == 2


def test_the_page_has_every_option():
    for name, command in corpus_command.commands.items():
        assert f"corpus {name}" in PAGE
        options = [entry for entry in command.params if isinstance(entry, click.Option)]
        for entry in options:
            assert all(f"`{text}" in PAGE for text in entry.opts), entry.opts
            assert not entry.multiple or "may be repeated" in entry.help
