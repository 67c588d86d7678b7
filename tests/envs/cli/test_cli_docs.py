"""Every option of the command line stands on some page."""

import re
from pathlib import Path

import click
import pytest

from spade_envs.cli.main import _COMMANDS, cli
from spade_envs.types import Skill

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_option_is_on_a_page(name):
    command = cli.get_command(click.Context(cli), name)
    options = [text for entry in command.params for text in entry.opts if text.startswith("--")]
    missing = [text for text in options if not re.search(rf"{text}\b", TEXT)]
    assert missing == []


def test_an_option_that_may_be_repeated_says_so():
    commands = [cli.get_command(click.Context(cli), name) for name in _COMMANDS]
    options = [entry for command in commands for entry in command.params]
    many = [entry for entry in options if isinstance(entry, click.Option) and entry.multiple]
    silent = [entry.name for entry in many if "may be repeated" not in (entry.help or "")]
    assert (len(many) > 6, silent) == (True, [])


def test_the_page_about_generating_has_all_its_options_and_skills():
    page = (ROOT / "docs" / "generate.md").read_text("utf-8")
    command = cli.get_command(click.Context(cli), "generate")
    for text in (text for entry in command.params for text in entry.opts):
        assert f"`{text}" in page, text
    assert all(f"`{skill.value}`" in page for skill in Skill)


def test_paths_that_the_house_names_are_there():
    for page in ("CONTRIBUTING.md", "README.md", "ARCHITECTURE.md"):
        text = (ROOT / page).read_text("utf-8")
        named = re.findall(r"`((?:src|tests|scripts|docs|benchmarks)/[\w./-]+)`", text)
        gone = [path for path in named if not (ROOT / path).exists()]
        assert gone == [], page
    assert "envstore/starter.toml" not in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
