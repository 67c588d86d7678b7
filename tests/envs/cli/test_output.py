import json

import pytest

from spade_envs.cli.output import clean, echo_json, echo_json_line, print_table


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
    from spade_envs.cli.output import LONG

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


LONG_ID = "some-people/" + "a-name-" * 4 + "of-an-environment-v12"


@pytest.mark.parametrize(
    ("width", "shown", "gone"),
    [
        (120, ["id", "kind", "levels", "skills and summary"], ""),
        (98, ["id", "kind", "levels", "skills and summary"], ""),
        (80, ["id", "kind", "levels"], "skills and summary (COLUMNS"),
        (70, ["id", "kind"], "levels, skills and summary (COLUMNS"),
        (63, ["id"], "kind, levels, skills and summary (COLUMNS"),
    ],
)
def test_an_id_stays_on_one_line_and_other_columns_go_first(
    width, shown, gone, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = ("id", "kind", "levels", "skills and summary")
    rows = [(LONG_ID, "text", 5, "plans: " + "word " * 30), ("spade/boat-v0", "text", 5, "x")]
    print_table("", columns, rows, spare=columns[:0:-1])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    heads = [name for name in columns if any(name.split(" ")[-1] in line for line in lines[:3])]
    assert heads == shown
    assert sum(LONG_ID in line for line in lines) == 1
    assert max(map(len, lines)) <= width
    assert gone in err
    assert bool(gone) == bool(err)


def test_an_id_that_is_wider_than_the_terminal_is_folded_and_nothing_is_lost(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    print_table("", ("id", "note"), [(LONG_ID, "why")])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert "".join(line[:33].strip() for line in lines[3:]) == LONG_ID


@pytest.mark.parametrize("echo", [echo_json, echo_json_line])
def test_numbers_that_json_has_not_become_null(capsys, echo):
    echo({"metadata": [float("nan"), {"x": float("-inf"), "y": "NaN"}], "n": 2.5})
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert found == {"metadata": [None, {"x": None, "y": "NaN"}], "n": 2.5}
