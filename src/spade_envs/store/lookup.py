"""From what a person writes to the one version that is meant, with helpful refusals."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from spade_envs.errors import Corrupt, IdError, NotFound, Withdrawn
from spade_envs.ids import EnvId
from spade_envs.store import index
from spade_envs.store.layout import INDEX, scan, versions_of
from spade_envs.store.read import read_tombstone, read_version

MIN_PREFIX_CHARS = 12
_HEX = re.compile(rf"(?:sha256:)?([0-9a-f]{{{MIN_PREFIX_CHARS},64}})")
_MADE = re.compile(r"-[0-9a-f]{8,}$")


def find(root: Path, ref: str) -> EnvId:
    """Return the version that `ref` names: an id, a name, a digest or the start of a digest.

    A name stands for its newest version that is not withdrawn. A version that is named in full is
    given even if it is withdrawn.

    Raises:
        NotFound: nothing has this name.
        Withdrawn: every version of this name is withdrawn.
        IdError: `ref` cannot name an environment, or names several.
        Corrupt: the index gives a digest to a version that has another one.
    """
    digest = _HEX.fullmatch(ref)
    if digest is not None and (ref.startswith("sha256:") or not versions_of(root, ref)):
        return _by_digest(root, digest[1], ref)
    env_id = EnvId.parse(ref)
    versions = versions_of(root, env_id.name)
    if not versions:
        raise NotFound(f"no environment {env_id.name!r} in {root}{_suggest(root, env_id.name)}")
    if env_id.version is None:
        return _newest(root, env_id.name, versions)
    if env_id.version not in versions:
        known = ", ".join(f"v{v}{' (withdrawn)' if gone else ''}" for v, gone in versions.items())
        raise NotFound(f"spade/{env_id.name} has no v{env_id.version} in {root}; it has {known}")
    return env_id


def _newest(root: Path, name: str, versions: dict[int, bool]) -> EnvId:
    usable = [version for version, withdrawn in versions.items() if not withdrawn]
    if usable:
        return EnvId(name, usable[-1])
    last = EnvId(name, max(versions))
    raise Withdrawn(f"every version of {name} was withdrawn; {last}: {read_tombstone(root, last)}")


def _by_digest(root: Path, start: str, ref: str) -> EnvId:
    lines = [line for line in index.load(root) if line.digest.startswith(f"sha256:{start}")]
    if not lines:
        raise NotFound(f"nothing in {root} has the digest {ref}")
    if len({line.digest for line in lines}) > 1:
        raise IdError(f"several digests in {root} start with {ref}; write more digits")
    lines.sort(key=lambda line: line.withdrawn is not None)
    env_id = EnvId.parse(lines[0].id)
    check_index(root, env_id, lines[0].digest)
    return env_id


def check_index(root: Path, env_id: EnvId, digest: str) -> None:
    """Hold what the index calls a version's digest to its manifest.

    Raises:
        Corrupt: they differ, or the manifest cannot be read.
        NotFound: there is no manifest.
    """
    if read_version(root, env_id).digest != digest:
        raise Corrupt(
            f"{root / INDEX} gives {env_id} the digest {digest[:19]}..., and its manifest another "
            f"one; mend it with: spade-envs reindex --store {shlex.quote(str(root))}"
        )


def _suggest(root: Path, name: str) -> str:
    names = {EnvId.parse(env_id).name for env_id, withdrawn in scan(root).items() if not withdrawn}
    near = closest(name, names)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that look like `word`, best first.

    The digest at the end of a made name counts for nothing: `maez` finds `maze-23a0ca0e`.
    """
    stems: dict[str, list[str]] = {}
    for name in sorted(known):
        stems.setdefault(_MADE.sub("", name), []).append(name)
    near = difflib.get_close_matches(_MADE.sub("", word), stems, n=3, cutoff=0.6)
    return [name for stem in near for name in stems[stem]][:3]
