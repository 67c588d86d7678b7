"""`play`: a person, or the reference solution, plays an environment in the terminal."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import find, is_file, json_option, source_of, store_option

if TYPE_CHECKING:
    from spade_envs.play import SandboxedEnv
    from spade_envs.types import EnvSource, Episode, Turn


class _Quit(Exception):
    """The person has had enough."""


@click.command("play")
@click.argument("ref", metavar="ID|FILE")
@click.option("--level", type=click.IntRange(0), default=0, show_default=True, help="Difficulty.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Which task of the level.",
)
@click.option("--hint", "with_hint", is_flag=True, help="Show the privileged hint first.")
@click.option("--solve", is_flag=True, help="Let the reference solution play.")
@store_option
@json_option
def play_command(
    ref: str,
    level: int,
    seed: int,
    with_hint: bool,
    solve: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Play an environment, stored or in a file: type one action a line; Ctrl-D ends.

    Exit code 0 however the episode ends, 1 if the environment itself fails, 2 if there is no such
    level or nothing to --solve it with, 130 if interrupted.
    """
    from spade_envs.cli.main import FOUND, INTERRUPTED
    from spade_envs.cli.output import echo_json, say
    from spade_envs.play import play

    env, source, name = _opened(ref, store, level)
    try:
        actions = _helped(source, name, level, seed, with_hint, solve)
        say(f"{name}, level {level}, seed {seed}, at most {env.interface.max_turns} turns")
        player = _Player(actions, quiet=as_json)
        code = 0
        try:
            episode = play(env, player, seed=seed)
            code = 0 if episode.fault is None else FOUND
        except (_Quit, KeyboardInterrupt) as stop:
            say("stopped")
            episode = player.episode(level, seed)
            code = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else 0
    finally:
        env.close()
    if as_json:
        echo_json(dataclasses.replace(episode, env_id=name))
    elif not player.stopped:
        _tell(episode)
    sys.exit(code)


def _helped(
    source: EnvSource, name: str, level: int, seed: int, with_hint: bool, solve: bool
) -> list[str] | None:
    """Show the hint if asked to; return the reference's actions if they are to be played.

    Raises:
        ConfigError: there is no solution to play.
        EnvironmentFault: the environment failed while it was asked.
    """
    from spade_envs.cli.output import say
    from spade_envs.errors import ConfigError
    from spade_envs.play import reference

    if not (with_hint or solve):
        return None
    known = reference(source, seed=seed, level=level)
    if solve and known.solution is None:
        raise ConfigError(f"{name} has no solution(); play it without --solve")
    if with_hint:
        say(f"{name} has no hint()" if known.hint is None else f"hint: {known.hint}")
    return list(known.solution or ()) if solve else None


def _tell(episode: Episode) -> None:
    from spade_envs.cli.output import counted, say

    if episode.turns:
        _show(episode.turns[-1].observation)
    if episode.fault is not None:
        say(f"the environment failed: {episode.fault.message}")
    word = "success" if episode.success else "no success"
    turns = counted(len(episode.turns), "turn")
    click.echo(f"{word}: return {episode.total_reward:g} in {turns}")


def _opened(ref: str, store: str | None, level: int) -> tuple[SandboxedEnv, EnvSource, str]:
    """Return the environment, its source and what to call it; a file is played unchecked."""
    from spade_envs.cli.consent import ask_consent
    from spade_envs.play import SandboxedEnv, make_env
    from spade_envs.play.session import open_session
    from spade_envs.trust.runs import source_to_run

    if is_file(ref):
        source = source_of(ref, None)
        session = open_session(source)
        try:
            return SandboxedEnv(session, level=level), source, ref
        except BaseException:
            session.close()
            raise
    opened, record = find(ref, store)
    ask_consent(record)
    source = source_to_run(opened, record)
    env = make_env(record.id, str(opened.root), digest=record.digest, level=level)
    return env, source, record.id


class _Player:
    """A policy that shows what it sees and reads its actions from a list or from the keyboard."""

    def __init__(self, actions: list[str] | None, *, quiet: bool) -> None:
        self._actions = actions
        self._quiet = quiet  # keep stdout for the JSON
        self._first = ""
        self._turns: tuple[Turn, ...] = ()
        self.stopped = False

    def episode(self, level: int, seed: int) -> Episode:
        """Return what was played before the person stopped: neither won nor ended."""
        from spade_envs.types import Episode

        self.stopped = True
        return Episode(
            env_id="",
            level=level,
            seed=seed,
            first_observation=self._first,
            turns=self._turns,
            total_reward=sum(turn.reward for turn in self._turns),
            success=False,
            terminated=False,
            truncated=False,
        )

    def __call__(self, first: str, turns: tuple[Turn, ...]) -> str:
        self._first, self._turns = first, turns
        _show(turns[-1].observation if turns else first, err=self._quiet)
        if self._actions is not None:
            action = self._actions[len(turns)] if len(turns) < len(self._actions) else ""
            _show(f"> {action}", err=self._quiet)
            return action
        click.echo("> ", nl=False, err=self._quiet)
        line = sys.stdin.readline()
        if not line:
            raise _Quit
        return line.rstrip("\n")


def _show(text: str, *, err: bool = False) -> None:
    from spade_envs.cli.output import clean

    click.echo(clean(text), err=err)
