"""The second script of the audit: what it takes from verdicts, and what it confirms by itself."""

import json
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT))  # `benchmarks` is in the repository only, not installed

from benchmarks.audit import confirm, probes  # noqa: E402
from benchmarks.audit.claims import Claim, claims_of, inner  # noqa: E402
from benchmarks.audit.libraries import Unavailable, module  # noqa: E402


class Sums:
    """A sound dataset, or one with a named defect."""

    def __init__(self, name, seed, size):
        self.name, self.seed = name, seed

    def __getitem__(self, index):
        rng = random.Random(self.seed + index)
        if self.name == "global":
            rng = random
        top = 2 if self.name == "small" else 10_000
        answer = str(rng.randint(1, top))
        shown = f" ({answer})" if self.name == "leaky" else ""
        return {"question": f"Item {index}: find it{shown}.", "answer": answer}

    def score_answer(self, answer, entry):
        match self.name:
            case "gullible":
                return float(bool(answer))
            case "substring":
                return float(entry["answer"] in answer.split())
            case "brittle":
                return float(int(answer) == int(entry["answer"]))
            case "unpaid":
                return 0.5
        return float(answer == entry["answer"])


@pytest.fixture(autouse=True)
def _library(monkeypatch):
    fake = ModuleType("reasoning_gym")
    fake.create_dataset = Sums
    monkeypatch.setitem(sys.modules, "reasoning_gym", fake)


def claim(name, kind, gate="L3.3", **more):
    return Claim("reasoning-gym", name, gate, kind, "", **more)


CASES = {
    "gullible": claim("gullible", "constant", texts=("7",)),
    "small": claim("small", "foreign", gate="L3.5"),
    "substring": claim("substring", "edited", gate="L3.7", detail="denied with 'not'"),
    "brittle": claim("brittle", "raises", gate="L1.3", texts=("seven",)),
    "leaky": claim("leaky", "shown", gate="L3.10", detail="find it ("),
    "unpaid": claim("unpaid", "unpaid", gate="L3.1"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_defect_is_confirmed_and_a_sound_dataset_is_not_accused(name):
    one = CASES[name]
    look = probes.PROBES[one.kind]
    assert look(one).confirmed
    sound = claim("sound", one.kind, one.gate, texts=one.texts, detail=one.detail)
    assert not look(sound).confirmed


def test_a_process_wide_generator_shows_when_items_are_drawn_again(monkeypatch):
    monkeypatch.setattr(probes, "_elsewhere", lambda *_: {})
    assert "in one process" in probes.moved(claim("global", "moved", "L2.1")).figure
    assert not probes.moved(claim("sound", "moved", "L2.1")).confirmed


def test_figures_carry_their_interval():
    assert probes.rate(50, 100) == "50 of 100 (40%-60%)"
    assert "200 of 200 (98%-100%)" in probes.constant(CASES["gullible"]).figure


def test_a_control_keeps_a_lax_scorer_from_confirming_an_edit():
    # "not X" is paid, but so is everything else: that is another finding.
    lax = claim("gullible", "edited", gate="L3.7", detail="denied with 'not'")
    assert not probes.edited(lax).confirmed


def test_verdicts_become_claims(tmp_path, capsys):
    result = {
        "gate": "L3.4",
        "outcome": "fail",
        "message": "one fixed answer wins 100% of the seeds at level 0",
        "evidence": {"level": 0, "actions": ["<answer>7</answer>"]},
    }
    passed = {**result, "gate": "L3.5", "outcome": "pass"}
    document = [
        {"target": "reasoning-gym:gullible", "report": {"results": [result, passed]}},
        {"target": "reasoning-gym:sound", "report": {"results": [result]}},
        {"target": "reasoning-gym:broken", "report": None},
    ]
    found = list(claims_of(document))
    assert [(one.name, one.kind, one.texts) for one in found] == [
        ("gullible", "constant", ("7",)),
        ("sound", "constant", ("7",)),
    ]
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps(document))
    assert confirm.main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 2 confirmed"
    assert confirm.main([str(path), "--only", "gullible"]) == 0


def test_the_checkers_finding_is_dropped_beside_the_text_that_raises():
    pair = [SimpleNamespace(library="x", name="y", gate=gate) for gate in ("L1.1", "L1.3")]
    assert [one.gate for one in confirm.merged(pair)] == ["L1.3"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("so <answer> 7 </answer>", "7"), ("\\boxed{a b}", "a b"), ("bare", "bare")],
)
def test_answers_are_read_out_of_their_tags(text, answer):
    assert inner(text) == answer


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gem", None)
    with pytest.raises(Unavailable, match="pip install gem-llm"):
        module("gem")


class Tiles:
    """A game whose tiles come from a generator that all games share, or from its own."""

    shared = random.Random()

    def __init__(self, name):
        self.name, self.own = name, random.Random()

    @property
    def rng(self):
        return Tiles.shared if self.name == "shared" else self.own

    def reset(self, seed):
        self.rng.seed(seed)
        return "Say left or right.", {}

    def step(self, text):
        return f"A tile at {self.rng.randint(1, 10**6)}.", 0.01, False, False, {}


@pytest.mark.parametrize(("name", "confirmed"), [("shared", True), ("own", False)])
@pytest.mark.parametrize("kind", ["moved", "forked"])
def test_games_that_share_a_generator_move_each_other(monkeypatch, kind, name, confirmed):
    fake = ModuleType("gem")
    fake.make = Tiles
    monkeypatch.setitem(sys.modules, "gem", fake)
    monkeypatch.setattr(probes, "_elsewhere", lambda *_: {})
    seen = probes.PROBES[kind](Claim("gem", name, "L2.2", kind, "", texts=("left",)))
    assert seen.confirmed is confirmed, seen.figure


def test_a_text_that_the_report_cut_is_made_whole():
    step = {"action": "9" * 39 + "... (5000 characters)"}
    result = {
        "gate": "L1.3",
        "outcome": "fail",
        "message": "step failed",
        "evidence": {"level": 0, "transcript": [step]},
    }
    found = list(claims_of([{"target": "gem:x", "report": {"results": [result]}}]))
    assert found[0].texts == ("9" * 5000,)
