"""The user that an agent under test talks to, where a benchmark needs one: a script or a model.

Which one it was stands in the labels of a suite. Scores with a script are not those of the
published tables, where a large model plays the user; they cost nothing and are the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spade_envs.design.clients import Policy, open_policy, split_thinking
from spade_envs.errors import ConfigError
from spade_envs.types import Json, Message

SCRIPTED = "scripted"

SETTINGS: Mapping[str, str] = {
    "user": "`scripted`, or a server for the user: http://HOST:PORT/v1#MODEL",
    "user_key_file": "absolute path of a file with the key of that server, if it asks for one",
}
"""What a suite with a user lets one set."""

_MAX_TOKENS = 1024
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class ModelUser:
    """A model that plays users at temperature 0."""

    policy: Policy

    @property
    def label(self) -> str:
        """What a reader of the table is told."""
        return f"model {self.policy.name}"

    def answer(self, messages: Sequence[Message], *, seed: int) -> str:
        """Return what the user says next; the conversation is told from the user's side.

        Raises:
            ClientError: the server does not answer.
        """
        found = self.policy.complete(messages, seed=seed, max_tokens=_MAX_TOKENS, temperature=0.0)
        return split_thinking(found.text)[1].strip()


def open_user(spec: str, key_file: str | None = None) -> ModelUser | None:
    """Return the model that plays the user, or None for the script.

    Args:
        spec: `scripted`, or a URL with the model's name behind `#`.
        key_file: file that holds the server's key and nothing else.

    Raises:
        ConfigError: neither, or no such file.
        MissingExtra: the client's libraries are not installed.
    """
    if spec == SCRIPTED:
        return None
    if not spec.startswith(("http://", "https://")):
        raise ConfigError(f"user {spec!r}: write `{SCRIPTED}` or http://HOST:PORT/v1#MODEL")
    options: dict[str, Json] = {"timeout_s": _TIMEOUT_S, "max_retries": 2, "concurrency": 1}
    if key_file is not None:
        try:
            options["api_key"] = Path(key_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"user_key_file {key_file} cannot be read: {error}") from error
    return ModelUser(open_policy(spec, **options))


def label_of(user: ModelUser | None) -> dict[str, str]:
    """Return the labels of a suite with this user."""
    return {"user": SCRIPTED if user is None else user.label}
