"""The dataset card: figures by hand, front matter that is YAML, texts that stay texts."""

from dataclasses import replace

import pytest

from envs.store.kit import PROVENANCE, report_of, source_of
from spade_envs.packing import CARD_MARK, choose, read_all, render_card, sheet_of
from spade_envs.packing.card import MOST_ROWS
from spade_envs.store import open_store
from spade_envs.types import GateResult

WON = {"0": {"mean": 1.0}, "1": {"mean": 0.9}}


def measured(number, **levels):
    source = source_of(number)
    results = [
        GateResult(gate="L3.1", title="can be won", outcome="pass", message="",
                   evidence={"ceiling": 1.0, "success_rate": WON}),
        GateResult(gate="L3.3", title="pays ignorance little", outcome="pass", message="",
                   evidence={"levels": {name: {"mean": mean} for name, mean in levels.items()}}),
        GateResult(gate="L3.4", title="has no best constant", outcome="warn", message="",
                   evidence={"best_constant": {"0": 0.5}}),
        GateResult(gate="L10.1", title="later", outcome="skip", message=""),
    ]  # fmt: skip
    return source, report_of(source, results=tuple(results))


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", create=True)
    designed = {
        **PROVENANCE,
        "method": "designed",
        "designer": {"model": "a|model", "revision": None, "sampling": {}},
        "passage": {"corpus": "notes", "source": "a", "sha256": "0" * 64, "licence": "CC0-1.0"},
    }
    floors = [{"a": 0.0, "b": 0.02}, {"a": 0.1}, {"a": 0.04}]
    for number, floor in enumerate(floors):
        source, report = measured(number, **floor)
        opened.add(source, report, designed if number else PROVENANCE, name=f"maze-{number}",
                   skills=("optimization",), licence="CC-BY-4.0" if number else "MIT")  # fmt: skip
    return opened


def card_of(store, form="hub", **options):
    return render_card(sheet_of(read_all(store, choose(store))), title="T", form=form, **options)


def test_an_environment_without_a_skill_is_counted_and_gives_no_tag(tmp_path):
    opened = open_store(tmp_path / "plain", create=True)
    source, report = measured(1)
    opened.add(source, report, PROVENANCE, name="maze", licence="MIT")
    card = card_of(opened)
    assert 'tags: ["gymnasium", "spade-envs", "environments"]\n' in card
    assert "| skills | none: 1 |" in card


def test_figures_are_those_of_the_reports(store):
    sheet = sheet_of(read_all(store, choose(store)))
    assert {told: figures for told, *figures in sheet.figures} == {
        "reference solution wins, at its worst level": [0.9, 0.9, 0.9, 3],
        "ignorant policies win, at their best level": [0.02, 0.04, 0.1, 3],
    }
    assert sheet.gates == (
        ("L3.1", "can be won", 3, 0, 0),
        ("L3.3", "pays ignorance little", 3, 0, 0),
        ("L3.4", "has no best constant", 0, 3, 0),
        ("L10.1", "later", 0, 0, 3),
    )
    assert sheet.licences == (("CC-BY-4.0", 2), ("MIT", 1))
    assert sheet.origins == (("designed by a|model", 2), ("hand-written", 1))
    assert sheet.documents == (("notes (CC0-1.0)", 2),)
    assert sheet.levels == (("4", 3),)


def test_the_front_matter_is_yaml_that_the_hub_knows(store):
    yaml = pytest.importorskip("yaml")
    hostile = 'x\n---\nlicense: mit "# \x1b[31m\u202e\U0001f9ed \\'
    card = render_card(sheet_of(read_all(store, choose(store))), title=hostile, form="hub")
    empty, block, body = card.split("---\n", 2)
    assert empty == ""
    fields = yaml.safe_load(block)
    assert fields["pretty_name"] == 'x --- license: mit "# [31m\U0001f9ed \\'
    assert '\n# x --- license: mit "\\# \\[31m\U0001f9ed \\\\\n' in body
    assert fields["license"] == ["cc-by-4.0", "mit"]
    assert fields["size_categories"] == ["n<1K"]
    assert "optimization" in fields["tags"]
    assert fields["configs"] == [{"config_name": "default", "data_files": "index.jsonl"}]
    assert body.startswith(f"\n{CARD_MARK}")
    assert "spade-envs pull hf://datasets/OWNER/NAME --store ours" in body
    assert "spade-envs trust add --from hf://datasets/OWNER/NAME\n" in body


def test_a_card_for_git_has_no_front_matter(store):
    card = card_of(store, "git")
    assert card.startswith(CARD_MARK)
    assert "spade-envs pull URL --store ours" in card
    assert "3 Gymnasium environments (3 text)" in card


def test_each_owner_is_one_to_trust(store):
    source, report = measured(8)
    store.add(source, report, PROVENANCE, name="alice.maze")
    card = card_of(store, "git")
    asked = [line for line in card.splitlines() if line.startswith("spade-envs trust add")]
    assert asked == ["spade-envs trust add --from URL", "spade-envs trust add alice --from URL"]


def test_texts_of_strangers_stay_texts(store):
    source, report = measured(7)
    interface = replace(report.interface, summary="<img src=x onerror=y> | [a](javascript:b) `")
    store.add(source, replace(report, interface=interface), PROVENANCE, name="hostile")
    card = card_of(store)
    row = next(line for line in card.splitlines() if line.startswith("| `spade/hostile-v0`"))
    assert row.replace("\\|", "").count("|") == 7
    assert "<img" not in card.replace("\\<img", "")
    assert "designed by a\\|model" in card


def test_a_long_list_is_cut_and_says_so(store):
    sheet = sheet_of(read_all(store, choose(store)))
    card = render_card(replace(sheet, rows=sheet.rows * 100), title="T", form="hub")
    assert card.count("`spade/maze-") == MOST_ROWS
    assert "and 100 more: see `CATALOG.md`" in card
