"""Put the environments of envstores into Gymnasium's registry, from their indexes alone.

`gymnasium.register` scans the whole registry on each call, which takes 14 s for 10,000
environments; so the specs go straight into `gymnasium.registry`, which is a public dict. No
environment is imported and no pydantic loaded: a spec is an id, two entry points as text, and
JSON keyword arguments.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, NoReturn

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from spade_envs.errors import SpadeError, Withdrawn
from spade_envs.ids import NAMESPACE
from spade_envs.store.discovery import ENV_VARIABLE, discover
from spade_envs.store.envstore import EnvStore, open_store
from spade_envs.store.index import IndexLine, load
from spade_envs.store.locate import locate

logger = logging.getLogger(__name__)

ENTRY_POINT = "spade_envs.play.env:make_env"
VECTOR_ENTRY_POINT = "spade_envs.play.vector:make_vector_env"
WITHDRAWN_ENTRY_POINT = "spade_envs.registration:refuse_withdrawn"
CATCH_ALL_ID = "spade/Env-v0"
"""Makes any stored environment, registered or not: `gym.make("spade/Env-v0", ref=...)`."""

WITHDRAWN_NAMESPACE = "spade-withdrawn"

_TEMPLATE = EnvSpec(
    id=f"{NAMESPACE}/template-v0", entry_point=ENTRY_POINT, vector_entry_point=VECTOR_ENTRY_POINT
)


def register_store(
    store: EnvStore | str | os.PathLike[str],
    *,
    override: bool = True,
    namespace: str = NAMESPACE,
) -> int:
    """Let `gym.make` find every version in a store; may be called any number of times.

    Args:
        store: an open store, or its folder.
        override: take over an id that another store has registered with another content. If false,
            the earlier registration stays. Both are logged as a warning. The same content stays
            with the earlier store, withdrawn if that one has withdrawn it.
        namespace: what `gym.make` calls the versions: `NAMESPACE/maze-v0` for `spade/maze-v0`.

    Returns:
        Number of versions of this store that `gym.make` can now make.

    Raises:
        NotFound: there is no store.
        FormatTooNew: a newer release wrote it.
        Corrupt: its marker is unreadable.
    """
    opened = store if isinstance(store, EnvStore) else open_store(store)
    root = str(opened.root)
    count = 0
    for line in load(opened.root, trusting=True):
        env_id = f"{namespace}/{line.id.removeprefix(f'{NAMESPACE}/')}"
        rival = gym.registry.get(env_id)
        if rival is None or _takes_over(line, root, rival, override):
            gym.registry[env_id] = _spec(line, root, env_id)
        found = gym.registry[env_id]
        count += found.entry_point == ENTRY_POINT and found.kwargs.get("digest") == line.digest
    return count


def _takes_over(line: IndexLine, root: str, rival: EnvSpec, override: bool) -> bool:
    """Whether a version replaces the spec that already has its id."""
    if rival.kwargs.get("store") == root:
        return True
    if rival.kwargs.get("digest") == line.digest:
        return False
    winner = root if override else rival.kwargs.get("store")
    logger.warning("%s is in two stores with two contents; it means the one in %s", line.id, winner)
    return override


def _spec(line: IndexLine, root: str, env_id: str) -> EnvSpec:
    if line.withdrawn is not None:
        kwargs = {"ref": line.id, "reason": line.withdrawn, "store": root, "digest": line.digest}
        spec = EnvSpec(
            id=env_id,
            entry_point=WITHDRAWN_ENTRY_POINT,
            vector_entry_point=WITHDRAWN_ENTRY_POINT,
            kwargs=kwargs,
        )
        # Gymnasium searches specs by namespace for the newest version and for suggestions;
        # under a namespace of its own, a withdrawn version is refused by id but never proposed.
        spec.namespace = WITHDRAWN_NAMESPACE
        return spec
    # The constructor parses the id by regex; ten thousand calls would take 0.1 s of an import.
    spec = EnvSpec.__new__(EnvSpec)
    namespace, _, rest = env_id.partition("/")
    name, _, version = rest.rpartition("-v")
    kwargs = {"ref": line.id, "store": root, "digest": line.digest}
    own = {"id": env_id, "namespace": namespace, "name": name, "version": int(version)}
    spec.__dict__.update(_TEMPLATE.__dict__, kwargs=kwargs, **own)
    return spec


def refuse_withdrawn(ref: str, reason: str, **_: Any) -> NoReturn:
    """Stand in for an environment that was withdrawn.

    Raises:
        Withdrawn: always.
    """
    raise Withdrawn(f"{ref} was withdrawn: {reason}")


def register_catch_all() -> None:
    """Let `gym.make("spade/Env-v0", ref=...)` make any environment in any store."""
    gym.registry[CATCH_ALL_ID] = EnvSpec(
        id=CATCH_ALL_ID,
        entry_point="spade_envs.registration:make_any",
        vector_entry_point="spade_envs.registration:make_any_vector",
    )


def make_any(ref: str, store: str | None = None, **options: Any) -> gym.Env[str, str]:
    """Return the environment that `ref` names, registered or not; see `play.env.make_env`.

    Args:
        ref: id, name, digest or the first 12 or more digits of a digest.
        store: folder of the envstore; None looks into the default store and the starter store.
        **options: `level`, `isolation` and so on.

    Raises:
        NotFound: no store holds it.
        Withdrawn: the version was withdrawn.
    """
    from spade_envs.play.env import make_env

    return make_env(**_place_of(ref, store), **options)


def make_any_vector(ref: str, store: str | None = None, **options: Any) -> gym.vector.VectorEnv:
    """Return several instances of what `ref` names; see `make_any`."""
    from spade_envs.play.vector import make_vector_env

    return make_vector_env(**_place_of(ref, store), **options)


def _place_of(ref: str, store: str | None) -> dict[str, Any]:
    record = locate(ref) if store is None else open_store(store).get(ref)
    return {"ref": record.id, "store": str(record.store), "digest": record.digest}


def register_discovered() -> int:
    """Register the catch-all, the default store and the starter store; never raises for a store.

    Where both hold an id, the default store's content is meant. A store that cannot be read is
    logged and passed over, so that a broken store never breaks `import spade_envs`.
    """
    register_catch_all()
    named = os.environ.get(ENV_VARIABLE)
    count = 0
    try:
        places: tuple[Path, ...] = discover()
        if named and Path(os.path.expanduser(named)).absolute() not in places:
            logger.warning("%s names %s, which is not an envstore yet", ENV_VARIABLE, named)
    except (SpadeError, OSError, RuntimeError) as error:
        logger.warning("no envstore is registered: %s", error)
        return 0
    for place in places:
        try:
            count += register_store(place, override=False)
        except (SpadeError, OSError) as error:
            logger.warning("envstore %s is not registered: %s", place, error)
    return count
