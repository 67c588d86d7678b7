"""Names that two teams can both use: `alice.maze` and `bob.maze`, and `alice/maze@0` for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spade_envs.errors import ConfigError, IdError
from spade_envs.ids import NAMESPACE, EnvId, check_digest, check_name
from spade_envs.manifest.models import Manifest
from spade_envs.store.layout import MANIFEST, SIGNATURE

_AT = re.compile(r"(?P<name>[^@]+)@(?:v?(?P<version>0|[1-9][0-9]{0,8})|latest)")


def read_ref(text: str) -> EnvId:
    """Return the version, or the name, that a person means.

    `maze`, `alice.maze`, `alice/maze`, each with `@2` (or `-v2`) for a version, and ids as they
    are. `spade/maze` is `maze`.

    Raises:
        IdError: it can mean none; the message shows how to write one.
    """
    match = _AT.fullmatch(text)
    name, version = (match["name"], match["version"]) if match else (text, None)
    name = name.removeprefix(f"{NAMESPACE}/")
    if name.count("/") == 1 and "." not in name:
        name = name.replace("/", ".")
    try:
        found = EnvId.parse(name)
        if version is not None:
            if found.version is not None:
                raise IdError("it names two versions")
            found = EnvId(found.name, int(version))
    except IdError as error:
        raise IdError(
            f"{text!r} names no environment ({error}); write maze, alice/maze@0 or spade/maze-v0"
        ) from None
    return found


@dataclass(frozen=True, slots=True)
class Renaming:
    """What versions are called where they go."""

    namespace: str = ""
    """Owner to put before each name, in the place of the one it has; empty keeps names."""
    name: str = ""
    """Name of the one environment that is transferred; empty keeps names."""

    def __post_init__(self) -> None:
        if self.namespace and (
            "." in self.namespace or check_name(self.namespace) != self.namespace
        ):
            raise ConfigError(f"{self.namespace!r} is no namespace; write one word like alice")
        if self.name:
            if self.namespace:
                raise ConfigError("give --as or --namespace, not both; --as alice.maze does both")
            check_name(self.name)

    def __bool__(self) -> bool:
        return bool(self.namespace or self.name)

    def of(self, env_id: EnvId) -> EnvId:
        """Return the id that a version gets.

        Raises:
            IdError: the name would be too long.
        """
        if self.name:
            return EnvId(self.name, env_id.version)
        if self.namespace:
            return EnvId(f"{self.namespace}.{env_id.name.rpartition('.')[2]}", env_id.version)
        return env_id


SAME_NAMES = Renaming()
"""Nothing is called otherwise."""


def renamed(manifest: Manifest, files: Mapping[str, bytes], env_id: EnvId) -> dict[str, bytes]:
    """Return a version's files under another id; its digest stays, its signature cannot."""
    if manifest.id == str(env_id):
        return dict(files)
    kept = {name: data for name, data in files.items() if name != SIGNATURE}
    return {**kept, MANIFEST: manifest.model_copy(update={"id": str(env_id)}).to_json()}


def is_digest(text: str) -> bool:
    """Whether a text is a full digest."""
    try:
        check_digest(text)
    except IdError:
        return False
    return True
