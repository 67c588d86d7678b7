import pytest

from spade_envs.cli.output import clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 漢 🙂", "plain\n\ttext é 漢 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb", "a\\rb"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\x00", "\\x00"),
    ],
)
def test_control_characters_do_not_reach_the_terminal(text, shown):
    assert clean(text) == shown
