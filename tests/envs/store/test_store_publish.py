import dataclasses
import errno
import json

import pytest

from envs.store.kit import PROVENANCE, Killed, add, interrupted, report_of, source_of
from spade_envs.errors import ConfigError, Corrupt, IdError, NotCertified, NotFound, Withdrawn
from spade_envs.store import open_store
from spade_envs.types import GateResult, Rejection


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


def test_add_gives_a_record_that_reads_back(store):
    source = source_of(1)
    record = store.add(
        source, report_of(source), PROVENANCE, skills=["optimization"], licence="MIT"
    )
    assert record.id == f"spade/maze-{record.digest[7:15]}-v0"
    assert (record.levels, record.max_turns, record.skills) == (4, 16, ("optimization",))
    assert store.get(record.id) == record
    assert store.records() == [record]
    assert store.source(record).code == source.code
    assert store.report(record) == report_of(source)
    assert store.interface(record) == report_of(source).interface
    manifest = store.manifest(record)
    assert manifest.provenance.method == "hand-written"
    assert manifest.report.measured == {"L3.1": {"floor": 0.0, "ceiling": 1.0}}
    assert store.verify(deep=True) == []


def test_same_content_keeps_its_place(store):
    first = add(store, 1)
    assert add(store, 1) == first
    named = add(store, 1, name="alice.maze")
    assert named.id == "spade/alice.maze-v0"
    assert named.digest == first.digest
    assert add(store, 1, name="alice.maze") == named
    assert len(store.records()) == 2


def test_other_content_under_a_name_is_the_next_version(store):
    ids = [add(store, number, name="maze").id for number in (1, 2, 1, 3)]
    assert ids == ["spade/maze-v0", "spade/maze-v1", "spade/maze-v0", "spade/maze-v2"]


def test_made_name_grows_when_another_content_has_it(store):
    record = add(store, 1)
    taken = record.id.removeprefix("spade/").removesuffix("-v0")
    other = open_store(store.root.parent / "other", create=True)
    add(other, 2, name=taken)
    assert add(other, 1).id == f"spade/maze-{record.digest[7:19]}-v0"


def test_title_and_summary_do_not_change_the_identity(store):
    source, other = source_of(1), open_store(store.root.parent / "other", create=True)
    report = report_of(source)
    reworded = dataclasses.replace(
        report, interface=dataclasses.replace(report.interface, summary="Other words.")
    )
    deeper = dataclasses.replace(report, interface=dataclasses.replace(report.interface, levels=5))
    digests = [
        other.add(source, one, PROVENANCE, title=title, licence=licence).digest
        for one, title, licence in [
            (report, None, "MIT"),
            (reworded, "A title", "CC0-1.0"),
            (deeper, None, "MIT"),
        ]
    ]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


FAILED = GateResult(gate="L2.1", title="determinism", outcome="fail", message="differs at turn 3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_sha256": "0" * 64}, "another source"),
        ({"results": (FAILED,)}, "L2.1: differs at turn 3"),
        ({"complete": False}, "not every gate"),
        ({"interface": None}, "no interface"),
        ({"results": ()}, "no gate's verdict"),
    ],
)
def test_uncertified_sources_are_refused(store, changes, message):
    source = source_of()
    with pytest.raises(NotCertified, match=message):
        store.add(source, report_of(source, **changes), PROVENANCE)
    assert store.records() == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"licence": "  "}, ConfigError, "licence is required"),
        ({"name": "../escape"}, IdError, "must be lower-case"),
        ({"name": "maze-v1"}, IdError, "must not end in"),
        ({"name": "a.b.c"}, IdError, "must be lower-case"),
        ({"name": "nul"}, IdError, "reserve"),
    ],
)
def test_unusable_arguments_are_refused(store, options, error, message):
    with pytest.raises(error, match=message):
        add(store, 0, **options)
    assert store.verify() == [] or store.records() == []


def test_provenance_is_checked(store):
    source = source_of()
    for wrong in ({"whence": "x"}, {"created": "yesterday"}, {"seed": -1}, {"method": "stolen"}):
        with pytest.raises(ConfigError, match=f"provenance: {next(iter(wrong))}"):
            store.add(source, report_of(source), wrong)


def test_oversized_and_unencodable_sources_are_refused(store):
    big = dataclasses.replace(source_of(), code="#" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="1048577 bytes"):
        store.add(big, report_of(big), PROVENANCE)
    odd = dataclasses.replace(source_of(), code="x = '\udc80'")
    with pytest.raises(ConfigError, match="surrogate"):
        store.add(odd, report_of(odd), PROVENANCE)


def test_text_for_people_is_one_printable_line(store):
    source = source_of()
    interface = dataclasses.replace(
        report_of(source).interface, summary="red \x1b[31m text\u202e\nand | more <b>"
    )
    record = store.add(source, report_of(source, interface=interface), PROVENANCE)
    assert record.summary == "red [31m text and | more <b>"
    assert "and \\| more \\<b\\>" in (store.root / "CATALOG.md").read_text("utf-8")


