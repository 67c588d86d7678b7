"""A packed wheel in a clean environment: gymnasium, spade-envs, what they need, nothing else."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from spade_envs.packing import PackName, choose, pack
from spade_envs.packing.wheel import build_wheel
from spade_envs.store import open_store, starter_path

ROOT = Path(__file__).parents[2]
IDS = ["spade/paper-punch-v0", "spade/tide-ledger-v0"]

USE = """
import sys
import gymnasium as gym
from gymnasium.utils.env_checker import check_env

for name in ("paper-punch", "tide-ledger"):
    env = gym.make(f"our_envs:our-envs/{name}-v0", level=1)
    check_env(env.unwrapped, skip_render_check=True)
    first, _ = env.reset(seed=7)
    assert first == env.reset(seed=7)[0] and len(first) > 20
    _, reward, *_ = env.step("no idea")
    assert reward == 0.0
    assert "seccomp" in env.unwrapped.metadata["isolation"]
    env.close()
envs = gym.make_vec("our-envs/paper-punch-v0", num_envs=3)
assert len(envs.reset(seed=1)[0]) == 3
envs.close()
import our_envs, spade_envs
assert our_envs.__file__.startswith(sys.prefix) and spade_envs.__file__.startswith(sys.prefix)
assert not {"torch", "click", "pydantic", "hatchling"} & set(sys.modules)
from importlib.metadata import entry_points
(plugin,) = [point for point in entry_points(group="gymnasium.envs") if point.name == "our-envs"]
assert plugin.load()() == 2
"""
TAMPERED = """
import gymnasium as gym
import our_envs
path = our_envs.STORE / "envs" / "paper-punch" / "v0" / "env.py"
path.write_text(path.read_text() + "# changed")
try:
    gym.make("our-envs/paper-punch-v0")
except Exception as error:
    assert type(error).__name__ == "Corrupt", error
else:
    raise SystemExit("a changed source was made")
"""


def needed(requirements, found):
    """Collect the installed distributions that meet requirements, and theirs, without extras."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            distribution = importlib.metadata.distribution(requirement.name)
            if distribution.name not in found:
                found[distribution.name] = distribution
                needed(distribution.requires or (), found)
    return found


def only_dependencies(folder):
    """Fill a folder with links to what spade-envs needs, so that no network is needed."""
    folder.mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = needed(project["dependencies"], {})
    for distribution in found.values():
        tops = {file.parts[0] for file in distribution.files if file.parts[0] not in ("..", "bin")}
        for top in tops - {"__pycache__"}:
            target = folder / top
            if not target.exists():
                target.symlink_to(Path(distribution.locate_file(top)).resolve())
    return sorted(found)


def inventory(site):
    paths = {path.relative_to(site).as_posix() for path in site.rglob("*")}
    return {path for path in paths if not path.startswith(("pip/", "setuptools/"))}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_installs_plays_and_leaves_nothing(tmp_path):
    store = open_store(starter_path())
    packed = pack(store, choose(store, IDS), PackName("our-envs"), tmp_path / "project")
    ours = build_wheel(ROOT, tmp_path / "dist")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)
    python = tmp_path / "clean" / "bin" / "python"
    (site,) = (tmp_path / "clean" / "lib").glob("python*/site-packages")
    names = only_dependencies(tmp_path / "dependencies")
    assert "gymnasium" in names
    assert "torch" not in names
    (site / "dependencies.pth").write_text(f"{tmp_path / 'dependencies'}\n")
    home = tmp_path / "home"
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PIP_NO_INDEX": "1"}

    def run(*arguments):
        command = [str(python), *map(str, arguments)]
        done = subprocess.run(
            command, env=environ, cwd=home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "pip", "install", "--no-deps", ours)
    run("-c", "import gymnasium, spade_envs")
    before = inventory(site)
    run("-m", "pip", "install", packed.wheel)  # its dependencies are there: pip looks for no others
    assert any(path.startswith("our_envs/_envstore/envs/paper-punch/") for path in inventory(site))
    run("-m", "pip", "check")
    run("-W", "error::UserWarning", "-c", USE)
    run("-m", "spade_envs", "verify", "--store", site / "our_envs" / "_envstore")
    run("-c", TAMPERED)
    run("-m", "pip", "uninstall", "--yes", "our-envs")
    assert inventory(site) == before
    assert [path.name for path in home.rglob("*our*envs*")] == []
