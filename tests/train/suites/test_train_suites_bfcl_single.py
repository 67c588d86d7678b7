"""BFCL's single-turn categories against a stand-in, and (slow) against the real package."""

import importlib
import random
import sys

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import bfcl_single
from spade_train.suites.base import Score, Session, Suite
from spade_train.suites.bfcl_ast import as_written
from spade_train.suites.registry import open_suite, readiness
from train.suites import bfcl_kit

PLAYED = (
    "simple_python",
    "simple_java",
    "parallel",
    "irrelevance",
    "live_simple",
    "live_relevance",
)
RIGHT = "[room.set_heat(degrees=20, room='kitchen')]"


@pytest.fixture
def package(monkeypatch, tmp_path):
    def forget():
        for name in [each for each in sys.modules if each.split(".")[0] == "bfcl_eval"]:
            monkeypatch.delitem(sys.modules, name)

    forget()
    monkeypatch.syspath_prepend(str(bfcl_kit.install(tmp_path)))
    monkeypatch.setattr(bfcl_single, "_GRAMMARS", ())
    importlib.invalidate_caches()
    yield
    forget()


@pytest.fixture
def suite(package):
    return bfcl_single.suite(categories=PLAYED)


def start(suite, category):
    (task,) = [each for each in suite.tasks() if each.group == category]
    return suite.open(task, seed=0)


def judged(suite, category, said):
    session = start(suite, category)
    session.reply(said)
    return session.score()


def test_it_is_a_suite(suite):
    assert isinstance(suite, Suite)
    assert suite.version == "bfcl-eval 9.9 + 1"
    assert suite.labels == {}
    assert [task.group for task in suite.tasks()] == list(PLAYED)
    assert isinstance(start(suite, "parallel"), Session)


@pytest.mark.parametrize("category", PLAYED)
def test_the_oracle_is_right_and_nothing_is_right_only_where_nothing_fits(suite, category):
    session = start(suite, category)
    session.reply(session.reference())
    assert session.score() == Score(value=1.0, success=True)
    assert judged(suite, category, "").success == (category == "irrelevance")


def test_parameters_that_are_not_documented_are_not_in_the_reference(suite):
    assert start(suite, "simple_python").reference() == RIGHT
    assert start(suite, "simple_java").reference() == (
        '[Box.pack(items="new ArrayList<Object>(Arrays.asList(3))")]'
    )


def test_prompts_describe_the_language_and_keep_what_was_said(suite):
    java = start(suite, "simple_java").messages[0].content
    assert "Java 8 SDK syntax" in java
    assert "This is Java ArrayList type parameter in string representation. The list elements" in (
        java
    )
    assert '"type": "integer"' not in java
    live = start(suite, "live_simple").messages
    assert [m.role for m in live] == ["system", "user"]
    assert live[0].content.endswith("\n\nKitchen only.")
    assert [m.role for m in start(suite, "live_relevance").messages] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("[room.set_heat(degrees=21, room='kitchen')]", "value"),
        ("[room.set_heat(degrees=20), room.set_heat(degrees=20)]", "count"),
        ("I would set it to 20.", "ast_decoder:decoder_failed"),
        ("[room.set_heat(degrees=f'{20}')]", "ast_decoder:decoder_failed"),
        ("[room.set_heat(**{'degrees': 20})]", "ast_decoder:decoder_failed"),
        ("[room.set_heat(degrees=9**9**9)]", "ast_decoder:decoder_failed"),
        ("[room.set_heat(degrees=f(x=1))]", "checker:KeyError"),
        ("[room.set_heat(degrees=" + "-" * 5000 + "20)]", "ast_decoder:decoder_failed"),
        ("[" * 90_000, "ast_decoder:decoder_failed"),
    ],
)
def test_what_is_wrong_scores_nothing_and_is_no_fault(suite, said, error):
    assert judged(suite, "simple_python", said) == Score(
        value=0.0, success=False, detail={"error": error}
    )


