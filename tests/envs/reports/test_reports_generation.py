"""The page of a run: complete, self-contained, and deaf to what models wrote."""

import pytest

from envs.pipeline.pipeline_fakes import Writer, run
from envs.reports.kit_reports import NASTY
from envs.reports.test_reports_page import ALLOWED, Reader
from spade_envs.design.clients import Price
from spade_envs.pipeline import runs_of, summarise
from spade_envs.pipeline.advice import advice_for
from spade_envs.pipeline.ledger import Ledger, Line
from spade_envs.reports.generation import STOPS, duration, render_generation
from spade_envs.store import open_store
from spade_envs.types import Completion


class Counting(Writer):
    def complete(self, messages, **settings):
        made = super().complete(messages, **settings)
        return Completion(
            text=made.text, model=made.model, prompt_tokens=100, completion_tokens=20,
            thinking_tokens=7,
        )  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def page_of(found, stopped="count"):
    return render_generation(found, stopped=stopped, designer="writer <1>", made_at="now")


def test_a_run_is_summed_up_over_its_processes(store):
    run(store, designer=Counting(), count=3)
    outcomes = run(store, designer=Counting(), count=8)
    (name,) = runs_of(store)
    found = summarise(store, name, Price(read=10.0, written=100.0))
    refused = [o for o in outcomes if hasattr(o, "stage")]
    assert (found.attempts, len(found.made)) == (len(outcomes), 8)
    assert sum(cause.count for cause in found.causes) == len(refused)
    assert [cause.count for cause in found.causes] == sorted(
        (cause.count for cause in found.causes), reverse=True
    )
    assert found.processes == 2
    assert found.usage.tokens == 120 * found.usage.requests
    assert found.cost == pytest.approx(0.003 * found.usage.requests)
    parse = found.steps[0]
    assert (parse.name, parse.reached) == ("parse", len(outcomes))
    assert parse.reached - parse.passed == sum(o.stage == "parse" for o in refused)
    assert all(a.passed == b.reached for a, b in zip(found.steps, found.steps[1:], strict=False))
    assert found.steps[-1].passed == 8 + sum("L9" in o.reason for o in refused)
    assert sum(skill.reached for skill in found.skills) == len(outcomes)

    reader = Reader(page_of(found))
    text = " ".join(reader.text.split())
    assert f"8 environments of {len(outcomes)} attempts" in text
    assert STOPS["count"] in text
    assert f"{20 * found.usage.requests:,} written" in text
    assert "of them thinking" in text
    assert f"${found.cost:.4f}" in text
    assert all(made.record.id in text for made in found.made)
    assert all(cause.examples[0][1] in text for cause in found.causes)
    assert set(reader.tags) <= ALLOWED


def test_withdrawn_environments_are_told_apart(store):
    first = next(o for o in run(store, count=2) if not hasattr(o, "stage"))
    store.withdraw(first.id, "leaks")
    found = summarise(store, runs_of(store)[0])
    assert (len(found.made), found.gone, found.cost) == (1, 1, None)
    assert "no price was given" in page_of(found)


def test_hostile_reasons_stay_text(store):
    ledger = Ledger(store, "generate-0-x")
    for attempt in range(20):
        ledger.append(Line(attempt=attempt, stage="parse", reason=NASTY, skill=NASTY))
    found = summarise(store, "generate-0-x")
    page = page_of(found, stopped=NASTY)
    assert set(Reader(page).tags) <= ALLOWED
    assert "<script" not in page
    assert "raise --max-tokens" in page


def test_nothing_at_all(store):
    found = summarise(store, "generate-0-nothing")
    assert runs_of(store) == []
    assert "0 environments of 0 attempts" in page_of(found)
    assert found.as_json()["usage"]["tokens"] == 0


def test_every_gate_has_advice_and_times_are_readable():
    from spade_envs.gates import GATES

    assert all("Look at some of them" not in advice_for(gate.id) for gate in GATES)
    assert "--temperature" in advice_for("novelty")
    assert [duration(s) for s in (0, 42.4, 420, 12_000)] == ["0 s", "42 s", "7 min", "3 h 20 min"]
