"""`play`: a person, or the reference solution, plays an environment in the terminal."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import find, json_option, store_option

if TYPE_CHECKING:
    from spade_envs.types import Turn


class _Quit(Exception):
    """The person has had enough."""


@click.command("play")
@click.argument("ref", metavar="ID")
@click.option("--level", type=click.IntRange(0), default=0, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
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
    """Play an environment: type one action a line; Ctrl-D ends."""
    from spade_envs.cli.output import echo_json, say
    from spade_envs.play import make_env, play, reference

    opened, record = find(ref, store)
    known = None
    if with_hint or solve:
        known = reference(opened.source(record), seed=seed, level=level)
    env = make_env(record.id, str(opened.root), digest=record.digest, level=level)
    actions = list(known.solution or ()) if known and solve else None
    say(f"{record.id}, level {level}, seed {seed}, at most {record.max_turns} turns")
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
        echo_json(dataclasses.replace(episode, env_id=record.id))
        return
    if episode.turns:
        _show(episode.turns[-1].observation)
    if episode.fault is not None:
        say(f"the environment failed: {episode.fault.message}")
    word = "success" if episode.success else "no success"
    click.echo(f"{word}: return {episode.total_reward:g} in {len(episode.turns)} turns")


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