def test_arithmetic_and_order_do_not_matter(suite):
    assert judged(suite, "simple_python", "```[room.set_heat(degrees=2 * 10)]```").success
    both = "[room.set_heat(degrees=18, room='hall'), room.set_heat(degrees=4**2 + 4)]"
    assert judged(suite, "parallel", both).success


@pytest.mark.parametrize("category", PLAYED)
def test_a_reply_that_would_execute_code_does_not(suite, category, tmp_path):
    file = tmp_path / "made"
    for code in (
        f"[room.set_heat(degrees=open({str(file)!r}, 'w'), room='kitchen')]",
        f"[room.set_heat(degrees=20 + len(open({str(file)!r}, 'w').name))]",
        f"[(lambda: open({str(file)!r}, 'w'))()]",
        f"[room.set_heat(degrees={{}}[open({str(file)!r}, 'w')])]",
    ):
        said = judged(suite, category, code)
        assert said.value == float(said.success)
    assert not file.exists()


def test_relevance_is_whether_there_is_any_call(suite):
    assert judged(suite, "live_relevance", "[anything(x=1)]").success
    assert judged(suite, "live_relevance", "[]").detail == {"error": "no call"}
    assert judged(suite, "irrelevance", "Nothing here knows people.").success
    assert judged(suite, "irrelevance", RIGHT).detail == {"error": "called"}


def test_java_that_cannot_be_read_is_wrong(suite):
    assert judged(suite, "simple_java", "[pack(]").detail == {"error": "ast_decoder:decoder_failed"}
    assert not judged(suite, "simple_java", f"[Box.pack(items={'3' * 30_000})]").success


def test_without_parsers_two_categories_are_left_out_and_the_label_says_so(package, monkeypatch):
    monkeypatch.setattr(bfcl_single, "_GRAMMARS", ("no_such_grammar",))
    found = bfcl_single.suite(categories="non_live")
    assert found.labels == {"left out": "simple_java, simple_javascript (no tree-sitter)"}
    assert [task.group for task in found.tasks()] == ["simple_python", "parallel", "irrelevance"]
    with pytest.raises(ConfigError, match="suites install bfcl-single-turn"):
        bfcl_single.suite(categories="simple_java")
    with pytest.raises(ConfigError, match="rest"):
        bfcl_single.suite(categories="rest")


def test_values_are_written_as_upstream_reads_them():
    functions = [bfcl_kit.function("f", a="ArrayList", b="long", c="String", d="HashMap", e="any")]
    truth = [{"f": {
        "a": [[1, 2]], "b": [5], "c": ['say "x"'], "d": [{"k": [True, ""], "l": [""]}],
        "e": ["", "no"], "g": ["", 1],
    }}]  # fmt: skip
    assert as_written(truth, functions, "java") == (
        '[f(a="new ArrayList<Object>(Arrays.asList(1, 2))", b="5L", c=\'say "x"\', '
        'd=\'new HashMap<String, Object>() {{ put("k", true); }}\', e="no")]'
    )
    assert as_written(truth, functions, "python").startswith("[f(a=[1, 2], b=5, c='say \"x\"', d={")
    assert 'd={"k": true}' in as_written(truth, functions, "javascript")


def test_random_replies_are_calls_or_talk(suite):
    session, rng = start(suite, "simple_python"), random.Random(1)
    said = [session.random(rng) for _ in range(20)]
    assert {each.startswith("[room.set_heat(") for each in said} == {True, False}


@pytest.mark.slow
def test_the_real_package_has_its_ceiling_and_floor():
    found = readiness("bfcl-single-turn")
    if not found.ready:
        pytest.skip(f"bfcl-eval is not installed; {found.mend}")
    real = open_suite("bfcl-single-turn")
    try:
        tasks = real.tasks()
        assert len(tasks) in (3491, 3641)  # without and with the parsers of Java and JavaScript
        for task in tasks[:130]:
            session = real.open(task, seed=0)
            session.reply(session.reference())
            assert session.score().success, task.id
            nothing = real.open(task, seed=0)
            nothing.reply("")
            assert nothing.score().success == task.group.endswith("irrelevance"), task.id
    finally:
        real.close()