def test_withdrawn_versions_are_refused_with_the_reason(store):
    add(store, 1, name="maze")
    add(store, 2, name="maze")
    record = store.withdraw("maze-v1", "its reward can be farmed")
    assert record.withdrawn is not None
    assert record.withdrawn.startswith("its reward can be farmed (20")
    with pytest.raises(Withdrawn, match="maze-v1 was withdrawn: its reward can be farmed"):
        store.get("spade/maze-v1")
    with pytest.raises(Withdrawn, match="farmed"):
        store.source(record)
    with pytest.raises(Withdrawn, match="has this content"):
        add(store, 2, name="maze")
    assert store.get("maze").id == "spade/maze-v0"
    assert store.withdraw("maze-v1", "another reason") == record
    assert add(store, 3, name="maze").id == "spade/maze-v2"
    assert [bool(found.withdrawn) for found in store.records()] == [False, True, False]
    assert store.verify(deep=True) == []


def test_withdrawing_needs_a_reason_and_a_version(store):
    add(store, 1, name="maze")
    with pytest.raises(ConfigError, match="needs a reason"):
        store.withdraw("maze", " ")
    with pytest.raises(NotFound):
        store.withdraw("maze-v7", "gone")


def test_rejected_designs_are_kept_once(store):
    source = source_of()
    report = report_of(source, results=(FAILED,))
    rejection = Rejection(
        stage="gates", reason="L2.1: differs", attempt=3, source=source, report=report
    )
    folder = store.reject(rejection)
    assert folder == store.root / "rejected" / source.sha256[:12]
    assert (folder / "env.py").read_text("utf-8") == source.code
    note = json.loads((folder / "rejection.json").read_text("utf-8"))
    assert (note["stage"], note["reason"], note["attempt"]) == ("gates", "L2.1: differs", 3)
    later = dataclasses.replace(rejection, attempt=9)
    assert store.reject(later) == folder
    assert json.loads((folder / "rejection.json").read_text("utf-8"))["attempt"] == 3
    assert store.reject(Rejection(stage="parse", reason="no code \udc80", attempt=1)).is_dir()
    assert store.records() == []
    assert store.verify() == []


def test_a_rival_in_the_middle_of_publishing_loses_nothing(tmp_path):
    for step in range(14):
        store = open_store(tmp_path / f"s{step}", create=True)
        with interrupted(step, lambda store=store: add(store, 2, name="maze")):
            mine = add(store, 1, name="maze")
        add(store, 2, name="maze")
        contents = {store.source(record).code for record in store.records()}
        assert contents == {source_of(1).code, source_of(2).code}
        assert sorted(record.id[-2:] for record in store.records()) == ["v0", "v1"]
        assert store.source(mine).code == source_of(1).code
        assert store.verify(deep=True) == []


def test_a_rival_with_the_same_content_shares_the_version(tmp_path):
    for step in range(14):
        store = open_store(tmp_path / f"s{step}", create=True)
        with interrupted(step, lambda store=store: add(store, 1, name="maze")):
            assert add(store, 1, name="maze").id == "spade/maze-v0"
        assert len(store.records()) == 1


def test_a_kill_at_any_step_leaves_a_whole_version_or_none(tmp_path):
    outcomes = set()
    for step in range(60):
        store = open_store(tmp_path / f"s{step}", create=True)
        add(store, 0, name="maze")
        try:
            with interrupted(step):
                add(store, 1, name="maze")
        except Killed:
            errors = [p for p in store.verify(deep=True) if p.severity == "error"]
            assert {problem.kind for problem in errors} <= {"index"}
            outcomes.add(len(store.records()))
            assert add(store, 1, name="maze").id == "spade/maze-v1"
            assert [record.id[-2:] for record in store.records()] == ["v0", "v1"]
        else:
            break
    assert outcomes == {1, 2}
    assert 10 < step < 59


def test_a_kill_while_withdrawing_leaves_it_done_or_not(tmp_path):
    for step in range(40):
        store = open_store(tmp_path / f"s{step}", create=True)
        add(store, 0, name="maze")
        try:
            with interrupted(step):
                store.withdraw("maze", "bad")
        except Killed:
            reasons = [record.withdrawn for record in store.records()]
            assert reasons == [None] or (reasons[0] or "").startswith("bad (")
            assert store.withdraw("maze-v0", "bad").withdrawn
        else:
            break
    assert 5 < step < 39


def test_publishing_refuses_links_out_of_the_store(store, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (store.root / "envs").symlink_to(outside, target_is_directory=True)
    with pytest.raises(Corrupt, match="symbolic link"):
        add(store, 1)
    assert list(outside.iterdir()) == []


def test_withdrawing_works_where_there_are_no_hard_links(store, monkeypatch):
    def no_links(*args, **kwargs):
        raise OSError(errno.EPERM, "no hard links here")

    add(store, 1, name="maze")
    monkeypatch.setattr("os.link", no_links)
    first = store.withdraw("maze-v0", "bad")
    assert store.withdraw("maze-v0", "worse") == first
    assert first.withdrawn.startswith("bad")
