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


def test_a_long_table_has_a_line_for_each_row_and_every_cell_whole(capsys):
    from spade_envs.cli.output import LONG, print_table

    rows = [
        (f"row {number}", "x" * 200 if number == 7 else "\x1b[2Jy\nz") for number in range(LONG)
    ]
    print_table("", ("name", "text"), [*rows, ("last", 5)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == LONG + 2
    assert lines[0] == "name      text"
    assert lines[8] == "row 7     " + "x" * 200
    assert lines[1] == "row 0     \\x1b[2Jy z"
    assert lines[-1] == "last      5"
