import json

from click.testing import CliRunner

from spade_envs.gates.contamination import check_contamination
from spade_envs.store import open_store, starter_path
from spade_train.cli import main
from spade_train.evaluate.contamination import openings
from spade_train.suites.heldout import heldout
from train.suites.sums import make


def test_the_openings_of_a_suite_are_what_the_user_says_first():
    asked = openings(make(count=2, broken=["closed"]), limit=3)
    assert asked.texts == tuple(
        f"{n} + {make().open(make().tasks()[n], seed=0).other} = ?" for n in range(2)
    )
    assert asked.unopened == 1
    assert asked.short == 2


def test_an_environment_that_holds_a_task_is_found_and_another_is_not(tmp_path):
    store = open_store(starter_path())
    one, other = (store.get(name) for name in ("herbarium-index", "kiln-schedule"))
    suite = heldout(store="starter", ids=[one.id], instances=1)
    texts = openings(suite).texts
    suite.close()
    held = check_contamination(store.source(one), texts, seeds=4)
    assert (held.gate, held.outcome) == ("L5.2", "fail")
    assert check_contamination(store.source(other), texts, seeds=4).outcome == "pass"


def test_the_command_says_what_it_found(tmp_path):
    store = open_store(tmp_path / "store", create=True)
    starter = open_store(starter_path())
    record = starter.get("kiln-schedule")
    store.add(starter.source(record), starter.report(record), {"run": "t"}, skills=record.skills)
    arguments = ["suites", "contamination", "heldout", "--store", str(tmp_path / "store"), "--json"]
    settings = ["--set", "store=starter", "--limit", "3", "--set"]
    clean = CliRunner().invoke(main, [*arguments, *settings, 'ids=["herbarium-index"]'])
    assert clean.exit_code == 0, clean.output
    assert json.loads(clean.stdout)["environments"][0]["outcome"] == "pass"
    dirty = CliRunner().invoke(main, [*arguments, *settings, 'ids=["kiln-schedule"]'])
    assert dirty.exit_code == 1
    assert json.loads(dirty.stdout)["environments"][0]["outcome"] == "fail"
    toy = ["suites", "contamination", "train.suites.sums:make", *arguments[3:]]
    unknown = CliRunner().invoke(main, [*toy, "--set", 'broken=["closed"]', "--set", "count=1"])
    assert unknown.exit_code == 1
    assert json.loads(unknown.stdout)["unopened"] == 1
    assert "1 tasks cannot be opened" in unknown.stderr
    assert CliRunner().invoke(main, [*toy, "--set", "count=13"]).exit_code == 3


def test_a_task_of_too_few_words_is_not_called_clean(tmp_path):
    open_store(tmp_path / "store", create=True)
    toy = ["suites", "contamination", "train.suites.sums:make", "--store", str(tmp_path / "store")]
    found = CliRunner().invoke(main, [*toy, "--set", "count=2", "--json"])
    assert found.exit_code == 1
    assert json.loads(found.stdout)["short"] == 2
    assert "2 tasks begin with too few words to be compared" in found.stderr
