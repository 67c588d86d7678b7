"""From what a user types after `--model` or `--designer` to a policy."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spade_envs.design.clients.base import Policy
from spade_envs.errors import ConfigError, MissingExtra

GROUP = "spade_envs.designers"
"""Entry points in this group name classes that take no arguments."""

_SCHEMES = ("openai", "hf", "vllm", "scripted")


def open_policy(spec: str, *, model: str | None = None, **options: Any) -> Policy:
    """Return the policy that `spec` names; its libraries are imported only here.

    Args:
        spec: `http://HOST:PORT/v1#MODEL` (any OpenAI-compatible server; its first model without
            `#MODEL`), `openai:MODEL` (the SDK's own
            server), `hf:PATH_OR_NAME` (in-process `transformers`), `vllm:PATH_OR_NAME` (in-process
            vLLM), `scripted:FILE` (replay), or the
            name of an installed policy, such as `nano`.
        model: model to ask an HTTP server for; what stands behind `#` if not given.
        options: further keywords of the client, such as `timeout_s`.

    Raises:
        ConfigError: there is no such policy.
        MissingExtra: a library that it needs is not installed.
    """
    if spec.startswith(("http://", "https://")):
        from spade_envs.design.clients.openai_compatible import OpenAICompatiblePolicy

        url, _, named = spec.partition("#")
        return OpenAICompatiblePolicy(base_url=url, model=model or named or None, **options)
    scheme, colon, rest = spec.partition(":")
    if colon and rest:
        if scheme == "openai":
            from spade_envs.design.clients.openai_compatible import OpenAICompatiblePolicy

            return OpenAICompatiblePolicy(base_url=None, model=rest, **options)
        if scheme == "hf":
            from spade_envs.design.clients.hf import HfPolicy

            return HfPolicy(rest, **options)
        if scheme == "vllm":
            from spade_envs.design.clients.vllm import VllmPolicy

            return VllmPolicy(rest, **options)
        if scheme == "scripted":
            from spade_envs.design.clients.scripted import ScriptedPolicy

            return ScriptedPolicy.from_file(rest, **options)
    installed = _installed()
    if spec not in installed:
        names = ", ".join(sorted(installed)) or "none"
        raise ConfigError(
            f"no model {spec!r}; write http://HOST:PORT/v1, openai:MODEL, hf:PATH_OR_NAME, "
            f"vllm:PATH_OR_NAME, scripted:FILE, or an installed one ({names})"
        )
    return _load(installed[spec], options)


def is_spec(spec: str) -> bool:
    """Whether `open_policy` knows this kind of spec; what it names may still be missing."""
    scheme, _, rest = spec.partition(":")
    server = spec.startswith(("http://", "https://"))
    return server or (scheme in _SCHEMES and bool(rest)) or spec in _installed()


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _load(entry: EntryPoint, options: dict[str, Any]) -> Policy:
    try:
        policy = entry.load()(**options)
    except MissingExtra:
        raise
    except ImportError as error:
        raise ConfigError(f"model {entry.name!r} cannot be imported: {error}") from error
    if not isinstance(policy, Policy):
        raise ConfigError(f"{entry.value} is not a policy: it lacks name or complete")
    return policy
