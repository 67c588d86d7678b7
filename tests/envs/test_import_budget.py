"""What `import spade_envs` and `gym.make` may load, and which names the package shows."""

import json
import os
import subprocess
import sys

import spade_envs
from envs.store.kit import add
from spade_envs.store import open_store

HEAVY = ["torch", "transformers", "trl", "vllm", "faiss", "datasets", "sentence_transformers"]
LATE = [*HEAVY, "pydantic", "rich", "click", "RestrictedPython"]

PUBLIC = [
    "AnyText",
    "EnvSource",
    "EnvStore",
    "Episode",
    "Fault",
    "Limits",
    "Record",
    "Rejection",
    "Report",
    "Skill",
    "TextEnv",
    "ToolEnv",
    "__version__",
    "check",
    "generate",
    "open_store",
    "parse",
    "reference",
    "register_store",
    "tool",
]


def run(code: str, **environ: str) -> dict:
    """Run `code` in a fresh interpreter and return the JSON that it prints last."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_registers_the_default_store_and_loads_nothing_heavy(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    record = add(store, 1, name="zz-maze")
    code = (
        "import json, sys, spade_envs, gymnasium as gym; "
        "print(json.dumps([sorted(sys.modules), gym.spec('spade/zz-maze-v0').kwargs]))"
    )
    modules, kwargs = run(code, SPADE_ENVSTORE=str(store.root))
    assert [name for name in LATE if name in modules] == []
    assert kwargs == {"ref": record.id, "store": str(store.root), "digest": record.digest}


def test_reading_a_store_loads_no_pydantic(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    add(store, 1, name="zz-maze")
    code = (
        "import json, sys, spade_envs; store = spade_envs.open_store(); "
        "record = store.get('zz-maze'); store.source(record); store.interface(record); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    modules = run(code, SPADE_ENVSTORE=str(store.root))
    assert [name for name in LATE if name in modules] == []


def test_the_memory_loads_no_index_and_no_model_before_it_is_asked(tmp_path):
    code = (
        "import json, sys, spade_envs, spade_envs.memory; "
        "memory = spade_envs.memory.open_memory(spade_envs.open_store()); memory.refresh(); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    store = open_store(tmp_path / "store", create=True)
    add(store, 1, name="zz-maze")
    modules = run(code, SPADE_ENVSTORE=str(store.root))
    assert [name for name in [*LATE, "openai"] if name in modules] == []


def test_an_empty_variable_registers_no_store():
    code = (
        "import json, spade_envs, gymnasium as gym; "
        "print(json.dumps([name for name in gym.registry if name.startswith('spade/')]))"
    )
    assert run(code, SPADE_ENVSTORE="") == ["spade/Env-v0"]


def test_a_broken_store_does_not_break_the_import(tmp_path):
    (tmp_path / "ENVSTORE.json").write_bytes(b"\x00")
    (tmp_path / "envs").write_bytes(b"not a folder")
    code = "import json, spade_envs; print(json.dumps(spade_envs.__version__))"
    assert run(code, SPADE_ENVSTORE=str(tmp_path)) == spade_envs.__version__


def test_public_names_are_pinned_and_all_there():
    assert spade_envs.__all__ == PUBLIC
    assert all(getattr(spade_envs, name) is not None for name in PUBLIC)
    assert set(PUBLIC) <= set(dir(spade_envs))
