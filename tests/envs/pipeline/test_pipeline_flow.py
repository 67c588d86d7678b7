"""Answers that are kept, budgets, and many requests at once."""

import errno
import json
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.pipeline.pipeline_fakes import Writer, brief_of, checker, pydoc, run
from spade_envs.corpus import open_corpus
from spade_envs.design.clients import CompletionRequest, Price, Usage
from spade_envs.design.clients.replies import MAX_REPLY_CHARS
from spade_envs.errors import ClientError, ConfigError, CorpusError, StoreError
from spade_envs.memory import open_memory
from spade_envs.pipeline import Budget, generate
from spade_envs.pipeline.answers import Answers
from spade_envs.pipeline.budget import most
from spade_envs.pipeline.desk import Desk
from spade_envs.pipeline.ledger import Ledger, Line
from spade_envs.store import open_store
from spade_envs.types import Completion, Message, Record


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", create=True)


class Server(Writer):
    """The writer as a server: many threads at once, some answers later than others."""

    concurrency = 4

    def __init__(self, slow=0.02, fail=()):
        super().__init__()
        self.slow, self.fail = slow, set(fail)
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def complete(self, messages, *, seed, max_tokens, temperature):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.slow * (seed % 3))
        with self.lock:
            self.now -= 1
            number = len(self.requests)
        if number in self.fail:
            with self.lock:
                self.requests.append((messages, None))
            raise ClientError("the line is dead")
        return super().complete(messages, seed=seed, max_tokens=max_tokens, temperature=temperature)


