"""The options that say which language model is asked, and how; shared by commands that ask one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spade_envs.cli.stores import Finite

if TYPE_CHECKING:
    from spade_envs.design.clients import Policy

F = TypeVar("F", bound=Callable[..., Any])

MODELS = "http://HOST:PORT/v1[#NAME], openai:NAME, vllm:PATH, hf:PATH, nano or scripted:FILE"
_SERVERS = ("http://", "https://", "openai:")


class _Positive(Finite):
    """A number above 0."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)


_OPTIONS = (
    click.option("--concurrency", type=click.IntRange(1), help="Requests at once. [default: 16]"),
    click.option("--timeout", type=_Positive(), help="Seconds for one answer. [default: 1800]"),
    click.option("--retries", type=click.IntRange(0), help="Further tries. [default: 8]"),
    click.option("--requests-per-minute", type=_Positive(), help="Limit of the server."),
    click.option("--tokens-per-minute", type=_Positive(), help="Limit of the server."),
    click.option(
        "--guided",
        type=click.Choice(["vllm", "sglang", "llama.cpp"]),
        help="Kind of server that binds answers to one code block.",
    ),
    click.option("--no-stream", is_flag=True, help="Ask for whole answers, not streamed ones."),
)


def server_options(command: F) -> F:
    """Add the options about servers; they arrive as `concurrency`, `timeout` and so on."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_model(spec: str, *, model: str | None = None, **server: Any) -> Policy:
    """Return the model that `spec` names, with the options of `server_options`.

    Raises:
        UsageError: options about servers stand beside a model that is none.
        ConfigError: there is no such model.
    """
    from spade_envs.design.clients import open_policy

    names = {"timeout": "timeout_s", "retries": "max_retries"}
    given = {names.get(key, key): value for key, value in server.items() if value is not None}
    if not given.pop("no_stream", False):
        given.pop("stream", None)
    else:
        given["stream"] = False
    if given and not spec.startswith(_SERVERS):
        said = (key for key, value in server.items() if value is not None and value is not False)
        option = next(said)  # 0 is said, too
        raise click.UsageError(
            f"--{option.replace('_', '-')} is about servers, and {spec} is none: leave it out"
        )
    return open_policy(spec, model=model, **given)
