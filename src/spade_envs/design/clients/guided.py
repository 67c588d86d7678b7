"""Decoding that is bound to one fenced Python block, in the words of the servers that offer it.

The OpenAI protocol itself knows only JSON schemas, so each server has a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from spade_envs.errors import ConfigError
from spade_envs.types import Json

BLOCK_REGEX = r"```python\n([^`]|`[^`]|``[^`])+\n```"
"""One block and nothing else; its code holds no three backticks in a row."""
_BLOCK_GBNF = 'root ::= "```python\\n" ([^`] | "`" [^`] | "``" [^`])+ "\\n```"'

GUIDES: Mapping[str, Mapping[str, Json]] = {
    "vllm": {"structured_outputs": {"regex": BLOCK_REGEX}},
    "sglang": {"regex": BLOCK_REGEX},
    "llama.cpp": {"grammar": _BLOCK_GBNF},
}
"""Kind of server -> what goes into the body of a request beside the standard fields."""


def guide(kind: str | None) -> Mapping[str, Json]:
    """Return the extra fields for a kind of server; none if None.

    Raises:
        ConfigError: the kind is unknown.
    """
    if kind is None:
        return {}
    if kind not in GUIDES:
        raise ConfigError(f"no guided decoding for {kind!r}; there is {', '.join(GUIDES)}")
    return GUIDES[kind]
