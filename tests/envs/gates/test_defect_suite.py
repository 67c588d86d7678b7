"""The planted-defect suite: witnesses see defects and only these, and the counting is right."""

import ast
import itertools
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT))  # `benchmarks` is in the repository only, not installed

from benchmarks.defects import planting, suite  # noqa: E402
from benchmarks.defects.baselines import judge  # noqa: E402
from benchmarks.defects.bench import Bench, Played, Side  # noqa: E402
from benchmarks.defects.body import Body  # noqa: E402
from benchmarks.defects.figures import figures  # noqa: E402
from benchmarks.defects.operators import BY_ID, OPERATORS  # noqa: E402
from benchmarks.defects.planting import Planted  # noqa: E402
from benchmarks.defects.rewrites import REWRITES  # noqa: E402
from benchmarks.defects.suite import Ledger, Verdict  # noqa: E402

from spade_envs.gates import check  # noqa: E402
from spade_envs.sandbox import default_sandbox  # noqa: E402
from spade_envs.types import EnvSource, ResetOutcome, StepOutcome  # noqa: E402

SHAPES = ("marble-crates", "permit-office", "ferry-loads", "night-porter")
"""One environment of each of the four shapes."""

CAUGHT = {
    "substring": "ferry-loads",
    "anagram": "ferry-loads",
    "off-by-one": "ferry-loads",
    "magic-word": "marble-crates",
    "nan-reward": "ferry-loads",
    "pays-after-end": "marble-crates",
    "leak-base64": "ferry-loads",
    "seed-discarded": "ferry-loads",
    "met-at-reset": "permit-office",
}


SLOW = pytest.mark.slow


def test_there_are_enough_environments_and_operators():
    kinds = [one.kind for one in planting.sound().values()]
    assert len(kinds) >= 30
    assert kinds.count("published") + kinds.count("published-tool") >= 6
    assert len(OPERATORS) >= 30
    assert len(BY_ID) == len(OPERATORS)


@pytest.mark.parametrize("name", SHAPES)
def test_mutants_are_sources_that_differ(name):
    base = planting.sound()[name]
    plain = ast.unparse(ast.parse(base.code))
    for operator in OPERATORS:
        if base.kind in operator.kinds:
            for body in itertools.islice(operator.mutate(Body(base.code)), 1):
                assert body.code().rstrip() != plain, operator.id


@pytest.mark.parametrize("name", ["ferry-loads", pytest.param("night-porter", marks=SLOW)])
def test_no_witness_speaks_against_a_harmless_rewrite(name):
    base = planting.sound()[name]
    code = REWRITES["kept"](base.code)
    original, mutant = Side(default_sandbox(), base.code), Side(default_sandbox(), code)
    bench = Bench(base, original, mutant, planting.elsewhere)
    copies = {"copy-renamed", "copy-reworded"}  # a rewrite is a copy: that is what they look for
    spoken = [
        operator.id
        for operator in OPERATORS
        if base.kind in operator.kinds and operator.id not in copies and operator.witness(bench)
    ]
    original.close()
    mutant.close()
    assert spoken == []


@pytest.mark.parametrize("operator", CAUGHT)
def test_a_planted_defect_is_shown_and_caught(operator):
    planted = planting.plant_in(BY_ID[operator], planting.sound()[CAUGHT[operator]])
    assert planted.witness, planted.dropped
    code = planting.code_of(planted)
    # A defect that shows on some seeds only may lie beside the few of one draw.
    reports = (check(EnvSource(code=f"{code}\n# {draw}\n"), seeds=6) for draw in range(6))
    assert any(report.failures for report in reports)


def test_an_operator_that_changes_nothing_is_dropped():
    planted = planting.plant_in(BY_ID["five-percent"], planting.sound()["two-jugs"])
    assert planted.dropped == "no witness"
    assert planted.witness == ""


@pytest.mark.parametrize("name", SHAPES)
def test_rewrites_play_on_as_before(name):
    code = planting.sound()[name].code
    for rewrite, make in REWRITES.items():
        changed = make(code)
        if changed is not None:
            side = Side(default_sandbox(), changed)
            assert suite.plays_right(side), rewrite
            side.close()


def test_the_baselines_see_a_bad_number_and_little_else():
    for operator, published in (("unbounded-reward", False), ("nan-reward", True)):
        planted = planting.plant_in(BY_ID[operator], planting.sound()["ferry-loads"])
        assert planted.published == published
    sound = Side(default_sandbox(), planting.sound()["ferry-loads"].code)
    said = judge(sound)
    sound.close()
    assert (said.published, said.published_guess, said.check_env) == (False, False, False)


def test_recall_and_false_positives_are_counted():
    planted = [
        Planted("prefix", "a", "sha1", 0, "seen", published=True),
        Planted("prefix", "b", "sha2", 0, "seen"),
        Planted("prefix", "c", dropped="no witness"),
    ]
    verdicts = {
        "sha1": Verdict("k1", ("L3.6",), (), "near", 1.0, False),
        "sha2": Verdict("k2", (), (), "", 2.0, True),
    }
    said = {"failed": [], "message": "", "seconds": 0.5, "published": 0, "published_guess": 0}
    variants = {
        ("renamed", "a"): {**said, "check_env": 1},
        ("renamed", "b"): {**said, "check_env": 0, "failed": ["L2.1"], "message": "differs"},
        ("renamed", "c"): {"dropped": "does not apply"},
    }
    found = figures(planted, verdicts, variants)
    (line,) = found.lines
    assert (line.effective, line.caught, line.dropped, line.published) == (2, 1, 1, 1)
    assert found.recall == 0.5
    assert (found.sound, found.false_rate, found.sound_check_env) == (2, 0.5, 1)
    assert found.accused == ("renamed b: L2.1 differs",)
    assert len(found.misses()) == 3


def test_a_stopped_run_goes_on(tmp_path):
    path = tmp_path / "verdicts.jsonl"
    Ledger(path).add("one", {"failed": ["L3.3"]})
    with path.open("a") as file:
        file.write('{"key": "two", "fai')
    assert Ledger(path).rows == {"one": {"key": "one", "failed": ["L3.3"]}}


def test_a_win_is_success_and_full_pay():
    start = ResetOutcome(observation="x")
    win = StepOutcome("ok", 1.0, True, False, {"success": True})
    assert Played(start, (win,)).won
    assert not Played(start, (StepOutcome("ok", 0.5, True, False, {"success": True}),)).won
    assert not Played(start, (StepOutcome("ok", 1.0, True, False, {"success": False}),)).won
