"""`play`: a person, or the reference solution, plays an environment in the terminal."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import find, is_file, json_option, source_of, store_option

if TYPE_CHECKING:
    from spade_envs.play import SandboxedEnv
    from spade_envs.types import EnvSource, Turn


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
    """Play an environment, stored or in a file: type one action a line; Ctrl-D ends."""
    from spade_envs.cli.output import counted, echo_json, say
    from spade_envs.play import play, reference

    env, source, name = _opened(ref, store, level)
    try:
        known = reference(source, seed=seed, level=level) if with_hint or solve else None
    except BaseException:
        env.close()
        raise
    actions = list(known.solution or ()) if known and solve else None
    say(f"{name}, level {level}, seed {seed}, at most {env.interface.max_turns} turns")
    if known and with_hint:
        say(f"hint: {known.hint}")
    try:
        episode = play(env, _Player(actions, quiet=as_json), seed=seed)
    except (_Quit, KeyboardInterrupt):
        say("stopped")
        return
    finally:
        env.close()
    if as_json:
        echo_json(dataclasses.replace(episode, env_id=name))
        return
    if episode.turns:
        _show(episode.turns[-1].observation)
    if episode.fault is not None:
        say(f"the environment failed: {episode.fault.message}")
    word = "success" if episode.success else "no success"
    turns = counted(len(episode.turns), "turn")
    click.echo(f"{word}: return {episode.total_reward:g} in {turns}")


def _opened(ref: str, store: str | None, level: int) -> tuple[SandboxedEnv, EnvSource, str]:
    """Return the environment, its source and what to call it; a file is played unchecked."""
    from spade_envs.play import SandboxedEnv, make_env
    from spade_envs.play.session import open_session

    if is_file(ref):
        source = source_of(ref, None)
        session = open_session(source)
        try:
            return SandboxedEnv(session, level=level), source, ref
        except BaseException:
            session.close()
            raise
    opened, record = find(ref, store)
    source = opened.source(record)
    env = make_env(record.id, str(opened.root), digest=record.digest, level=level)
    return env, source, record.id


class _Player:
    """A policy that shows what it sees and reads its actions from a list or from the keyboard."""

    def __init__(self, actions: list[str] | None, *, quiet: bool) -> None:
        self._actions = actions
        self._quiet = quiet  # keep stdout for the JSON

    def __call__(self, first: str, turns: tuple[Turn, ...]) -> str:
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
