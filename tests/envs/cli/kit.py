"""The command line within the tests' own process: a new one takes a second to begin."""

import contextlib
import os

from click.testing import CliRunner

from spade_envs.cli.main import MACHINERY, cli, exit_code, message_of
from spade_envs.errors import SpadeError

WIDE = {"COLUMNS": "200"}


def run(*arguments, cwd=None, text="", **environ):
    """Return the exit code, stdout and stderr of `spade-envs`, as `main` would give them."""
    runner = CliRunner(env=WIDE | {name: str(value) for name, value in environ.items()})
    with contextlib.chdir(cwd or os.getcwd()):
        done = runner.invoke(cli, [*map(str, arguments)], input=text)
    if isinstance(done.exception, SpadeError):
        told = f"{done.stderr}error: {message_of(done.exception)}\n"
        return exit_code(done.exception), done.stdout, told
    if isinstance(done.exception, OSError):
        return MACHINERY, done.stdout, f"{done.stderr}error: {done.exception}\n"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr
