"""The picture of a store: complete, self-contained, and deaf to what it shows."""

import re

import pytest

from envs.memory.kit_memory import Axes, add_about
from envs.reports.kit_reports import NASTY
from envs.reports.test_reports_page import ALLOWED, Reader
from spade_envs.memory import open_memory
from spade_envs.reports import store_map
from spade_envs.reports.store_map import map_of, render_map
from spade_envs.store import open_store
from spade_envs.store.plays import PlayReader, Plays, PlayWriter


def made(tmp_path, *texts, **options):
    store = open_store(tmp_path / "store", create=True)
    for number, text in enumerate(texts):
        add_about(store, f"{text} {number}", name=f"env-{number}", **options)
    memory = open_memory(store, Axes("ferry train kiln"))
    memory.refresh()
    return memory


def test_the_map_knows_the_nearest_of_each_and_what_plays_came_to(tmp_path):
    memory = made(tmp_path, "ferry", "ferry train", "kiln", skills=("optimization",))
    first = memory.store.get("env-0")
    line = Plays(
        digest=first.digest, plays=4, successes=1, returns=1.0, hinted=2, hinted_successes=2
    )
    PlayWriter(memory.store.root).append([line])

    found = map_of(memory, PlayReader(memory.store.root).figures())

    ferry, both, kiln = found.points
    assert (ferry.nearest, both.nearest) == ("spade/env-1-v0", "spade/env-0-v0")
    assert ferry.similarity == pytest.approx(0.7071, abs=1e-4)
    assert abs(ferry.x - both.x) + abs(ferry.y - both.y) < abs(ferry.x - kiln.x) + abs(
        ferry.y - kiln.y
    )
    assert ferry.as_json()["success"] == 0.25
    assert ferry.as_json()["regret"] == 0.75
    assert found.share == pytest.approx(1.0)
    page = render_map(found, made_at="2026-01-02 03:04 UTC")
    reader = Reader(page)
    assert "3 environments" in reader.text
    assert "25 %" in reader.text
    assert "0.75" in reader.text
    assert "optimization 3" in " ".join(reader.text.split())
    assert reader.links == ["#environments", "#e0", "#e1", "#e2"]
    assert "No two have a similarity" in reader.text


def test_near_duplicates_are_named(tmp_path):
    page = render_map(map_of(made(tmp_path, "ferry", "ferry", "kiln"), {}), made_at="now")
    assert "spade/env-0-v0 and spade/env-1-v0: 1.000" in Reader(page).text
    assert "env-2-v0 and" not in page


def test_nothing_foreign_becomes_markup_and_nothing_is_loaded(tmp_path):
    title = NASTY.replace("\n", " ").encode("utf-8", "replace").decode()
    title = "".join(char for char in title if char.isprintable())[:200]
    page = render_map(map_of(made(tmp_path, "ferry", "kiln", title=title), {}), made_at="now")
    reader = Reader(page)
    assert set(reader.tags) <= ALLOWED | {"figure", "figcaption"}
    assert not [name for name in reader.attributes if name.startswith("on")]
    assert not re.findall(r"(?:src|href)=[\"'](?!#)|@import|url\(", page)
    assert len(set(reader.ids)) == len(reader.ids)
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


@pytest.mark.parametrize("count", [0, 1])
def test_a_store_of_none_or_one_has_a_page(tmp_path, count):
    found = map_of(made(tmp_path, *["ferry"] * count), {})
    assert [point.nearest for point in found.points] == [None] * count
    assert f"{count} environments" in render_map(found, made_at="now")


def test_of_many_environments_evenly_many_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(store_map, "MAX_POINTS", 3)
    found = map_of(made(tmp_path, *["ferry"] * 7), {})
    assert [point.record.id for point in found.points] == [f"spade/env-{n}-v0" for n in (0, 3, 6)]
    assert found.left_out == 4
    assert "3 environments of 7" in Reader(render_map(found, made_at="now")).text
