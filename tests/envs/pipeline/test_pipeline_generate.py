import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from envs.pipeline.pipeline_fakes import CODE, Writer, brief_of, checker, run
from spade_envs.corpus import Cursor, open_corpus
from spade_envs.design.clients.scripted import ScriptedPolicy
from spade_envs.errors import ClientError, ConfigError
from spade_envs.novelty import Door
from spade_envs.pipeline import Plan, generate
from spade_envs.store import open_store
from spade_envs.types import COGNITIVE_SKILLS, Record, Rejection, Skill


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("reference") / "store", create=True)
    return brief_of(run(store))


def test_stream_of_records_and_rejections(store, reference):
    seen = []
    outcomes = run(store, progress=seen.append)
    records = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    rejections = [outcome for outcome in outcomes if isinstance(outcome, Rejection)]
    assert len(records) == 8
    assert isinstance(outcomes[-1], Record)
    assert {rejection.stage for rejection in rejections} == {"parse", "gates", "novelty"}
    assert [r.attempt for r in rejections] == sorted(r.attempt for r in rejections)
    assert {r.id for r in records} == {r.id for r in store.records()}
    assert (seen[-1].accepted, seen[-1].rejected, seen[-1].replayed) == (8, len(rejections), 0)
    refused = next(r for r in rejections if r.stage == "gates")
    assert refused.reason.startswith("L9.9: line 5")
    assert not refused.report.accepted
    assert [p for p in store.verify(deep=True) if p.severity == "error"] == []
    assert brief_of(outcomes) == reference


def test_provenance_names_passage_designer_and_attempt(store):
    outcomes = run(store)
    attempt, record = next((i, o) for i, o in enumerate(outcomes) if isinstance(o, Record))
    provenance = store.manifest(record).provenance
    passage, _ = open_corpus("pydoc").draw(Cursor(seed=2, position=attempt))
    assert provenance.passage.sha256 == passage.sha256
    assert provenance.passage.licence == "PSF-2.0"
    assert provenance.designer.model == "writer-1"
    assert provenance.designer.sampling["temperature"] == 0.8
    assert provenance.run.endswith(f"#{attempt}")


def test_twins_are_refused_in_any_words(store):
    first = CODE.format(word="A", number=1)
    script = [first, first, CODE.format(word="B", number=1), CODE.format(word="A", number=2)]
    designer = ScriptedPolicy([f"```python\n{code}```" for code in script])
    outcomes = run(store, designer=designer, count=2)
    assert [getattr(o, "stage", "accepted") for o in outcomes] == [
        *("accepted", "novelty", "novelty", "accepted"),
    ]
    assert outcomes[1].reason == f"{outcomes[0].id} has the same text"
    assert outcomes[2].reason == f"{outcomes[0].id} has the same program in other words"


def test_results_depend_neither_on_block_nor_on_workers(tmp_path, reference):
    for number, settings in enumerate(({"block": 1}, {"block": 30}, {"workers": 3})):
        store = open_store(tmp_path / str(number), create=True)
        assert brief_of(run(store, **settings)) == reference


def test_other_seeds_design_other_things(store, reference):
    assert brief_of(run(store, seed=5)) != reference


def test_a_finished_run_is_replayed_without_asking_the_designer(store, reference):
    run(store)
    designer = Writer()
    seen = []
    assert brief_of(run(store, designer=designer, progress=seen.append)) == reference
    assert designer.requests == []
    assert seen[-1].replayed == len(reference)


def test_a_shorter_run_is_continued(store, reference):
    run(store, count=3)
    assert brief_of(run(store)) == reference


@pytest.mark.parametrize(("kill_at", "place"), [(1, "before"), (5, "after"), (10, "before")])
def test_killed_and_started_again(tmp_path, reference, kill_at, place):
    folder = tmp_path / "store"
    fakes = Path(__file__).with_name("pipeline_fakes.py")
    killed = subprocess.run([sys.executable, fakes, folder, str(kill_at), place])
    assert killed.returncode == -signal.SIGKILL
    store = open_store(folder)
    before = {record.digest for record in store.records()}
    outcomes = brief_of(run(store))
    assert outcomes == reference
    assert before <= set(outcomes)
    assert [p for p in store.verify(deep=True) if p.severity == "error"] == []