def answers_of(store):
    (path,) = store.root.glob("ledger/answers-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_many_requests_at_once_come_to_the_same(store, tmp_path):
    serial = run(store)
    server = Server()
    other = open_store(tmp_path / "other", create=True)
    assert brief_of(run(other, designer=server)) == brief_of(serial)
    assert 1 < server.most <= 4
    again = open_store(tmp_path / "again", create=True)
    settings = {"repair_turns": 2, "workers": 2, "max_attempts": 12, "count": 99}
    assert brief_of(run(again, designer=Server(), **settings)) == brief_of(
        run(open_store(tmp_path / "serial", create=True), **settings)
    )


@pytest.mark.parametrize("designer", [Writer, Server])
def test_what_was_answered_is_never_asked_again(store, designer):
    first = designer()
    for _ in zip(range(3), run_lazily(store, first, repair_turns=1), strict=False):
        pass  # as if killed: the generator is dropped in the middle
    kept = {(line["attempt"], line["turn"]) for line in answers_of(store)}
    second = designer()
    run(store, designer=second, repair_turns=1)
    asked = {(line["attempt"], line["turn"]) for line in answers_of(store)}
    assert kept
    assert len(second.requests) == len(asked - kept)
    assert len(answers_of(store)) == len(asked)


def run_lazily(store, designer, **settings):
    settings = {"seed": 2, "block": 4, "max_attempts": 30, "count": 8, **settings}
    return generate(designer, pydoc(), store, checker=checker, **settings)


def test_two_processes_at_one_run_do_not_pay_twice(store, tmp_path):
    first, second = Writer(), Writer()
    outcomes = run_lazily(store, first)
    assert next(outcomes)
    with pytest.raises(StoreError, match="another process is at this run"):
        run_lazily(store, second)
    assert second.requests == []
    assert len(list(run_lazily(store, second, seed=3))) > 0  # another run is free
    assert next(run_lazily(open_store(tmp_path / "other", create=True), Writer()))
    outcomes.close()
    assert len(list(run_lazily(store, second))) > 0  # and so is this one, once it is left


def test_a_file_system_without_locks_lets_a_run_go_on(store, monkeypatch, caplog):
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert brief_of(run(store, count=1))
    assert "only one process" in caplog.text


def test_usage_is_the_sum_over_all_processes(store):
    seen = []
    run(store, count=3, progress=seen.append)
    run(store, count=8, progress=seen.append)
    lines = answers_of(store)
    assert seen[-1].usage.requests == len(lines)
    assert seen[-1].usage.completion_tokens == sum(
        line["usage"]["completion_tokens"] for line in lines
    )
    assert seen[-1].usage.estimated == len(lines)
    assert (seen[-1].stopped, seen[-1].replayed > 0) == ("count", True)


def notes_of(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"A note about the number {number}.\n" * 9)
    return folder, open_corpus(str(folder))


@pytest.mark.parametrize("remembers", [False, True])
def test_a_document_that_changes_costs_its_attempts_and_not_the_run(store, tmp_path, remembers):
    folder, notes = notes_of(tmp_path)
    desk = Desk(store, memory=open_memory(store)) if remembers else None
    writer, outcomes = Writer(), []
    settings = {"count": None, "max_attempts": 12, "seed": 2, "block": 4, "checker": checker}
    for outcome in generate(writer, notes, store, desk=desk, **settings):
        if not outcomes:
            (folder / "3.txt").write_text("Somebody edits it, and saves.\n")
            (folder / "4.txt").unlink()
        outcomes.append(outcome)
    lost = [outcome for outcome in outcomes if getattr(outcome, "stage", "") == "corpus"]
    assert len(outcomes) == 12
    assert len(writer.requests) == 12 - len(lost)
    assert all("has changed since it was opened" in outcome.reason for outcome in lost)
    assert bool(lost) is not remembers  # who may choose chooses what is still there
    made = [outcome for outcome in outcomes if isinstance(outcome, Record)]
    assert all(store.manifest(record).provenance.passage is not None for record in made)


def test_a_corpus_that_is_gone_ends_the_run(store, tmp_path):
    folder, notes = notes_of(tmp_path)
    for path in folder.iterdir():
        path.unlink()
    settings = {"count": None, "budget": Budget(tokens=1e6), "block": 4, "checker": checker}
    with pytest.raises(CorpusError, match="has changed since"):
        list(generate(Writer(), notes, store, **settings))


def test_answers_that_are_under_way_at_the_end_are_kept(store):
    seen = []
    server = Server(slow=0.05)
    run(store, designer=server, count=1, progress=seen.append)
    assert len(answers_of(store)) == len(server.requests) == seen[-1].usage.requests


def test_failed_requests_are_made_again_next_time(store, tmp_path):
    broken = Server(slow=0, fail=(1, 2))
    first = run(store, designer=broken, count=99, max_attempts=12)
    assert sum(getattr(o, "stage", "") == "client" for o in first) == 2
    second = run(store, designer=Server(), count=99, max_attempts=12)
    whole = run(
        open_store(tmp_path / "whole", create=True), designer=Server(), count=99, max_attempts=12
    )
    assert {o.digest for o in second if isinstance(o, Record)} == {
        o.digest for o in whole if isinstance(o, Record)
    }


def test_a_server_that_dies_stops_the_run(store):
    dead = Server(slow=0, fail=range(5, 99))
    with pytest.raises(ClientError, match="the line is dead"):
        run(store, designer=dead, count=99, max_attempts=99)
    assert len(dead.requests) < 20
    assert len(answers_of(store)) == 5


@pytest.mark.parametrize("designer", [Writer, Server])
def test_a_budget_of_tokens_is_never_exceeded_and_can_be_raised(store, tmp_path, designer):
    settings = {"count": None, "max_attempts": 20, "max_tokens": 64}
    seen = []
    first = run(
        store,
        designer=designer(),
        budget=Budget(tokens=20_000),
        progress=seen.append,
        **settings,
    )
    assert 0 < len(first) < 20
    assert seen[-1].stopped == "tokens"
    assert 10_000 < seen[-1].usage.tokens <= 20_000
    again = run(store, designer=Writer(), budget=Budget(tokens=20_000), **settings)
    assert brief_of(again) == brief_of(first)
    whole = run(store, designer=designer(), **settings)
    other = run(open_store(tmp_path / "other", create=True), **settings)
    assert brief_of(whole) == brief_of(other)


def test_budgets_in_dollars_and_minutes(store):
    seen = []
    price = Price(read=1.0, written=2.0)
    run(
        store,
        count=None,
        max_tokens=64,
        budget=Budget(usd=0.02),
        price=price,
        progress=seen.append,
    )
    assert seen[-1].stopped == "usd"
    assert 0.01 < price.cost(seen[-1].usage) <= 0.02
    assert run(store, count=None, seed=3, budget=Budget(minutes=1e-9), progress=seen.append) == []
    assert seen[-1].stopped == "minutes"


def test_a_run_without_end_is_refused(store):
    with pytest.raises(ConfigError, match="max_attempts or a budget"):
        run(store, count=None, max_attempts=None)
    with pytest.raises(ConfigError, match="price"):
        run(store, budget=Budget(usd=1))


@pytest.mark.parametrize(
    "text", ["", "5", "tokens=", "tokens=0", "hours=1", "tokens=1,tokens=2", "usd=-1", "minutes=x"]
)
def test_budgets_that_cannot_be_read(text):
    with pytest.raises(ConfigError, match="tokens=N"):
        Budget.parse((text,))
    assert Budget.parse(("tokens=2e6", "usd=5,minutes=90")) == Budget(
        tokens=2e6, usd=5.0, minutes=90.0
    )
    assert not Budget.parse(()).limited


def test_the_most_that_repairs_may_take_counts_what_they_read_again():
    request = CompletionRequest(messages=(Message("user", "x" * 400),), seed=0, max_tokens=10)
    assert most(request, 0) == Usage(prompt_tokens=100, completion_tokens=10)
    assert most(request, 2) == Usage(prompt_tokens=100 + 110 + 120, completion_tokens=30)


def asked(attempt=0, turn=0):
    return CompletionRequest(messages=(Message("user", "u"),), seed=0, attempt=attempt, turn=turn)


texts = st.text(st.characters(codec="utf-8"), max_size=50)


@settings(deadline=None)
@given(
    text=texts,
    thinking=texts,
    tokens=st.none() | st.integers(0, 9999),
    reason=st.none() | st.sampled_from(["stop", "length"]),
)
def test_an_answer_comes_back_as_it_was(tmp_path_factory, text, thinking, tokens, reason):
    store = open_store(tmp_path_factory.mktemp("a") / "s", create=True)
    completion = Completion(
        text=text, model="m", thinking=thinking, completion_tokens=tokens, finish_reason=reason
    )
    Answers(store, "k", lambda attempt: False).add(asked(3, 1), completion)
    read = Answers(store, "k", lambda attempt: False)
    assert read.get(asked(3, 1)) == completion
    assert read.usage.requests == 1
    finished = Answers(store, "k", lambda attempt: True)
    assert (finished.get(asked(3, 1)), finished.usage) == (None, read.usage)


def test_the_longest_reply_of_a_server_comes_back(store):
    longest = Completion(text="\U0001f600" * MAX_REPLY_CHARS, model="m")
    Answers(store, "k", lambda attempt: False).add(asked(0), longest)
    read = Answers(store, "k", lambda attempt: False)
    assert (read.get(asked(0)) == longest, read.usage.requests) == (True, 1)


def test_torn_and_foreign_lines_of_the_answers(store, caplog):
    answers = Answers(store, "k", lambda attempt: False)
    for attempt in range(3):
        answers.add(asked(attempt), Completion(text=f"t{attempt}", model="m"))
    path = store.root / "ledger" / "answers-k.jsonl"
    whole = path.read_bytes()
    noise = [b"[1]", b"{}", b'{"attempt": -1, "turn": 0, "text": "x", "model": "m", "usage": {}}']
    noise += [b'{"attempt": 0, "turn": 0, "text": 5, "model": "m", "usage": {}}', b"[" * 9000]
    noise += [b'{"attempt": true, "turn": 0, "text": "x", "model": "m", "usage": {}}', b"\xff"]
    path.write_bytes(b"\n".join(noise) + b"\n" + whole[:-9])
    read = Answers(store, "k", lambda attempt: False)
    assert (read.usage.requests, read.get(asked(2))) == (2, None)
    assert "not whole" in caplog.text
    read.add(asked(2), Completion(text="again", model="m"))
    last = Answers(store, "k", lambda attempt: False)
    assert (last.usage.requests, last.get(asked(2)).text) == (3, "again")


@pytest.mark.parametrize(
    "change",
    [
        *({"turn": "1"}, {"turn": -1}, {"at_s": "x"}, {"at_s": "1"}, {"at_s": -1}, {"at_s": True}),
        *({"at_s": float("nan")}, {"failed": 3}, {"x": 1}, {"reason": 5}, {"reason": None}),
        *({"skill": ["a"]}, {"skill": 7}, {"process": {}}, {"stage": ["gates"]}, {"digest": 5}),
        *({"digest": "x"}, {"stage": "nowhere"}, {"attempt": True}),
    ],
)
def test_lines_of_the_ledger_that_are_none(store, change):
    Ledger(store, "k").append(Line(attempt=0, stage="gates", reason="r", failed=("L1.1",), turn=2))
    path = store.root / "ledger" / "k.jsonl"
    (found,) = Ledger(store, "k").lines()
    assert (found.failed, found.turn, found.reason) == (("L1.1",), 2, "r")
    path.write_text(json.dumps(json.loads(path.read_text()) | change) + "\n")
    assert Ledger(store, "k").lines() == []
