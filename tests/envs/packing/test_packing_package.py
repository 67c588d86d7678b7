"""`pack`: a project and a wheel, the same bytes twice, that hold what the store vouches for."""

import hashlib
import importlib
import importlib.metadata
import json
import os
import sys
import tomllib
import zipfile

import gymnasium as gym
import pytest

from envs.store.kit import add
from spade_envs.errors import ConfigError, Corrupt, NotFound, StoreError, Withdrawn
from spade_envs.packing import PackName, choose, pack
from spade_envs.packing.licences import for_hub, whole
from spade_envs.store import open_store
from spade_envs.store.discovery import PACKED

SKILLS = ("spatial-reasoning",)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    add(opened, 0, name="maze", skills=SKILLS)
    add(opened, 1, name="maze", licence="Apache-2.0 OR MIT", skills=SKILLS)
    add(opened, 2, name="alice.maze", licence="CC-BY-4.0")
    return opened


def made(store, out, refs=(), **options):
    name = options.pop("name", "our-envs")
    return pack(store, choose(store, refs), PackName(name), out, **options)


def test_a_wheel_holds_a_whole_store_and_has_the_same_bytes_twice(store, tmp_path):
    first, second = made(store, tmp_path / "a"), made(store, tmp_path / "elsewhere" / "b")
    sums = {hashlib.sha256(one.wheel.read_bytes()).hexdigest() for one in (first, second)}
    assert len(sums) == 1
    with zipfile.ZipFile(first.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        wheel.extractall(tmp_path / "site")
    inside = f"our_envs/{PACKED}"
    versions = ["alice.maze/v0", "maze/v0", "maze/v1"]
    assert names == {
        "our_envs/__init__.py",
        *(f"{inside}/{name}" for name in ("ENVSTORE.json", "index.jsonl", "CATALOG.md")),
        *(f"{inside}/envs/{version}/{name}" for version in versions
          for name in ("env.py", "manifest.json", "report.json")),
    }  # fmt: skip
    packed = open_store(tmp_path / "site" / inside)
    assert packed.verify(deep=True) == []
    assert [(r.id, r.digest) for r in packed.records()] == [
        (r.id, r.digest) for r in store.records()
    ]
    for version in versions:
        for name in ("env.py", "manifest.json", "report.json"):
            path = f"envs/{version}/{name}"
            assert (packed.root / path).read_bytes() == (store.root / path).read_bytes()


def test_the_project_says_what_it_is(store, tmp_path):
    packed = made(store, tmp_path / "a", wheel=False)
    assert packed.wheel is None
    assert not (tmp_path / "a" / "dist").exists()
    project = tomllib.loads((tmp_path / "a" / "pyproject.toml").read_text())
    assert project["project"]["license"] == "(Apache-2.0 OR MIT) AND CC-BY-4.0 AND MIT"
    assert project["project"]["entry-points"]["gymnasium.envs"] == {"our-envs": "our_envs:register"}
    assert [need.partition(">=")[0] for need in project["project"]["dependencies"]] == [
        "gymnasium",
        "spade-envs",
    ]
    readme = (tmp_path / "a" / "README.md").read_text()
    assert 'gym.make("our_envs:our-envs/alice.maze-v0", level=0)' in readme
    assert "`our-envs/maze-v1`" in readme
    assert "spade/maze" not in readme


def test_the_package_registers_its_namespace_and_nobody_writes_to_it(store, tmp_path, monkeypatch):
    made(store, tmp_path / "a", wheel=False)
    before = dict(gym.registry)
    monkeypatch.syspath_prepend(str(tmp_path / "a" / "src"))
    try:
        module = importlib.import_module("our_envs")
        spec = gym.spec("our-envs/maze-v1")
        assert (spec.namespace, spec.name, spec.version) == ("our-envs", "maze", 1)
        assert spec.kwargs["ref"] == "spade/maze-v1"
        assert spec.kwargs["digest"] == store.get("spade/maze-v1").digest
        assert spec.kwargs["store"] == str(module.STORE)
        assert gym.spec("our-envs/alice.maze-v0").kwargs["ref"] == "spade/alice.maze-v0"
        assert module.register() == 3
        assert not [name for name in gym.registry if name not in before and "our-envs" not in name]
        with pytest.raises(gym.error.NameNotFound, match=r"our-envs"):
            gym.spec("our-envs/mazes-v0")
    finally:
        gym.registry.clear()
        gym.registry.update(before)
        sys.modules.pop("our_envs", None)
    packed = open_store(module.STORE)
    assert packed.read_only
    with pytest.raises(StoreError, match="read-only"):
        packed.withdraw("maze", "no")


def test_compiled_sources_of_an_installed_package_are_no_problem_and_elsewhere_they_are(
    store, tmp_path
):
    made(store, tmp_path / "a", wheel=False)
    packed = open_store(tmp_path / "a" / "src" / "our_envs" / PACKED)
    for root in (packed.root, store.root):
        cache = root / "envs" / "maze" / "v0" / "__pycache__"
        cache.mkdir()
        (cache / "env.cpython-311.pyc").write_bytes(b"\0")
    assert packed.verify(deep=True) == []
    assert [problem.path for problem in store.verify()] == ["envs/maze/v0/__pycache__"]


def test_only_what_is_meant_goes_out(store, tmp_path):
    store.withdraw("spade/maze-v1", "too easy")
    assert made(store, tmp_path / "a", wheel=False).ids == (
        "our-envs/alice.maze-v0",
        "our-envs/maze-v0",
    )
    digest = store.get("alice.maze").digest
    assert made(store, tmp_path / "b", [digest, "alice.maze"], wheel=False).ids == (
        "our-envs/alice.maze-v0",
    )
    with pytest.raises(Withdrawn, match="too easy"):
        choose(store, ["spade/maze-v1"])
    with pytest.raises(NotFound, match="labyrinth"):
        choose(store, ["labyrinth"])


@pytest.mark.parametrize("name", ["manifest.json", "env.py", "report.json"])
def test_a_changed_version_is_not_packed_and_nothing_is_left(store, tmp_path, name):
    path = store.root / "envs" / "maze" / "v0" / name
    path.write_bytes(path.read_bytes().replace(b"a", b"b", 1))
    with pytest.raises(Corrupt):
        made(store, tmp_path / "out" / "a")
    assert os.listdir(tmp_path / "out") == []


def test_a_folder_with_something_in_it_is_left_alone(store, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.tex").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (tmp_path / "a", tmp_path / "link", tmp_path / "a" / "thesis.tex"):
        with pytest.raises(ConfigError, match="name a new folder"):
            made(store, out)
    assert (tmp_path / "a" / "thesis.tex").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert made(store, tmp_path / "empty", wheel=False).project == tmp_path / "empty"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Our Envs", "lower-case"),
        ("../x", "lower-case"),
        ("alice.envs", "no name of a Python module"),
        ("our envs", "such as our-envs"),
        ("Our_Envs!", "such as our-envs"),
        ("\x1b", "such as our-envs"),
        ("3-mazes", "no name of a Python module"),
        ("class", "no name of a Python module"),
        ("json", "is taken"),
        ("spade", "is taken"),
        ("spade-envs", "is taken"),
        ("numpy", "is how numpy is imported"),
        ("yaml", "is how PyYAML is imported"),
        ("con", "reserve"),
    ],
)
def test_a_name_that_hides_another_module_is_refused(name, why):
    with pytest.raises(ConfigError, match=why):
        PackName(name)