def test_torn_and_foreign_lines_of_the_ledger(store, reference, caplog):
    run(store, count=3)
    (path,) = store.root.glob("ledger/generate-*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    noise = [b"{}\n", b'{"attempt": -1, "stage": "gates"}\n', b"[1]\n", b'{"attempt": 0, "x": 1}\n']
    path.write_bytes(b"".join(noise + lines)[:-9])
    assert brief_of(run(store)) == reference
    assert "not whole" in caplog.text
    text = path.read_bytes()
    assert b"\n".join(text.splitlines()[-2:]).startswith(b'{"attempt"')
    assert brief_of(run(store)) == reference


def test_without_its_ledger_a_run_finds_its_own_environments(store, reference):
    run(store)
    (path,) = store.root.glob("ledger/generate-*.jsonl")
    path.unlink()
    assert brief_of(run(store)) == reference


def test_without_its_cache_novelty_is_the_same(store, reference):
    run(store, count=4)
    cache = store.root / ".cache" / "programs-3.jsonl"
    assert len([line for line in cache.read_text().splitlines() if line]) == 4
    lines = "".join(f'["{record.digest}", ["", "", ""]]\n' for record in store.records())
    cache.write_bytes(b"rubbish\n[1]\n\xff\n" + lines.encode())
    source = store.source(store.records()[0])
    assert (
        Door(store).glance(source).step == "text"
    )  # false hashes under the right digests hide nothing
    assert brief_of(run(store)) == reference


def test_withdrawn_environments_do_not_come_back(store):
    first = next(o for o in run(store, count=1) if isinstance(o, Record))
    store.withdraw(first.id, "leaks")
    outcomes = run(store, count=1)
    again = outcomes[0] if isinstance(outcomes[0], Rejection) else None
    assert first.digest not in brief_of(outcomes)
    assert again is None or "leaks" in again.reason or again.stage != "novelty"
    assert len([o for o in outcomes if isinstance(o, Record)]) == 1


def test_removed_environments_are_made_again(store, tmp_path):
    outcomes = run(store, count=2)
    first = next(o for o in outcomes if isinstance(o, Record))
    version = store.root / "envs" / first.id.removeprefix("spade/").removesuffix("-v0")
    version.rename(tmp_path / "away")
    assert brief_of(run(store, count=2)) == brief_of(outcomes)


def test_attempts_are_limited(store):
    outcomes = run(store, count=99, max_attempts=6)
    assert len(outcomes) == 6
    assert (
        len(run(open_store(store.root.parent / "b", create=True), count=2, max_attempts=None)) <= 4
    )


def test_repairs_send_the_evidence_back(store):
    designer = Writer()
    plain = run(open_store(store.root.parent / "plain", create=True), max_attempts=12, count=99)
    mended = run(store, designer=designer, repair_turns=1, max_attempts=12, count=99)
    refused = [i for i, o in enumerate(plain) if getattr(o, "stage", "") in ("gates", "parse")]
    assert refused
    repairs = [messages for messages, _ in designer.requests if len(messages) == 4]
    assert len(repairs) == len(refused)
    gates = [m for m in repairs if "L9.9" in m[-1].content]
    assert gates
    assert "5:     number =" in gates[0][-1].content
    assert gates[0][2].role == "assistant"
    assert sum(isinstance(o, Record) for o in mended) > sum(isinstance(o, Record) for o in plain)
    taken = next(i for i in refused if isinstance(mended[i], Record))
    assert store.manifest(mended[taken]).provenance.designer.sampling["turn"] == 1
    again = open_store(store.root.parent / "again", create=True)
    assert brief_of(run(again, repair_turns=1, max_attempts=12, count=99)) == brief_of(mended)


def test_a_failed_request_is_no_finished_attempt(store):
    good = ["```python\n" + CODE.format(word="A", number=n) + "```" for n in (1, 2, 3)]
    first = run(store, designer=ScriptedPolicy([good[0], "", good[2]], name="s"), count=2, block=3)
    assert [getattr(o, "stage", "ok") for o in first] == ["ok", "parse", "ok"]
    holey = ScriptedPolicy([good[0], [], good[2]], name="t")
    other = open_store(store.root.parent / "other", create=True)
    outcomes = run(other, designer=holey, count=2, block=3)
    assert [getattr(o, "stage", "ok") for o in outcomes] == ["ok", "client", "ok"]
    outcomes = run(other, designer=ScriptedPolicy(good, name="t"), count=3, block=3)
    assert [getattr(o, "stage", "ok") for o in outcomes] == ["ok", "ok", "ok"]


def test_a_dead_client_stops_the_run(store):
    with pytest.raises(ClientError, match="no completion for attempt 0"):
        run(store, designer=ScriptedPolicy([]))


def test_refused_designs_are_kept_for_study(store):
    outcomes = run(store)
    refused = [o for o in outcomes if isinstance(o, Rejection) and o.source]
    kept = [json.loads(path.read_text()) for path in store.root.glob("rejected/*/rejection.json")]
    assert {o.source.sha256 for o in refused} == {
        k["source_sha256"] for k in kept if "source_sha256" in k
    }


def test_kinds_choose_skills(store):
    outcomes = run(store, kinds=["text"])
    skills = {skill for o in outcomes if isinstance(o, Record) for skill in o.skills}
    assert skills <= set(COGNITIVE_SKILLS)
    assert len(skills) > 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"count": 0}, "count must be >= 1"),
        ({"block": 0}, "block must be >= 1"),
        ({"workers": 0}, "workers must be >= 1"),
        ({"max_attempts": 0}, "max_attempts must be >= 1"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"temperature": -0.1}, "temperature must be >= 0"),
        ({"skills": ["juggling"]}, "unknown skill 'juggling'"),
        ({"skills": ["optimization"], "kinds": ["tool"]}, "none of the skills"),
        ({"kinds": ["graphic"]}, "unknown kind"),
    ],
)
def test_settings_that_cannot_be_used(store, settings, words):
    with pytest.raises(ConfigError, match=words):
        run(store, **settings)


def test_bad_settings_are_told_before_the_first_outcome(store):
    with pytest.raises(ConfigError):
        generate(Writer(), None, store, count=0)


def test_without_a_corpus(store):
    outcomes = list(generate(Writer(), None, store, count=1, seed=3, block=4, checker=checker))
    record = next(o for o in outcomes if isinstance(o, Record))
    assert store.manifest(record).provenance.passage is None


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": 1}, {"gates": "x"}, {"designer": "y"}, {"skills": (Skill.OPTIMIZATION,)}),
        *({"temperature": 0.1}, {"max_tokens": 5}, {"repair_turns": 1}, {"corpus": "pydoc"}),
    ],
    ids=str,
)
def test_every_setting_that_matters_names_another_run(change):
    settings = {"seed": 0, "designer": "x", "skills": tuple(Skill), "corpus": None}
    changed = {**settings, **change}
    if changed["corpus"]:
        changed["corpus"] = open_corpus("pydoc")
    assert Plan(**changed).key != Plan(**settings).key
    assert Plan(**changed).key == Plan(**changed).key
