"""`spade-envs brief`, and the options on what `generate` asks for."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from spade_envs.cli import brief
from spade_envs.cli.brief import _MODES
from spade_envs.cli.main import cli
from spade_envs.design.length import PROMPT_TOKENS
from spade_envs.design.modes import MODES
from spade_envs.errors import ConfigError, NotFound
from spade_envs.store import open_store, starter_path

PARENT = "spade/paper-punch-v0"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brief") / "store"
    shutil.copytree(starter_path(), folder)
    return folder


def asked(*arguments):
    found = CliRunner().invoke(cli, ["brief", *map(str, arguments)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def files_of(folder):
    return sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("mode", MODES)
def test_it_prints_what_would_be_asked_and_its_length(store, mode):
    before = files_of(store)
    found = json.loads(asked("--store", store, "--mode", mode, "--json").stdout)
    fresh = mode in ("harden", "ease")  # nobody has played the starter store
    assert (found["mode"] in ("game", "tool")) if fresh else (found["mode"] == mode)
    assert found["how"] == "estimated"
    assert 2000 < found["tokens"] <= PROMPT_TOKENS
    assert [message["role"] for message in found["messages"]] == ["system", "user"]
    assert f"\nMode: {found['mode']}\n" in found["messages"][1]["content"]
    assert files_of(store) == before


def test_named_parents_are_taken(store):
    found = asked("--store", store, "--mode", "harden", "--parent", PARENT)
    assert found.exit_code == 0
    assert "Mode: harden" in found.stdout
    assert "class PaperPunch" in found.stdout
    assert "tokens, estimated" in found.stderr


def test_a_prompt_that_is_too_long_is_found():
    assert asked("--corpus", "none", "--context", 100).exit_code == 1
    assert asked("--corpus", "none", "--context", PROMPT_TOKENS).exit_code == 0


def test_a_prompt_is_made_to_fit_a_smaller_context(store):
    whole, short = (
        json.loads(asked("--store", store, "--mode", "game", "--json", *more).stdout)
        for more in ((), ("--prompt-tokens", 3600))
    )
    assert short["tokens"] <= 3600 < whole["tokens"]
    with pytest.raises(ConfigError, match="--prompt-tokens"):
        asked("--store", store, "--prompt-tokens", 100)


def test_a_store_with_nothing_to_start_from_is_told(store, tmp_path):
    told = "--mode harden starts from environments with a skill, of which the store has none yet"
    empty = tmp_path / "empty"
    open_store(empty, create=True)
    assert told in asked("--store", empty, "--mode", "harden").stderr
    assert "none yet" not in asked("--store", store, "--mode", "harden").stderr
    assert "none yet" not in asked("--store", empty, "--mode", "game").stderr


def test_wrong_use_is_named(store):
    cases = [
        (("--parent", PARENT), "--parent goes with --mode mutate"),
        (("--mode", "cross", "--parent", PARENT), "takes two parents"),
        (("--apart", 0.5, "--no-memory"), "--apart is measured by the memory"),
        (("--crowd", 3, "--no-memory"), "--crowd goes with the memory"),
        (("--mode", "tool", "--skills", "optimization"), "mode tool exercises none"),
        (("--tokenizer", store), r"tokenizer\.json cannot be read"),
    ]
    for arguments, match in cases:
        with pytest.raises(ConfigError, match=match):
            asked("--store", store, *arguments)
    with pytest.raises(NotFound):
        asked("--store", store, "--mode", "mutate", "--parent", "spade/nothing-v0")
    assert asked("--mode", "mutate", "--parent", PARENT).exit_code == 2
    assert asked("--mode", "puzzle").exit_code == 2


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ({"type": "BPE", "vocab": {"a": 0}, "merges": ["x y"]}, "out of vocabulary"),
        ({"type": "WordLevel", "vocab": {"a": -1}, "unk_token": "u"}, "expected u32"),
        ({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}, "Missing"),
        ({"type": "Nonsense"}, "did not match"),
    ],
)
def test_a_malformed_tokenizer_is_wrong_use(tmp_path, model, why):
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": model, "pre_tokenizer": None}))
    with pytest.raises(ConfigError, match=f"cannot be used as a tokenizer: .*{why}"):
        asked("--corpus", "none", "--tokenizer", tmp_path)


def test_the_option_knows_every_mode():
    assert _MODES == MODES
    assert brief.PROMPT_TOKENS == PROMPT_TOKENS
