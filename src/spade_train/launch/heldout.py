"""Held-out environments: the bundled store, another one, or programs written for the purpose."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from spade_envs.design.brief import CHALLENGES, Challenge
from spade_envs.errors import ConfigError
from spade_envs.gates import check
from spade_envs.store import EnvStore, open_store
from spade_envs.store.files import replace_file
from spade_envs.types import EnvKind, EnvSource, Record, Report
from spade_train.config import Config
from spade_train.launch.chosen import chosen, named_store
from spade_train.loop import HeldEnv, HeldOut
from spade_train.nano.families import PLAYED, Draw, Family
from spade_train.nano.programs import draw_condition, write_program

_log = logging.getLogger(__name__)

_DONE = "heldout.json"
_TRIES = 5
"""Programs that are written for one place until the gates accept one."""


class _Noted(msgspec.Struct, frozen=True):
    """What is noted of a store that was written for evaluation."""

    asked: dict[str, object]
    envs: tuple[HeldEnv, ...]


@dataclass(frozen=True, slots=True)
class HeldStore:
    """Held-out environments and the store that holds them."""

    held: HeldOut
    store: EnvStore | None = None
    """None if nothing is held out."""


def open_heldout(config: Config, folder: Path) -> HeldStore:
    """Return the held-out environments of a configuration.

    Args:
        config: its section `evaluation`.
        folder: where written programs are kept; one that was filled before is read.

    Raises:
        ConfigError: there is no such store, or it holds nothing to evaluate on.
    """
    settings = config.evaluation
    if not settings.episodes:
        return HeldStore(HeldOut())
    if settings.source == "nano":
        store = write_heldout(
            folder, count=settings.environments, seed=settings.seed, setting=config.setting
        )
        return HeldStore(_read(store), store)
    if settings.source == "pool":
        store, ids = named_store("pool.source", config.pool.source), config.pool.ids
    else:
        store, ids = named_store("evaluation.source", settings.source), ()
    there = chosen(store, ids)
    if (store.root / _DONE).is_file():
        named = {record.digest for record in there}
        kept = tuple(env for env in _read(store).envs if env.digest in named)
        if kept:
            return HeldStore(HeldOut(kept), store)
    kinds = _kinds(config.setting)
    records = [each for each in there if each.withdrawn is None and each.kind in kinds]
    if not records:
        raise ConfigError(
            f"evaluation.source = {settings.source!r} holds no environment for setting = "
            f"{config.setting!r}; name another store, or set evaluation.episodes=0"
        )
    return HeldStore(HeldOut(tuple(HeldEnv(r.digest, r.levels, _group(r)) for r in records)), store)


def write_heldout(
    folder: Path, *, count: int, seed: int, setting: str, families: Collection[str] = ()
) -> EnvStore:
    """Return a store of certified programs of the generator, its families in turn.

    Families that the tiny model cannot learn to play are left out: they are 0 for everybody.

    Args:
        folder: the store; if it was finished before with the same arguments, nothing is written.
        count: programs, >= 1.
        seed: of the programs, apart from everything that is trained on.
        setting: `games`, `tools` or `mixed`.
        families: names of those to write; none takes all.

    Raises:
        ConfigError: the folder was filled with other arguments.
    """
    asked: dict[str, object] = {"count": count, "seed": seed, "setting": setting}
    if families:
        asked["families"] = sorted(families)
    store = open_store(folder, create=True)
    done = folder / _DONE
    if done.is_file():
        if _noted(done).asked != asked:
            raise ConfigError(f"{folder} holds other held-out environments; name a new folder")
        return store
    wanted = families or {family.name for family in PLAYED}
    chosen = [f for f in PLAYED if f.kind in _kinds(setting) and f.name in wanted]
    places = list(_places(chosen, count))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda place: _certified(seed, *place), enumerate(places)))
    envs = []
    for (family, _), program in zip(places, found, strict=True):
        if program is None:
            _log.warning("no held-out program of family %s passed the gates", family.name)
            continue
        source, report = program
        record = store.add(
            source, report, {"run": "held-out"}, skills=(family.skills[0],), refresh=False
        )
        envs.append({"digest": record.digest, "levels": record.levels, "group": family.name})
    store.reindex()
    replace_file(folder, done, json.dumps({"asked": asked, "envs": envs}, indent=1).encode())
    return store


def _read(store: EnvStore) -> HeldOut:
    unique = {each.digest: each for each in _noted(store.root / _DONE).envs}
    return HeldOut(tuple(unique.values()))


def _noted(file: Path) -> _Noted:
    try:
        noted = msgspec.json.decode(file.read_bytes(), type=_Noted)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} is damaged ({error}); put it back, or remove it: programs of its own are then "
            "written anew, and a store is evaluated on whole"
        ) from None
    if any(each.levels < 1 for each in noted.envs):
        raise ConfigError(f"{file} is damaged: an environment has at least one level; put it back")
    return noted


def _places(families: Sequence[Family], count: int) -> Iterator[tuple[Family, Challenge]]:
    """Give families in turn; each gets another challenge whenever its turn comes again."""
    for number in range(count):
        turn, place = divmod(number, len(families))
        yield families[place], CHALLENGES[(place + turn) % len(CHALLENGES)]


def _certified(
    seed: int, number: int, place: tuple[Family, Challenge]
) -> tuple[EnvSource, Report] | None:
    """Return the first program for a place that passes the gates."""
    family, challenge = place
    for attempt in range(_TRIES):
        draw = Draw(f"held-out/{seed}/{number}/{attempt}")
        condition = replace(
            draw_condition(draw, []),
            skill=family.skills[0],
            kind=family.kind,
            challenge=challenge,
        )
        source = EnvSource(code=write_program(draw, condition, family).code, origin=family.name)
        report = check(source)
        if report.accepted:
            return source, report
    return None


def _kinds(setting: str) -> Sequence[EnvKind]:
    kinds: dict[str, Sequence[EnvKind]] = {"games": ("text",), "tools": ("tool",)}
    return kinds.get(setting, ("text", "tool"))


def _group(record: Record) -> str:
    return record.skills[0] if record.skills else record.kind
