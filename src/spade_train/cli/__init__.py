"""`spade-train`: commands of the training package.

0: done, all well. 1: done, and something was found wrong. 2: the command was used wrongly.
3: the machinery failed. 130: interrupted.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping

import click

from spade_entry import imported
from spade_envs._version import __version__
from spade_envs.errors import SpadeError

USAGE, MACHINERY, INTERRUPTED = 2, 3, 130

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "quickstart": ("quickstart", "The whole loop with the bundled model, in ten minutes."),
    "run": ("run", "Train both roles as a configuration says."),
    "compare": ("compare", "Ways of training against each other at equal cost, over seeds."),
    "experiments": ("experiments", "Several comparisons over one set of runs, and their tables."),
    "report": ("report", "Write the HTML page of any run."),
    "eval": ("evaluate", "A policy on benchmarks, with floors and ceiling beside it."),
    "suites": ("suites", "The benchmarks, and installing what they need."),
    "table": ("table", "Tables and a page of evaluations."),
    "config": ("settings", "Show the resolved configuration of a run."),
    "presets": ("settings", "List the bundled presets and overlays."),
    "convert": ("convert", "Make a model from elsewhere ready for a run."),
    "nano": ("nano", "The bundled tiny model."),
}


class _Commands(click.Group):
    """A group that imports a command's module only when that command runs.

    It ends with one line on errors that were raised on purpose, and on those of the disk.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = imported(f"spade_train.cli.{_COMMANDS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_command")
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except SpadeError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(USAGE)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # click ends quietly where nobody reads on
            click.echo(f"error: {error}", err=True)
            sys.exit(MACHINERY)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="spade-train")
def main() -> None:
    """Train designers and agents on environments from spade-envs."""
