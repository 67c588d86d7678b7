"""Names, versions and digests of environments: parse, check and print them.

An id is `spade/<name>-v<N>`. A name is one or two slugs joined by a dot, `maze` or `alice.maze`,
where the first is the owner. A digest is `sha256:` and 64 hexadecimal digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NewType

from spade_envs.errors import IdError

NAMESPACE = "spade"
MAX_NAME_CHARS = 80

Digest = NewType("Digest", str)

_SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_NAME = re.compile(rf"(?:{_SLUG}\.)?{_SLUG}")
_ID = re.compile(rf"(?:{NAMESPACE}/)?(?P<name>[^/]*?)(?:-v(?P<version>0|[1-9][0-9]{{0,17}}))?")
_SHARED = re.compile(
    rf"(?:{NAMESPACE}/)?(?:(?P<owner>{_SLUG})[./])?(?P<name>{_SLUG}?)"
    r"(?:(?:@v?|-v)(?P<version>0|[1-9][0-9]{0,8})|@latest)?"
)
"""What `push`, `pull` and `lock` take besides: `alice/maze`, `alice/maze@0`."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION_TAIL = re.compile(r"-v[0-9]+$")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{i}" for i in range(10)), *(f"lpt{i}" for i in range(10))}
)


@dataclass(frozen=True, slots=True, order=True)
class EnvId:
    """One environment, or one version of it.

    Example:
        >>> EnvId.parse("spade/maze-v2")
        EnvId(name='maze', version=2)
        >>> str(EnvId("maze", 2))
        'spade/maze-v2'
    """

    name: str
    """`maze` or `owner.maze`: lower-case slugs."""
    version: int | None = None
    """Version, >= 0; None stands for the newest one."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.version is not None and self.version < 0:
            raise IdError(f"version must be >= 0, not {self.version}")

    @classmethod
    def parse(cls, text: str) -> EnvId:
        """Read `spade/<name>-v<N>`; the namespace and the version may be left out.

        Raises:
            IdError: the text cannot be an id; the message says what an id looks like.
        """
        match = _ID.fullmatch(text)
        if match is None:
            like = f"write it like {str(_meant(text) or EnvId('maze', 0))!r}"
            if text.endswith(".py"):
                like = "a file gets one when `spade-envs add` registers it"
            raise IdError(f"{text!r} is not an environment id; {like}")
        version = match["version"]
        try:
            return cls(match["name"], None if version is None else int(version))
        except IdError as error:
            meant = _meant(text)
            why = f"; write it like {str(meant)!r}" if meant else f": {error}"
            raise IdError(f"{text!r} is not an environment id{why}") from None

    def __str__(self) -> str:
        tail = "" if self.version is None else f"-v{self.version}"
        return f"{NAMESPACE}/{self.name}{tail}"


def _meant(text: str) -> EnvId | None:
    """Return what is meant by somebody who wrote it as `pull` takes it; None if nothing is."""
    match = _SHARED.fullmatch(text)
    if match is None:
        return None
    owner = f"{match['owner']}." if match["owner"] not in (None, NAMESPACE) else ""
    version = match["version"]
    try:
        return EnvId(f"{owner}{match['name']}", None if version is None else int(version))
    except IdError:
        return None


def check_name(name: str) -> str:
    """Return `name` if it can name an environment.

    Raises:
        IdError: it cannot; the message says why.
    """
    if len(name) > MAX_NAME_CHARS:
        raise IdError(f"name is longer than {MAX_NAME_CHARS} characters: {name[:40]}...")
    if not _NAME.fullmatch(name):
        raise IdError(
            f"name {name!r} must be lower-case letters, digits and single hyphens "
            "(one dot may separate an owner), like 'maze' or 'alice.maze'"
        )
    if any(_VERSION_TAIL.search(part) for part in name.split(".")):
        raise IdError(f"name {name!r} must not end in -v<number>; the version is a whole number")
    if any(part in _RESERVED for part in name.split(".")):
        raise IdError(f"name {name!r} holds a word that some file systems reserve")
    return name


def slugify(text: str, *, max_chars: int = 48) -> str:
    """Return a slug made of the ASCII letters and digits of `text`; `env` if none are left.

    Example:
        >>> slugify("GraphColoring: hard!")
        'graph-coloring-hard'
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    slug = re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")[:max_chars].strip("-")
    slug = _VERSION_TAIL.sub("", slug)
    return slug if slug and slug not in _RESERVED else "env"


def check_digest(text: str) -> Digest:
    """Return `text` as a digest.

    Raises:
        IdError: it is not `sha256:` and 64 hexadecimal digits.
    """
    if not _DIGEST.fullmatch(text):
        raise IdError(f"{text[:80]!r} is not a digest; write sha256: and 64 hexadecimal digits")
    return Digest(text)
