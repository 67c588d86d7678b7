"""Write versions in the layout of the published SPADE pools.

`games/*.py` are the sources, byte for byte or with an adapter after them; `manifest.jsonl` has a
row for each, and `checksums.sha256` is what `sha256sum -c` reads. `interop.folders` reads the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spade_envs.ids import slugify
from spade_envs.manifest.canonical import stamp
from spade_envs.packing.adapter import with_adapter
from spade_envs.packing.card import render_card, sheet_of
from spade_envs.packing.chosen import Chosen, read_all
from spade_envs.store import EnvStore
from spade_envs.store.layout import SOURCE
from spade_envs.store.outside import new_folder
from spade_envs.types import Json, Record

GAMES, MANIFEST, SUMS, README = "games", "manifest.jsonl", "checksums.sha256", "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """One file of a pool."""

    file_name: str
    data: bytes
    row: dict[str, Json]


def game_of(number: int, one: Chosen, *, adapter: bool = False) -> Game:
    """Return file and manifest row of a version.

    Args:
        number: of the file in the pool, from 0.
        one: the version.
        adapter: let loaders of published pools play what is in our own contract.
    """
    record, data, interface = one.record, one.files[SOURCE], one.manifest.interface
    if adapter and interface.api == "spade-1":
        data = with_adapter(data.decode("utf-8"), interface.entry).encode("utf-8")
    skill = record.skills[0] if record.skills else "unknown"
    name = f"game_{number:05d}_{slugify(skill, max_chars=40).replace('-', '_')}.py"
    found = stamp(data)
    row = {
        "game_id": f"game_{number:05d}",
        "file_name": name,
        "path": f"{GAMES}/{name}",
        "skill": skill,
        "skills": list(record.skills),
        "sha256": found.sha256,
        "source_sha256": one.manifest.files[SOURCE].sha256,
        "byte_count": found.size,
        "line_count": data.count(b"\n") + (not data.endswith(b"\n")),
        "id": record.id,
        "digest": record.digest,
        "title": record.title,
        "summary": record.summary,
        "kind": record.kind,
        "api": interface.api,
        "entry": interface.entry,
        "levels": record.levels,
        "max_turns": record.max_turns,
        "licence": record.licence,
        "provenance": one.manifest.provenance.model_dump(mode="json"),
    }
    return Game(file_name=name, data=data, row=row)


def export_pool(
    store: EnvStore, records: Sequence[Record], out: Path, *, adapter: bool = False
) -> tuple[Game, ...]:
    """Write versions as a pool into the folder `out`, whole or not at all; gives its files.

    Args:
        store: where the versions are.
        records: which ones; at least one.
        out: folder of the pool, which is new or empty.
        adapter: see `game_of`.

    Raises:
        ConfigError: `out` holds something.
        Corrupt: a version is not what was published.
        StorageError: nothing can be written there.
    """
    games: list[Game] = []

    def written(stage: Path) -> Iterator[Chosen]:
        for number, one in enumerate(read_all(store, records)):
            game = game_of(number, one, adapter=adapter)
            (stage / GAMES / game.file_name).write_bytes(game.data)
            games.append(game)
            yield one

    with new_folder(out) as stage:
        (stage / GAMES).mkdir()
        card = render_card(sheet_of(written(stage)), title=out.absolute().name, form="pool")
        rows = "".join(json.dumps(game.row, ensure_ascii=True) + "\n" for game in games)
        (stage / MANIFEST).write_text(rows, encoding="utf-8")
        (stage / README).write_text(card, encoding="utf-8")
        sums = [(game.row["sha256"], game.row["path"]) for game in games]
        sums += [(stamp((stage / name).read_bytes()).sha256, name) for name in (MANIFEST, README)]
        text = "".join(f"{sha256}  {path}\n" for sha256, path in sums)
        (stage / SUMS).write_text(text, encoding="ascii")
    return tuple(games)
