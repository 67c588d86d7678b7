"""Reading runs in every state, and the curves and figures that come of them."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import msgspec
import numpy as np
import pytest

from spade_envs.errors import ConfigError
from spade_envs.gates import GATES_VERSION
from spade_envs.store import open_store
from spade_envs.types import EnvSource, Interface, Report
from spade_train.reports import document, read, render
from spade_train.reports.document import RunDocument, schema
from spade_train.reports.figures import duration, figures, sentences
from spade_train.reports.samples import samples
from spade_train.reports.series import Curve, change, counted, curve, family_of, shares, smooth
from spade_train.rollouts.shelf import Shelf
from train.reports.kit_runs import event, make_run, write_lines

SCHEMA = Path(__file__).parents[3] / "docs" / "run-report.schema.json"


def of(values, errors=None, updates=None):
    updates = range(len(values)) if updates is None else updates
    errors = None if errors is None else np.array(errors, dtype=float)
    return Curve("x", np.array(updates, dtype=float), np.array(values, dtype=float), errors)


def test_a_torn_line_is_passed_over_and_a_damaged_one_is_told(tmp_path):
    run = make_run(tmp_path / "run", updates=5, ended="")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"update": 5, "agent/su')
    record = read(run)
    assert (record.updates, record.notes, record.stopped) == (5, (), "")
    lines = (run / "metrics.jsonl").read_text().splitlines()
    lines[2] = "}{ no JSON"
    (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    record = read(run)
    assert record.updates == 2
    assert "line 3 is no record" in record.notes[0]


def test_events_that_a_resume_repeated_count_once(tmp_path):
    run = make_run(tmp_path / "run", updates=2)
    designed = {"env": "sha256:x", "family": "sums"}
    events = [event("designed", update, **designed) for update in range(4)]
    events += [event("resumed", 1, checkpoint=2)]
    events += [event("designed", update, **designed) for update in range(2, 4)]
    write_lines(run / "events.jsonl", [*events, event("stopped", 3, why="updates")])
    record = read(run)
    assert [e["update"] for e in record.of_kind("designed")] == [0, 1, 2, 3]
    assert (record.resumes, record.stopped) == (1, "updates")
    write_lines(run / "events.jsonl", [event("stopped", 1, why="signal"), event("resumed", 1)])
    assert read(run).stopped == ""


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(ConfigError, match="holds no run"):
        read(tmp_path)


def test_curves_leave_gaps_and_keep_natural_order():
    lines = [
        {"update": 0, "a": 1.0, "a_se": 0.5, "l/level-10": 1, "l/level-2": 2},
        {"update": 1, "a": None},
        {"update": 2, "a": math.inf},
        {"update": 3, "a": True},
        {"update": 4, "a": 3},
    ]
    found = curve(lines, "a", "a", "a_se")
    assert found.updates.tolist() == [0, 4]
    assert found.values.tolist() == [1, 3]
    assert found.errors[0] == 0.5
    assert math.isnan(found.errors[1])
    assert [one.name for one in family_of(lines, "l/", "at ")] == ["at level-2", "at level-10"]
    assert not curve(lines, "b", "b")


def test_moving_means_and_their_errors():
    found = smooth(of([0, 3, 6, 9], [1, 1, 1, 1]), 3)
    assert found.values.tolist() == [1.5, 3, 6, 7.5]
    assert found.errors == pytest.approx([2**0.5 / 2, 3**0.5 / 3, 3**0.5 / 3, 2**0.5 / 2])
    assert smooth(of([0, 3, 6, 9]), 1).values.tolist() == [0, 3, 6, 9]
    even = smooth(of([0, 2, 4, 6]), 2)  # the point and the one after it
    assert even.values.tolist() == [1, 3, 5, 6]


def test_shares_add_up_to_one():
    first, second = shares([of([1, 3], updates=[0, 2]), of([1, 1, 0], updates=[0, 1, 2])])
    assert first.updates.tolist() == [0, 1, 2]
    assert first.values.tolist() == [0.5, 0, 1]
    assert (first.values + second.values).tolist() == [1, 1, 1]
    assert shares([of([0, 0])])[0].updates.size == 0
    assert shares([]) == []


def test_counts_of_what_events_say():
    events = [event("x", 0, f="a"), event("x", 0, f="a"), event("x", 1, f="b"), event("x", 1, f=3)]
    events += [event("x", 1, f="c")]
    first, rest = counted(events, "f", top=1)
    assert (first.name, first.updates.tolist(), first.values.tolist()) == ("a", [0], [2])
    assert (rest.name, rest.updates.tolist(), rest.values.tolist()) == ("other", [1], [2])


def test_the_change_is_between_quarters():
    found = change(of([1, 3, 9, 9, 9, 9, 4, 6]))
    assert asdict(found) == {"first": 2.0, "last": 5.0, "points": 2}
    assert asdict(change(of([7]))) == {"first": 7.0, "last": 7.0, "points": 1}
    assert change(of([])) is None


def test_figures_and_words(tmp_path):
    found = figures(read(make_run(tmp_path / "run", updates=21, gain=0.1)))
    assert (found.updates, found.planned_updates, found.stopped) == (21, 21, "updates")
    assert (found.designed, found.accepted) == (42, 21)
    assert found.held_out.evaluations == 3
    assert found.held_out.first == pytest.approx(0.4)
    assert found.held_out.last == pytest.approx(0.5)
    assert found.agent_episodes == 21 * 1152
    assert found.regret_se == pytest.approx(0.02 / 5**0.5)  # the last quarter has five updates
    assert found.model_share == pytest.approx(3 / 4.25, abs=0.01)
    words = " ".join(sentences(found))
    assert "from 40.0 % ± 1.4 to 50.0 % ± 1.4 (updates 0 and 20)" in words
    assert "21 of 42 programs became environments (50.0 %)" in words
    assert [duration(s) for s in (59.4, 200, 7500)] == ["59 s", "3 min 20 s", "2 h 5 min"]


@pytest.mark.parametrize(
    ("first", "last", "error", "words"),
    [
        (0.470, 0.453, 0.014, "was 47.0 % ± 1.4 at update 0 and 45.3 % ± 1.4 at update 3: no more"),
        (0.4, 0.5, 0.014, "went from 40.0 % ± 1.4 to 50.0 % ± 1.4"),
        (0.5, 0.4, 0.014, "went from 50.0 % ± 1.4 to 40.0 % ± 1.4"),
        (0.0, 0.1, 0.1, "was 0.0 % ± 0.0 at update 0 and 10.0 % ± 10.0 at update 3: no more"),
        (0.4, 0.5, None, "went from 40.0 % to 50.0 %"),
    ],
)
def test_a_change_within_the_noise_of_the_evaluations_is_called_so(
    tmp_path, first, last, error, words
):
    run = make_run(tmp_path / "run", updates=3)
    rows = [{"update": 0, "eval/success": first}, {"update": 3, "eval/success": last}]
    if error is not None:
        for row in rows:
            row["eval/success_se"] = error if row["eval/success"] else 0.0
    write_lines(run / "metrics.jsonl", rows)
    held = sentences(figures(read(run)))[0]
    assert f"Held-out success {words}" in held
    assert ("95 % interval of the change" in held) == ("no more" in words)


def test_samples_are_typical_ones_of_each_third(tmp_path):
    run = make_run(tmp_path / "run", updates=9)
    early, middle, late = samples(read(run))
    assert [one.when for one in (early, middle, late)] == ["early", "middle", "late"]
    assert [one.update // 3 for one in (early, middle, late)] == [0, 1, 2]
    assert early.lines[1] == "VALUE = 0"
    assert late.lines[1] == "VALUE = 2"
    assert late.certified
    assert [one.hinted for one in late.transcripts] == [False, True]
    assert late.transcripts[1].hint == "a plain text"
    events = [event("designed", 0, env=f"sha256:{n}", title="t") for n in range(3)]
    events += [event("scored", 0, env=f"sha256:{n}", regret=n / 10) for n in (2, 0, 1)]
    write_lines(run / "events.jsonl", events)
    (one,) = samples(read(run))
    assert (one.env, one.regret, one.certified, one.lines) == ("sha256:1", 0.1, False, ())


def test_samples_may_have_passed_quick_gates_only(tmp_path):
    run = make_run(tmp_path / "run", updates=3)
    source = EnvSource(code="VALUE = 9\n")
    report = Report(
        source_sha256=source.sha256,
        gates_version=GATES_VERSION,
        interface=Interface(entry="Maze", kind="text"),
        results=(),
        complete=False,
    )
    shelf = Shelf(open_store(run / "envstore"), run / "quick")
    digest = shelf.add(source, report, {}, skills=("optimization",)).digest
    write_lines(run / "events.jsonl", [event("designed", 0, env=digest)])
    (one,) = samples(read(run))
    assert (one.lines, one.certified) == (("VALUE = 9",), False)


def test_the_json_is_of_the_published_schema(tmp_path):
    made = document(read(make_run(tmp_path / "run", updates=6)))
    published = json.loads(SCHEMA.read_text("utf-8"))
    assert published == json.loads(json.dumps(schema()))
    assert msgspec.convert(json.loads(json.dumps(made)), RunDocument).format == 1
    assert made["series"]["eval/success"] == [(0, 0.4), (5, pytest.approx(0.6))]
    assert len(made["series"]["times/wall"]) == 6
    empty = make_run(tmp_path / "empty", updates=1)
    for name in ("metrics.jsonl", "events.jsonl"):
        (empty / name).unlink()
    assert msgspec.convert(document(read(empty)), RunDocument).words == ()


def test_a_run_that_its_time_ended_says_so_until_it_is_gone_on_with(tmp_path):
    run = make_run(tmp_path / "run", updates=3, ended="")
    events = [
        event("stopped", 2, why="signal SIGTERM"),
        event("resumed", 2, checkpoint=3),
        event("stopped", 3, why="updates"),
        event("time-over", 3, planned=50),
    ]
    write_lines(run / "events.jsonl", events)
    timed = read(run)
    assert (timed.time_over, timed.planned_updates, timed.resumes) == (True, 50, 0)
    assert "3 of at most 50 updates; ended: its time was over ·" in render(timed, made_at="now")
    write_lines(run / "events.jsonl", [*events, event("resumed", 2, checkpoint=3)])
    on = read(run)
    assert (on.time_over, on.planned_updates, on.resumes, on.stopped) == (False, 3, 1, "")
