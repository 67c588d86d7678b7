"""Closed streams, interrupts, files that are none, and messages that others wrote."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from spade_envs.cli import main, output
from spade_envs.corpus import open_corpus
from spade_envs.design.length import tokenizer_count
from spade_envs.errors import ClientError, ConfigError, CorpusError

ROOT = Path(__file__).parents[3]
_LEADS_NOWHERE = """
import os, sys
from spade_envs.cli import main
def look(**_):
    print("x")
    print("y", file=sys.stderr)
    os.write(9, ascii([os.readlink(f"/proc/self/fd/{n}") for n in range(3)]).encode())
main.cli.main = look
main.main()
"""


def test_closed_streams_lead_nowhere_and_no_file_gets_their_number(tmp_path):
    shell = '"$0" -c "$1" <&- >&- 2>&- 9>seen'
    command = ["sh", "-c", shell, sys.executable, _LEADS_NOWHERE]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode == 0
    assert (tmp_path / "seen").read_text() == str(["/dev/null"] * 3)


@pytest.mark.parametrize("error", [ClientError("a \x1b]0;X\x07 b"), OSError("a \x1b]0;X\x07 b")])
def test_errors_do_not_act_on_the_terminal(error, monkeypatch, capsys):
    def fail(**_):
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    with pytest.raises(SystemExit) as ending:
        main.main()
    assert ending.value.code == main.MACHINERY
    assert capsys.readouterr().err == "error: a \\x1b]0;X\\x07 b\n"


def test_what_a_progress_bar_says_is_no_markup(monkeypatch):
    monkeypatch.setattr(Console, "is_terminal", True)
    with output.progress(2, "refused by [/b] 1") as bar:
        table = bar.make_tasks_table(bar.tasks)
    console = Console(record=True, width=60, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    assert "refused by [/b] 1" in console.export_text()


_INTERRUPTED_IMPORT = """
import os, signal, sys
import spade_entry
usual = spade_entry.importlib.import_module
def stop(name, package=None):
    if name != awaited:
        return usual(name, package)
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("what compiled modules make of it") from None
spade_entry.importlib.import_module = stop
start, awaited, *sys.argv[1:] = sys.argv[1:]
getattr(spade_entry, start)()
"""


@pytest.mark.parametrize(
    ("start", "module", "arguments"),
    [
        ("envs", "spade_envs.cli.main", ()),
        ("train", "spade_train.cli", ()),
        ("envs", "spade_envs.cli.check", ("check", "maze.py")),
        ("train", "spade_train.cli.run", ("run", "quickstart")),
    ],
)
def test_an_interrupt_during_imports_is_no_traceback(start, module, arguments):
    command = [sys.executable, "-c", _INTERRUPTED_IMPORT, start, module, *arguments]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (main.INTERRUPTED, "\ninterrupted\n")


def test_an_interrupt_ends_any_command_with_130(monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("spade_envs.corpus.open_corpus", stop)
    monkeypatch.setattr(sys, "argv", ["spade-envs", "brief", "--corpus", "docs"])
    with pytest.raises(SystemExit) as ending:
        main.main()
    assert (ending.value.code, capsys.readouterr().err) == (130, "\ninterrupted\n")


@pytest.mark.parametrize("command", ["list", "card"])
def test_a_reader_that_has_seen_enough_is_no_fault(command):
    reader, writer = os.pipe()
    os.close(reader)
    run = [sys.executable, "-m", "spade_envs.cli.main", command, "--store", "envstore"]
    done = subprocess.run(run, stdout=writer, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_pipe_that_breaks_inside_is_a_fault(monkeypatch, capsys):
    def fail(*_):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("spade_envs.corpus.open_corpus", fail)
    monkeypatch.setattr(sys, "argv", ["spade-envs", "brief", "--corpus", "docs"])
    with pytest.raises(SystemExit) as ending:
        main.main()
    assert ending.value.code == main.MACHINERY
    assert "has ended" in capsys.readouterr().err


def test_nobody_waits_for_a_transfer_that_hangs_after_the_second_interrupt(monkeypatch):
    def stop(**_):
        raise SystemExit(main.INTERRUPTED)

    def end(code):
        raise EOFError(code)

    hung = threading.Thread(name="transfer_0")
    monkeypatch.setattr(main.threading, "enumerate", lambda: [threading.main_thread(), hung])
    monkeypatch.setattr(main.cli, "main", stop)
    monkeypatch.setattr(main.os, "_exit", end)
    with pytest.raises(EOFError, match="130"):
        main.main()


def test_a_corpus_without_a_name_is_not_the_folder_one_is_in(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.txt").write_text("words " * 100)
    with pytest.raises(CorpusError, match="name a corpus"):
        open_corpus("")


def test_a_tokenizer_is_an_ordinary_file_of_bounded_size():
    with pytest.raises(ConfigError, match="not an ordinary file"):
        tokenizer_count(Path("/dev/zero"))
