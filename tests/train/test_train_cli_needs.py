"""What commands that train say where its libraries are missing."""

import pytest
from click.testing import CliRunner

from spade_train.cli import main, needs


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["quickstart", "--out", "made"], "trl"),
        (["run", "quickstart", "--out", "made"], "torch"),
        (["compare", "--preset", "quickstart", "--out", "made"], "peft"),
        (["nano", "bootstrap", "--out", "made"], "tokenizers"),
    ],
)
def test_a_missing_library_is_named_before_anything_is_written(
    words, missing, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(needs, "find_spec", lambda name: None if name == missing else name)
    done = CliRunner().invoke(main, words)
    told = f"error: {missing} is not installed; run: pip install 'spade-envs[train]'\n"
    assert (done.exit_code, done.stderr) == (2, told)
    assert list(tmp_path.iterdir()) == []
