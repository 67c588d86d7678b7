"""The whole way with the real sandbox, gates and store; only the designer is a script."""

import pytest

from spade_envs.corpus import open_corpus
from spade_envs.design.clients.scripted import ScriptedPolicy
from spade_envs.design.prompting import example_source
from spade_envs.pipeline import generate
from spade_envs.store import open_store
from spade_envs.types import Record


@pytest.mark.timeout(300)
def test_examples_of_the_prompts_are_certified(tmp_path):
    leaky = example_source("text").replace(
        "These crates", "Secretly {self.solution()[0]}. These crates"
    )
    assert leaky != example_source("text")
    codes = [example_source("text"), leaky, example_source("tool")]
    designer = ScriptedPolicy([f"<think>...</think>\n```python\n{code}```" for code in codes])
    store = open_store(tmp_path / "store", create=True)
    outcomes = list(generate(designer, open_corpus("pydoc"), store, count=2, block=3, workers=2))
    text, refused, tool = outcomes
    assert isinstance(text, Record)
    assert (text.kind, text.levels, text.max_turns) == ("text", 4, 24)
    assert isinstance(tool, Record)
    assert tool.kind == "tool"
    assert store.source(tool).code == example_source("tool")
    assert refused.stage == "gates"
    assert refused.reason.startswith("L3.10")
    assert store.verify(deep=True) == []
