import json
import random

import pytest

from spade_envs.errors import ConfigError
from spade_train.suites import maths, registry
from spade_train.suites.base import Fault, Suite
from train.suites import stubs

ROWS = [
    {"question": "q1", "answer": "204", "data_source": "AIME2024", "data_source_id": 0},
    {"question": "q2", "answer": "$70$", "data_source": "AIME2025", "data_source_id": 0},
    {"question": "q3", "answer": "9", "data_source": "MATH500", "data_source_id": 4},
    {"question": "q4", "answer": "1", "data_source": "CNMO", "data_source_id": 0},
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = stubs.install(tmp_path_factory.mktemp("lib"), "math_verify", stubs.MATHS)
    stubs.install(folder, "mmath", "")
    (folder / "mmath-9.9.dist-info").rename(folder / "nvidia_mmath-26.3.dist-info")
    facts = folder / "nvidia_mmath-26.3.dist-info" / "METADATA"
    facts.write_text("Metadata-Version: 2.1\nName: nvidia-mmath\nVersion: 26.3\n")
    (folder / "mmath" / "mmath").mkdir()
    (folder / "mmath" / "mmath" / "en.json").write_text(json.dumps(ROWS))
    return folder


@pytest.fixture(autouse=True)
def installed(library, monkeypatch):
    monkeypatch.setattr(registry, "packages_of", lambda name: library)


def played(suite, said, number=0):
    session = suite.open(suite.tasks()[number], seed=1)
    session.reply(said)
    return session.score()


@pytest.fixture(scope="module", autouse=True)
def one_sandbox(library):
    opened = maths.library_sandbox(("math_verify",), str(library))
    with opened as sandbox, pytest.MonkeyPatch.context() as patch:
        patch.setattr(maths, "library_sandbox", lambda *_: sandbox)
        yield


def test_aime_takes_its_years_from_the_wheel():
    suite = maths.aime()
    assert isinstance(suite, Suite)
    assert [(t.id, t.group) for t in suite.tasks()] == [
        ("aime-24/0", "aime-24"),
        ("aime-25/0", "aime-25"),
    ]
    assert suite.labels == {"aime-25": "15 of its 30 problems"}
    assert (suite.decoding.samples, suite.decoding.temperature) == (64, 1.0)
    assert suite.version == "nvidia-mmath 26.3, math-verify 9.9 + 1"
    assert [t.group for t in maths.aime(years="2025").tasks()] == ["aime-25"]
    with pytest.raises(ConfigError, match="aime-26 needs a file"):
        maths.aime(years=26)


def test_right_answers_count_wherever_the_box_stands():
    suite = maths.aime()
    oracle = suite.open(suite.tasks()[1], seed=0)
    assert oracle.reference() == "\\boxed{70}"
    assert played(suite, oracle.reference(), 1).success
    assert played(suite, "first \\boxed{1}, then \\boxed{204.0}.").success
    assert not played(suite, "\\boxed{204} or rather \\boxed{205}").success
    assert played(suite, "204").detail == {"error": "no answer found"}
    assert played(suite, "\\boxed{" + "2" * 3000 + "}").detail == {"error": "no answer found"}
    assert oracle.random(random.Random(3)).startswith("\\boxed{")
    suite.close()


def test_a_judge_that_chokes_is_a_fault():
    suite = maths.math()
    assert [t.id for t in suite.tasks()] == ["math/4"]
    assert isinstance(played(suite, "\\boxed{not a number}"), Fault)
    suite.close()


def test_a_file_brings_another_year(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"problem": "p", "answer": 12}\n\n{"problem": "r", "answer": "013", "id": 9}\n'
    )
    suite = maths.aime_26(path=str(file))
    assert [t.id for t in suite.tasks()] == ["aime-26/1", "aime-26/9"]
    assert played(suite, "\\boxed{13}", 1).success
    other = maths.aime_25(path=str(file))
    assert other.name == "aime-25"
    assert other.tasks()[1].group == "aime-25"
    assert other.settings["problems"] == 2


def test_gsm8k_reads_what_follows_the_marks(tmp_path):
    file = tmp_path / "g.csv"
    file.write_text('question,answer\nhow many?,"6*7=<<6*7=42>>42\n#### 1,042"\n')
    suite = maths.gsm8k(path=str(file))
    assert suite.open(suite.tasks()[0], seed=0).reference() == "\\boxed{1042}"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", "", "holds no questions"),
        ("a.jsonl", "{", "a.jsonl:1: not JSON"),
        ("a.jsonl", "[1]", "a.jsonl:1: a row must be an object"),
        ("a.json", "{}", "must hold a list"),
        ("a.txt", "x", "must end with"),
        ("a.jsonl", '{"problem": "p"}', "row 1: needs answer"),
        ("a.jsonl", '{"problem": "", "answer": 1}', "needs problem or question"),
        ("a.jsonl", '{"problem": "p", "answer": true}', "needs answer"),
        (
            "a.jsonl",
            '{"problem": "p", "answer": 1, "id": 1}\n' * 2,
            "two rows are called 'aime-26/1'",
        ),
        ("a.jsonl", "[" * 100_000, "not JSON"),
        ("a.jsonl", '{"problem": "p", "answer": "so ####"}', "row 1: no answer behind ####"),
    ],
)
def test_files_that_are_not_as_described_are_refused(tmp_path, name, text, told):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        maths.aime_26(path=str(file))
