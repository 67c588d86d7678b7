"""`brief`: what a designer would be asked, and how many tokens that takes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.stores import Finite, existing_store, json_option, store_option

if TYPE_CHECKING:
    from spade_envs.pipeline import Plan
    from spade_envs.pipeline.desk import Desk
    from spade_envs.store import EnvStore

F = TypeVar("F", bound=Callable[..., Any])

PROMPT_TOKENS = 12_288
"""That of `design.length`, which is not imported for a page of help."""

_MODES = (
    *("game", "reasoning", "tool", "adversarial", "long-horizon"),
    *("mutate", "harden", "ease", "cross"),
)
_OPTIONS = (
    click.option(
        "--mode",
        "modes",
        type=click.Choice(_MODES),
        multiple=True,
        help="Sort of design; may be repeated. [default: game or tool, by the skill]",
    ),
    click.option(
        "--parent",
        "parents",
        metavar="ID",
        multiple=True,
        help="What mutate, harden, ease, cross start from; may be repeated. [default: by figures]",
    ),
    click.option(
        "--memory/--no-memory",
        default=None,
        help="Choose briefs by what the store holds. [default: if its memory can be opened]",
    ),
    click.option(
        "--apart",
        type=Finite(0, 1),
        default=0.0,
        show_default=True,
        help="Least distance from what is there, by the memory's embedder.",
    ),
    click.option(
        "--crowd",
        type=click.IntRange(0),
        help="Most environments made alike, of one level; 0: no limit. [default: 6, with memory]",
    ),
    click.option(
        "--prompt-tokens",
        type=click.IntRange(1),
        default=PROMPT_TOKENS,
        show_default=True,
        help="Longest prompt; with --max-tokens it has to fit the model's context.",
    ),
)


def brief_options(command: F) -> F:
    """Add the options on what is asked for: modes, parents, memory."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_desk(
    store: EnvStore,
    *,
    modes: Sequence[str],
    parents: Sequence[str],
    memory: bool | None,
    apart: float,
    crowd: int | None = None,
    keep: bool = True,
) -> Desk:
    """Return where briefs are chosen; without memory, if it was not asked for and cannot be had.

    Raises:
        ConfigError: the options clash, or the memory that was asked for cannot be opened.
        NotFound: there is no such parent.
    """
    from spade_envs.cli.output import say
    from spade_envs.design.modes import PARENTS
    from spade_envs.errors import ClientError, ConfigError, MissingExtra
    from spade_envs.memory import open_memory
    from spade_envs.novelty.crowd import CROWD
    from spade_envs.pipeline.desk import Desk

    starting = [mode for mode in modes if mode in PARENTS]
    if parents and not starting:
        raise ConfigError(f"--parent goes with --mode {', '.join(PARENTS)}; add one of them")
    records = [store.get(ref) for ref in dict.fromkeys(parents)]
    if parents and "cross" in starting and len({r.digest for r in records}) < PARENTS["cross"]:
        raise ConfigError("--mode cross takes two parents; name another with --parent")
    if len({record.kind for record in records}) > 1 and "cross" in starting:
        raise ConfigError("--mode cross takes parents of one kind: all text, or all tool")
    opened = None
    if memory is not False:
        try:
            opened = open_memory(store, keep=keep)
            opened.refresh()
        except (ConfigError, MissingExtra, ClientError) as error:
            if memory:
                raise
            opened = None
            say(f"without memory: {error}")
    if apart and opened is None:
        raise ConfigError("--apart is measured by the memory; leave out --no-memory")
    if crowd and opened is None:
        raise ConfigError("--crowd goes with the memory; leave out --no-memory")
    crowd = CROWD if crowd is None else crowd
    named = tuple(record.digest for record in records)
    if starting and not named and not any(record.skills for record in store.records()):
        say(
            f"--mode {starting[0]} starts from environments with a skill, of which the store has "
            "none yet: until it does, designs are made afresh; --parent names one without a skill"
        )
    return Desk(store, memory=opened, apart=apart, crowd=crowd, named=named, keep=keep)


@click.command("brief")
@click.option("--corpus", default="pydoc", show_default=True, help="As for generate; or none.")
@click.option("--skills", help="Comma-separated; every skill by default.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(["text", "tool"]),
    multiple=True,
    help="Kind of environment; may be repeated; both by default.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--attempt", type=click.IntRange(0), default=0, show_default=True, help="Which one.")
@click.option("--tokenizer", metavar="FOLDER", help="Count with this model's tokenizer.json.")
@click.option("--context", type=click.IntRange(1), help="Exit with 1 if the prompt is longer.")
@brief_options
@store_option
@json_option
def brief_command(
    corpus: str,
    skills: str | None,
    kinds: tuple[Any, ...],
    seed: int,
    attempt: int,
    tokenizer: str | None,
    context: int | None,
    modes: tuple[str, ...],
    prompt_tokens: int,
    store: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Print what generate would ask in an attempt, and how many tokens it takes.

    Nothing is asked and nothing is written; memory and parents are those of the store named.
    """
    from pathlib import Path

    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import clean, echo_json, say
    from spade_envs.corpus import open_corpus
    from spade_envs.design.brief import choose_skills
    from spade_envs.design.length import count_tokens, estimate, tokenizer_count
    from spade_envs.design.modes import choose_modes
    from spade_envs.pipeline import Plan

    wanted = choose_skills([s.strip() for s in skills.split(",")] if skills else [], kinds)
    count = tokenizer_count(Path(tokenizer)) if tokenizer else estimate
    if store is None and (settings["parents"] or settings["memory"]):
        raise click.UsageError("name the store of parents and memory with --store")
    desk = None
    if store is not None:
        desk = make_desk(existing_store(store), modes=modes, keep=False, **settings)
    plan = Plan(
        seed=seed,
        skills=wanted,
        corpus=None if corpus == "none" else open_corpus(corpus),
        designer="brief",
        modes=choose_modes(modes, wanted),
        prompt_tokens=prompt_tokens,
        desk=desk,
    )
    messages = plan.request(attempt).messages
    tokens = count_tokens(messages, count)
    how = "counted" if tokenizer else "estimated"
    if as_json:
        echo_json({"tokens": tokens, "how": how, **_as_json(plan, attempt)})
    else:
        for message in messages:
            click.echo(f"--- {message.role}")
            click.echo(clean(message.content))
        say(f"{tokens} tokens, {how}")
    if context is not None and tokens > context:
        say(
            f"that is more than {context}; allow more, or let passages be shorter where there are "
            "any (words in docs/corpus.md)"
        )
        sys.exit(FOUND)


def _as_json(plan: Plan, attempt: int) -> dict[str, Any]:
    import msgspec

    messages = plan.request(attempt).messages
    chat = [{"role": message.role, "content": message.content} for message in messages]
    return {**msgspec.to_builtins(plan.choice(attempt)), "messages": chat}