def test_a_package_of_ours_may_be_packed_again(store, tmp_path, monkeypatch):
    packed = made(store, tmp_path / "a")
    with zipfile.ZipFile(packed.wheel) as wheel:
        wheel.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert importlib.metadata.version("our-envs") == "0.1.0"
    assert PackName("our-envs", "0.2").version == "0.2"


def test_a_version_is_one_of_pythons():
    assert PackName("our-envs", "v1.0rc1").version == "1.0rc1"
    with pytest.raises(ConfigError, match="is no version"):
        PackName("our-envs", '1"\nx = "')


def test_unknown_licences_are_packed_only_on_request(store, tmp_path):
    add(store, 3, name="stray", licence="unknown")
    with pytest.raises(ConfigError, match=r"spade/stray-v0: the licence 'unknown'"):
        made(store, tmp_path / "a")
    packed = made(store, tmp_path / "a", unknown_licences=True)
    assert packed.licence == ""
    assert (
        "license" not in tomllib.loads((tmp_path / "a" / "pyproject.toml").read_text())["project"]
    )
    assert for_hub(["unknown", "MIT", "GPL-3.0-or-later", "LicenseRef-x"]) == [
        *("gpl-3.0", "mit", "other", "unknown"),
    ]
    assert whole({"a": "MIT", "b": "MIT"}) == "MIT"
    assert whole({"a": f"{'(' * 140}MIT{')' * 140}", "b": "MIT OR ISC"}).count("MIT") == 2
    assert for_hub([f"{'(' * 10**6}MIT{')' * 10**6}", "MIT\n"]) == ["mit", "unknown"]


def test_every_text_of_a_manifest_stays_text(store, tmp_path):
    title = 'x"""\nimport os | <script> [a](b)'
    add(store, 4, name="hostile", title=title)
    made(store, tmp_path / "a", wheel=False)
    assert "import os" not in (tmp_path / "a" / "src" / "our_envs" / "__init__.py").read_text()
    rows = (tmp_path / "a" / "src" / "our_envs" / PACKED / "index.jsonl").read_text().splitlines()
    assert "import os" in json.loads(rows[1])["title"]
