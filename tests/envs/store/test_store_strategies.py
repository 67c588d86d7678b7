"""Strategy hints beside environments: append-only, only what passed, nothing hostile."""

import msgspec
import pytest

from spade_envs.errors import ConfigError
from spade_envs.store import open_store
from spade_envs.store.strategies import Strategy, add, newest, strategies

ONE, TWO = (f"sha256:{number:064x}" for number in (1, 2))


@pytest.fixture
def root(tmp_path):
    return open_store(tmp_path / "store", create=True).root


def hint(text="Count first.", digest=ONE, at=1, **more):
    fields = {
        "digest": digest,
        "text": text,
        "model": "m",
        "prompt": "0123456789ab",
        "gates_version": "3",
        "verdicts": {"L4.1": "pass", "L4.2": "warn", "L4.3": "pass"},
        "written_at": f"2026-01-02T03:04:{at:02d}Z",
    }
    return Strategy(**{**fields, **more})


def test_the_last_one_of_an_environment_is_the_newest_whatever_the_order(root):
    for each in (hint("Third.", at=3), hint("First.", at=1), hint("Other.", TWO, at=9)):
        add(root, each)
    assert newest(root, ONE).text == "Third."
    assert newest(root, TWO).text == "Other."
    assert [each.text for each in strategies(root)] == ["First.", "Third.", "Other."]
    assert newest(root, f"sha256:{3:064x}") is None
    assert not [problem for problem in open_store(root).verify() if problem.kind == "unknown"]


def test_a_hint_is_named_by_its_text(root):
    assert hint("a").hint == hint("a", TWO, at=5).hint != hint("b").hint
    assert hint("a").hint.startswith("strategy:ca978112ca1b")


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdicts": {"L4.1": "pass", "L4.2": "pass"}},
        {"verdicts": {"L4.1": "pass", "L4.2": "pass", "L4.3": "fail"}},
        {"text": ""},
        {"text": "  "},
        {"text": "x" * 4001},
        {"digest": "maze"},
        {"written_at": "now"},
    ],
)
def test_what_did_not_pass_is_neither_kept_nor_read(root, wrong):
    strategy = hint(**wrong)
    with pytest.raises(ConfigError, match="did not pass"):
        add(root, strategy)
    (root / "ledger").mkdir(exist_ok=True)
    line = msgspec.json.encode(strategy)
    (root / "ledger" / "hints-a.jsonl").write_bytes(line + b"\n")
    assert strategies(root) == []


def test_torn_lines_rubbish_and_links_are_passed_over(root, tmp_path):
    add(root, hint())
    line = msgspec.json.encode(hint("Torn.", at=5))
    rubbish = b"\xff\n" + b"[" * 50_000 + b'\n{"text":1}\n'
    (root / "ledger" / "hints-b.jsonl").write_bytes(rubbish + line)
    (tmp_path / "outside").write_bytes(line + b"\n")
    (root / "ledger" / "hints-c.jsonl").symlink_to(tmp_path / "outside")
    assert [each.text for each in strategies(root)] == ["Count first."]
