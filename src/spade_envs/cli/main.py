"""The command group and the exit codes.

0: done, all well. 1: something was found wrong (an environment is refused or fails, a version was
withdrawn or changed on disk). 2: the command was used wrongly. 3: the machinery failed (sandbox,
disk, language-model server). 130: interrupted.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from spade_entry import imported
from spade_envs._version import __version__
from spade_envs.errors import (
    ConfigError,
    CorpusError,
    Corrupt,
    EnvironmentFault,
    IdError,
    MissingExtra,
    NotCertified,
    NotFound,
    NotTrusted,
    ParseError,
    SpadeError,
    Withdrawn,
)
from spade_envs.reports.visible import clean

FOUND, USAGE, MACHINERY, INTERRUPTED = 1, 2, 3, 130
_SLOW = ("check", "ask", "transfer")
"""How the names of threads begin that nobody waits for at the end."""

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "generate": ("generate", "Let a designer write environments and register those that pass."),
    "brief": ("brief", "Print what a designer would be asked, and its length in tokens."),
    "runs": ("runs", "Tell what generate runs made, refused and took."),
    "check": ("check", "Run the gates on anything and say what is wrong."),
    "add": ("add", "Check a file and register it."),
    "import": ("bring", "Check other people's environments and register what passes."),
    "list": ("browse", "List the environments of a store."),
    "show": ("browse", "Show one environment: manifest, gates, source."),
    "search": ("memory", "Find the environments that are nearest to a text."),
    "similar": ("memory", "Find the environments that are nearest to another one."),
    "map": ("memory", "Show a store as a picture, alike near alike."),
    "stats": ("stats", "Show a store in figures: counts, diversity, refusals, plays."),
    "calibrate": ("calibrate", "Measure how well a model does, with the hint and without."),
    "hint": ("hint", "Let a model write strategy hints from the source, and show them."),
    "select": ("select", "Choose environments for a training pool by success and regret."),
    "play": ("play", "Play an environment in this terminal."),
    "withdraw": ("keep", "Take a version out of use, with a reason."),
    "verify": ("keep", "Check a store's files against its manifests."),
    "sign": ("trust", "Sign versions of a store with an SSH key."),
    "trust": ("trust", "Say whose environments may run here, and whose signatures count."),
    "audit": ("audit", "Tell who made what, from which documents, under which licences."),
    "push": ("share", "Give environments to a remote: folder, git, bucket, Hub."),
    "pull": ("share", "Bring environments from a remote into a store."),
    "sync": ("share", "Pull what is missing here, push what is missing there."),
    "remote": ("remote", "Name the places that environments are exchanged with."),
    "lock": ("lock", "Write down which environments a training run uses, to the digest."),
    "install": ("lock", "Bring exactly what a lock file names into a store."),
    "reindex": ("keep", "Rebuild a store's index, or its memory with another embedder."),
    "gc": ("gc", "Remove what nothing can reach, such as what killed writers left."),
    "migrate": ("migrate", "Bring a store of an older format to this release's."),
    "pack": ("pack", "Make an installable package of a store's environments."),
    "card": ("pack", "Write the dataset card of a store."),
    "export": ("pack", "Write environments in the layout of published pools."),
    "rejected": ("rejected", "List the designs that a store refused, and why."),
    "corpus": ("corpus", "Show what a corpus holds, and sample it."),
    "doctor": ("doctor", "Say which isolation layers and extras are there."),
}


def _interrupted() -> NoReturn:
    click.echo("\ninterrupted", err=True)
    sys.exit(INTERRUPTED)


class _Commands(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = imported(f"spade_envs.cli.{_COMMANDS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_command")
        return command if isinstance(command, click.Command) else None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line; click itself would end an interrupt with 1."""
        try:
            return super().make_context(*args, **extra)
        except KeyboardInterrupt:
            _interrupted()

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; click itself would end an interrupt with 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _interrupted()
        except BrokenPipeError as error:  # click itself would end with 1, which says another thing
            if not (gone := _unread()):
                click.echo(f"error: a program that this one started has ended: {error}", err=True)
                sys.exit(MACHINERY)
            for handle in gone:
                os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
            sys.exit(0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spade-envs")
def cli() -> None:
    """Environments written by language models, admitted by executed gates.

    Exit codes: 0 all well, 1 something found wrong, 2 wrong usage, 3 machinery failed.
    """


def exit_code(error: SpadeError) -> int:
    """Return the exit code that an error stands for."""
    usage = (ConfigError, CorpusError, IdError, MissingExtra, NotFound, ParseError)
    if isinstance(error, NotCertified | NotTrusted | Withdrawn | Corrupt | EnvironmentFault):
        return FOUND
    return USAGE if isinstance(error, usage) else MACHINERY


def message_of(error: SpadeError) -> str:
    """Return an error's message; `str` of a KeyError would put it in quotes."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _unread() -> list[int]:
    """Return which of stdout and stderr are pipes that nobody reads any longer."""
    poll = select.poll()
    for handle in (1, 2):
        poll.register(handle, 0)
    return [handle for handle, event in poll.poll(0) if event & (select.POLLERR | select.POLLHUP)]


def _open_what_is_closed() -> None:
    """Let closed standard streams lead nowhere, before a file of ours gets their number."""
    for handle in range(3):
        with contextlib.suppress(OSError):
            os.fstat(handle)
            continue
        os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main() -> None:
    """Run the command line; every error that is ours becomes one line and an exit code."""
    _open_what_is_closed()
    try:
        _run()
    except SystemExit as ending:
        if any(thread.name.startswith(_SLOW) for thread in threading.enumerate()):
            # Interrupted or failed: what is under way there would hold us up until its deadline.
            sys.stdout.flush()
            os._exit(ending.code if isinstance(ending.code, int) else FOUND)
        raise


def _run() -> None:
    try:
        cli.main(prog_name="spade-envs", standalone_mode=True)
    except SpadeError as error:
        click.echo(clean(f"error: {message_of(error)}"), err=True)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        click.echo(clean(f"error: {error}"), err=True)
        sys.exit(MACHINERY)


if __name__ == "__main__":
    main()
