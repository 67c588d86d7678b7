"""Libraries in the sandbox: strict where they can, weaker where they must, never loose."""

import importlib.util
import sys
from dataclasses import replace

import pytest

from envs.interop.fakes import REASONING_GYM, WORDS
from spade_envs.errors import NotCertified
from spade_envs.interop import Checked, Target, bring, check_all, check_target, resolve, run
from spade_envs.interop.bring import refusal
from spade_envs.play.session import open_session
from spade_envs.sandbox import libraries, open_sandbox
from spade_envs.store import open_store, starter_path


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A fake reasoning_gym ahead of everything on sys.path."""
    root = tmp_path_factory.mktemp("libs")
    package = root / "reasoning_gym"
    package.mkdir()
    (package / "__init__.py").write_text(REASONING_GYM)
    (package / "words.txt").write_text(WORDS)
    (root / "fake_late_module.py").write_text("")
    sys.path.insert(0, str(root))
    hosts = (run._hosts, libraries._shared)
    for shared in hosts:
        shared.clear()
    yield root
    for shared in hosts:
        for sandbox in shared.values():
            sandbox.close()
        shared.clear()
    sys.path.remove(str(root))
    sys.modules.pop("reasoning_gym", None)


def checked(name, **settings):
    (target,) = resolve(f"reasoning-gym:{name}")
    return check_target(target, **settings)


def outcomes(result):
    return {item.gate: item.outcome for item in result.report.results}


def test_a_sound_dataset_passes_under_every_layer_and_can_be_brought_in_and_played(
    library, tmp_path
):
    result = checked("sums")
    assert result.accepted, result.report.failures
    assert not result.weakened
    assert "landlock" in result.report.layers
    store = open_store(tmp_path / "store", create=True)
    record = bring(result, store).record
    assert record.id == "spade/reasoning-gym.sums-v0"
    assert record.licence == "Apache-2.0"
    provenance = store.manifest(record).provenance
    assert (provenance.method, provenance.run) == ("imported", "reasoning-gym:sums")
    with open_session(store.source(record)) as session:
        instance = session.create(0)
        start = session.reset([(instance, 7, None)])[0]
        answer = session.solution(instance)
        assert start.observation.startswith("What is ")
        assert session.step([(instance, answer[0])])[0].reward == 1.0


def test_a_gullible_scorer_is_caught(library):
    result = checked("gullible", depth="quick")
    assert not result.accepted
    assert {"L3.3", "L3.5"} & {gate for gate, found in outcomes(result).items() if found == "fail"}
    with pytest.raises(NotCertified, match="L3"):
        bring(result, None)


def test_a_missing_answer_is_told_as_such(library):
    result = checked("unanswered", depth="quick")
    assert "no answer for this item" in result.report.failures[0].message


def test_a_library_that_reads_its_files_runs_weakened_and_says_so(library):
    result = checked("words", depth="quick")
    assert result.weakened
    assert not result.report.failures
    assert result.report.layers[-1].startswith("weakened")
    assert "empty-root" not in result.report.layers
    assert "landlock" in result.report.layers
    guarded = check_target(replace(result.target, may_weaken=False), depth="quick")
    assert "PermissionError" in guarded.error
    complete = Checked(target=result.target, report=replace(result.report, complete=True))
    assert "weakened" in refusal(complete)


def test_the_weaker_worker_reads_packages_and_nothing_else(library):
    (target,) = resolve("reasoning-gym:spy")
    reach = {}
    for weaker in (False, True):
        sandbox = run._host(target.library, weaker=weaker)
        with sandbox.load(target.source, limits=run.LIBRARY_LIMITS) as worker:
            instance = worker.create(0)
            reach[weaker] = worker.reset([(instance, 1, None)])[0].observation
    assert reach == {False: "[]", True: "['package']"}


def test_what_never_starts_is_not_judged(library):
    result = checked("no_such_dataset")
    assert result.report is None
    assert result.error == "no episode can be started here: KeyError: 'no_such_dataset'"


def test_only_the_declared_library_may_be_imported(library):
    (target,) = resolve("reasoning-gym:sums")
    worse = target.source.code.replace("import reasoning_gym", "import reasoning_gym, socket", 1)
    source = type(target.source)(code=worse)
    changed = Target(label="worse", source=source, library=target.library)
    failed = check_target(changed, depth="quick").report.failures[0]
    assert failed.gate == "L0.2"
    assert "socket" in failed.message
    alone = check_target(Target(label="alone", source=target.source), depth="quick")
    assert alone.report.failures[0].gate == "L0.2"


def test_a_library_that_is_missing_is_an_error_of_its_target(library):
    from spade_envs.interop import Library

    missing = Library(name="nothing", modules=("no_such_module_here",))
    (target,) = resolve("reasoning-gym:sums")
    broken = Target(label="broken", source=target.source, library=missing)
    result = check_target(broken)
    assert result.report is None
    assert "no_such_module_here" in result.error


HANG = """
class HangEnv:
    def reset(self, seed=None):
        while True:
            pass

    def step(self, action):
        return "", 0.0, True, False, {}
"""
EXIT = HANG.replace("while True:\n            pass", "raise SystemExit(0)")
FORK = HANG.replace("while True:\n            pass", "__import__('os').fork()")
EAT = HANG.replace("pass", "self.x = getattr(self, 'x', []) + [0] * 10**7")


def test_hostile_files_cost_only_themselves(tmp_path):
    for number, code in enumerate((HANG, EXIT, FORK, EAT, "x = (", "")):
        (tmp_path / f"bad{number}.py").write_text(code)
    good = open_store(starter_path())
    targets = [*resolve(str(tmp_path)), *resolve(good.records()[0].id, lambda: [good])]
    found = dict(check_all(targets, jobs=4, depth="quick", deadline_s=6))
    assert sorted(found) == list(range(7))
    for number in range(6):
        outcomes = {item.outcome for item in found[number].report.results}
        assert outcomes & {"fail", "skip"}, number  # the greedy one may use its time up first
    assert not found[6].report.failures
    assert found[6].report.interface is not None


def test_a_sandbox_without_libraries_has_none(library):
    (target,) = resolve("reasoning-gym:sums")
    with open_sandbox() as sandbox:
        fault = sandbox.load(target.source)
    assert "No module named 'reasoning_gym'" in fault.message


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("reasoning_gym") is None, reason="not installed")
@pytest.mark.parametrize("name", ["game_of_life_halting", "puzzle24"])
def test_the_real_library_has_graders_that_a_constant_wins(name):
    result = checked(name, seeds=20, deadline_s=300)
    assert "L3.4" in {item.gate for item in result.report.failures}
