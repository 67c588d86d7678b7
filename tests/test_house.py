"""What the house promises about itself."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spade_envs.gates import check
from spade_envs.types import EnvSource

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert max(lengths.values()) <= 600, max(lengths, key=lengths.get)
    assert sorted(lengths.values())[len(lengths) // 2] <= 150


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_functions_are_short_and_modules_say_what_they_are(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), path
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{path.name}:{node.lineno} {node.name}"


def test_imports_stay_light():
    heavy = ["torch", "transformers", "trl", "vllm", "faiss", "datasets", "sentence_transformers"]
    code = f"""
import sys, gymnasium as gym, spade_envs
record = spade_envs.open_store(spade_envs.store.starter_path()).records()[0]
env = gym.make(record.id)
env.reset(seed=0)
env.close()
print([name for name in {[*heavy, "pydantic", "rich", "click"]} if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "[]", run.stderr


def _blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.M | re.S)


@pytest.mark.parametrize("index", range(3))
def test_readme_examples_run(index, tmp_path):
    block = _blocks(ROOT / "README.md")[index]
    file = tmp_path / "block.py"
    file.write_text(block)
    run = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_tool_environment_of_the_guide_passes_every_gate():
    _, code = _blocks(ROOT / "docs" / "environments.md")
    report = check(EnvSource(code=code))
    assert report.accepted, report.failures


def test_the_guide_asks_for_a_hint_and_plays_the_solution():
    asking, _ = _blocks(ROOT / "docs" / "environments.md")
    found = {}
    exec(asking, found)
    assert found["prompt"].endswith(found["known"].hint)
    assert (found["reward"], found["info"]["success"]) == (1.0, True)


def test_readme_holds_no_block_that_is_not_run():
    assert len(_blocks(ROOT / "README.md")) == 3
