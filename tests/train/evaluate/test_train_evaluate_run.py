import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from envs.design.chat_server import serving
from spade_envs.design.clients.openai_compatible import OpenAICompatiblePolicy
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Completion, Message
from spade_train.errors import StateError, SuiteError
from spade_train.evaluate.players import PolicyPlayer, function_player, open_player, scripted
from spade_train.evaluate.records import (
    HEADER,
    RECORDS,
    TRANSCRIPTS,
    find_evaluations,
    read_header,
    read_records,
)
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.evaluate.summary import read_summary, summarize
from spade_train.suites.base import Decoding
from spade_train.suites.worker import IsolatedSession, Limits, _Child, isolated
from train.suites.sums import make

DECODING = Decoding(samples=2, max_turns=2)


def adder(messages):
    """Solve sums with an odd first number; think aloud first."""
    one, other = messages[0].content.removesuffix(" = ?").split(" + ")
    right = int(one) % 2 or len(messages) > 1
    return f"<think>{one}</think>{int(one) + int(other)}" if right else "7777"


class Model:
    """A policy that is asked for completions, and may fail."""

    name = "model"

    def __init__(self, respond=adder, error=None):
        self.respond, self.error, self.requests = respond, error, []

    def complete_many(self, requests):
        self.requests += requests
        return [self._one(request) for request in requests]

    def _one(self, request):
        if self.error is not None and self.error(request):
            return self.error(request)
        text = self.respond(request.messages)
        return Completion(
            text=text, model="model", prompt_tokens=10, completion_tokens=3, finish_reason="length"
        )

    def complete(self, messages, **_):
        raise AssertionError


def played(suite, player, plan=None, folder=None, **options):
    evaluation = Evaluation(suite, player, plan or Plan(decoding=DECODING), folder, **options)
    rounds = list(evaluation.run())
    return evaluation, rounds


def figures_of(evaluation):
    return summarize(evaluation.header, evaluation.records())


def test_oracle_floors_and_a_function():
    found = {}
    for spec in ("oracle", "empty", "constant", "constant=4", "random"):
        evaluation, _ = played(make(), scripted(spec))
        found[spec] = figures_of(evaluation)
    assert found["oracle"].overall.success == 1.0
    assert found["empty"].overall.success == found["constant"].overall.success == 0.0
    assert found["random"].overall.attempts == 12
    assert found["empty"].overall.attempts == 6
    assert list(found["oracle"].groups) == ["large", "small"]
    evaluation, _ = played(make(), function_player(adder, name="adder"))
    assert {r.task: r.turns for r in evaluation.records()} == {
        "0": 2, "1": 1, "2": 2, "3": 1, "4": 2, "5": 1,
    }  # fmt: skip
    assert figures_of(evaluation).overall.success == 1.0


def test_a_turn_limit_is_noted_and_scored_as_it_stands():
    one_turn = Plan(decoding=replace(DECODING, max_turns=1))
    evaluation, _ = played(make(), function_player(adder, name="adder"), one_turn)
    assert {r.task: (r.value, r.stopped) for r in evaluation.records()} == {
        "0": (0.25, "turns"), "1": (1.0, ""), "2": (0.25, "turns"), "3": (1.0, ""),
        "4": (0.25, "turns"), "5": (1.0, ""),
    }  # fmt: skip


def test_results_do_not_depend_on_how_many_are_under_way():
    plans = [Plan(decoding=DECODING, live=live) for live in (1, 5, 64)]
    found = []
    for plan in plans:
        evaluation, _ = played(make(), scripted("random"), plan)
        found.append([replace(r, elapsed_s=0.0) for r in evaluation.records()])
    assert found[0] == found[1] == found[2]


def test_a_stopped_run_goes_on_and_repeats_nothing(tmp_path):
    first = Evaluation(make(), PolicyPlayer(Model()), Plan(decoding=DECODING, live=2), tmp_path)
    rounds = first.run()
    next(rounds)
    rounds.close()
    done = len(list(read_records(first.folder)))
    assert 0 < done < 12
    with open(first.folder / RECORDS, "ab") as file:
        file.write(b'{"task": "torn')
    model = Model()
    second, _ = played(make(), PolicyPlayer(model), Plan(decoding=DECODING), tmp_path)
    assert second.folder == first.folder
    assert len(list(read_records(second.folder))) == 12
    whole, _ = played(make(), PolicyPlayer(Model()), Plan(decoding=DECODING))
    plain = [replace(r, elapsed_s=0.0) for r in whole.records()]
    assert [replace(r, elapsed_s=0.0) for r in second.records()] == plain
    again = Model()
    third, rounds = played(make(), PolicyPlayer(again), Plan(decoding=DECODING), tmp_path)
    assert again.requests == rounds == []
    assert figures_of(third) == read_summary(third.folder)


def test_more_tasks_and_samples_add_what_is_missing(tmp_path):
    small = Plan(decoding=replace(DECODING, samples=1), limit=2)
    played(make(), PolicyPlayer(Model()), small, tmp_path)
    model = Model()
    evaluation, _ = played(make(), PolicyPlayer(model), Plan(decoding=DECODING), tmp_path)
    assert sum(r.turn == 0 for r in model.requests) == 10
    assert len(evaluation.records()) == 12
    shrunk, _ = played(make(), PolicyPlayer(Model()), small, tmp_path)
    assert len(shrunk.records()) == 2
    told = read_summary(shrunk.folder)
    assert (told.header.limit, told.overall.tasks) == (None, 6)  # what lies there, and not less


def test_one_process_is_at_an_evaluation(tmp_path):
    first = Evaluation(make(), scripted("empty"), Plan(decoding=DECODING, live=2), tmp_path)
    second = Evaluation(make(), scripted("empty"), Plan(decoding=DECODING), tmp_path)
    rounds = first.run()
    next(rounds)
    with pytest.raises(StateError, match="another process is evaluating"):
        next(second.run())
    assert [len(each) for each in rounds] == [2, 2]
    assert list(second.run()) == []  # what the first made meanwhile is not made again
    assert len((first.folder / RECORDS).read_text().splitlines()) == 6


@pytest.mark.parametrize(
    "change",
    [
        lambda: (make(count=5), Plan(decoding=DECODING), Model()),
        lambda: (make(), Plan(decoding=replace(DECODING, temperature=0.5)), Model()),
        lambda: (make(), Plan(decoding=DECODING, seed=1), Model()),
        lambda: (make(), Plan(decoding=DECODING), type("Other", (Model,), {"name": "other"})()),
    ],
)
def test_other_settings_are_another_evaluation(change, tmp_path):
    base, _ = played(make(), PolicyPlayer(Model()), None, tmp_path)
    suite, plan, model = change()
    other, _ = played(suite, PolicyPlayer(model), plan, tmp_path)
    assert other.folder != base.folder
    assert model.requests
    assert len(find_evaluations([tmp_path])) == 2


def test_faults_are_counted_apart_and_only_the_players_are_tried_again(tmp_path):
    suite = isolated(
        "train.suites.sums:make",
        {"count": 2, "broken": ["raise", "closed", "unknown"]},
        limits=Limits(load_s=60, call_s=5),
    )
    plan = Plan(decoding=replace(DECODING, samples=1))

    def broken(request):
        return ClientError("server is down") if request.messages[0].content[0] == "0" else None

    first, _ = played(suite, PolicyPlayer(Model(error=broken)), plan, tmp_path)
    found = figures_of(first)
    assert found.overall.faults == 3
    assert found.overall.tasks == 2
    assert found.overall.success == 0.5
    assert found.faults == {
        "policy: server is down": 1,
        "open: it is closed": 1,
        "reply: RuntimeError: two lines": 1,
    }
    model = Model()
    second, _ = played(suite, PolicyPlayer(model), plan, tmp_path)
    assert {r.messages[0].content[0] for r in model.requests} == {"0"}
    assert figures_of(second).overall.faults == 2
    model = Model()
    played(suite, PolicyPlayer(model), replace(plan, retry_faults=True), tmp_path)
    assert len(model.requests) == 1
    oracle, _ = played(suite, scripted("oracle"), plan, tmp_path)
    assert figures_of(oracle).unanswered == ("unknown",)
    suite.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_waits_for_no_call_under_way(workers, tmp_path, monkeypatch):
    busy, lines, hangs = [], [], threading.Event()
    ask, line = IsolatedSession._ask, _Child._line

    def asking(self, op, **args):
        if op == "reply" and self._task == "hang":
            busy.append(self._child)
        return ask(self, op, **args)

    def reading(self, deadline):
        if self in busy:  # what hangs is asked by now
            busy.clear()
            hangs.set()
            if workers == 1:
                raise KeyboardInterrupt
        lines.append(line(self, deadline))
        return lines[-1]

    class Interrupted(ThreadPoolExecutor):
        def map(self, act, items):
            begun = super().map(act, items)
            if items and isinstance(items[0], tuple) and items[0][0].attempt.task.id == "hang":
                assert hangs.wait(60)
                raise KeyboardInterrupt
            return begun

    monkeypatch.setattr(IsolatedSession, "_ask", asking)
    monkeypatch.setattr(_Child, "_line", reading)
    monkeypatch.setattr("spade_train.evaluate.run.ThreadPoolExecutor", Interrupted)
    limits = Limits(load_s=60, call_s=60)
    settings = {"count": 2, "broken": ["hang"]}
    suite = isolated("train.suites.sums:make", settings, limits=limits, workers=workers)
    plan = Plan(decoding=replace(DECODING, samples=1), live=2)
    evaluation = Evaluation(suite, scripted("oracle"), plan, tmp_path)
    rounds = evaluation.run()
    next(rounds)
    with pytest.raises(KeyboardInterrupt):
        next(rounds)
    assert hangs.is_set()
    assert None not in lines  # that would be a call that ran into its limit
    assert {record.task for record in read_records(evaluation.folder)} == {"0", "1"}
    with pytest.raises(SuiteError, match="stopped"):
        suite.open(suite.tasks()[0], seed=0)
    suite.close()


def test_a_player_that_never_answers_ends_the_run():
    dead = PolicyPlayer(Model(error=lambda request: ClientError("no route")))
    with pytest.raises(ClientError, match="no route"):
        played(make(), dead)


@pytest.mark.parametrize(
    "text",
    [
        "the prompt has 9000 tokens, but SmolLM2 takes 8192",
        "This model's maximum context length is 8192 tokens.",
        "vLLM gave up: The decoder prompt (length 9) is longer than the maximum model length of 8.",
    ],
)
def test_a_conversation_that_does_not_fit_is_no_fault(text):
    full = PolicyPlayer(Model(error=lambda request: ClientError(text)))
    evaluation, _ = played(make(), full)
    assert {(r.stopped, r.value, r.fault) for r in evaluation.records()} == {
        ("context", 0.25, None)
    }


def test_lengths_are_noted():
    plan = Plan(decoding=replace(DECODING, samples=1, context_tokens=13))
    evaluation, _ = played(make(), PolicyPlayer(Model(lambda messages: "no")), plan)
    record = evaluation.records()[0]
    assert (record.stopped, record.cut, record.turns) == ("context", 1, 1)
    assert (record.prompt_tokens, record.completion_tokens) == (10, 3)


def test_seeds_differ_by_task_sample_and_turn_alone():
    model = Model(lambda messages: "no")
    played(make(), PolicyPlayer(model))
    seeds = [r.seed for r in model.requests]
    assert len(set(seeds)) == len(seeds) == 24
    again = Model(lambda messages: "no")
    played(make(), PolicyPlayer(again), Plan(decoding=DECODING, live=3))
    assert sorted(r.seed for r in again.requests) == sorted(seeds)


def test_cuts_are_in_the_result_only_where_they_were_followed():
    plan = Plan(decoding=replace(DECODING, top_p=0.8, top_k=20))
    followed, _ = played(make(), PolicyPlayer(Model(), cuts=True), plan)
    ignored, _ = played(make(), PolicyPlayer(Model()), plan)
    assert followed.header.decoding["top_p"] == 0.8
    assert ignored.header.decoding["top_p"] is ignored.header.decoding["top_k"] is None
    assert followed.header.digest != ignored.header.digest


def test_transcripts_are_kept_on_request(tmp_path):
    player = function_player(lambda messages: "\ud800", name="odd")
    evaluation, _ = played(make(), player, None, tmp_path, transcripts=True)
    lines = (evaluation.folder / TRANSCRIPTS).read_text().splitlines()
    assert len(lines) == 6
    assert json.loads(lines[0])["messages"][1] == ["assistant", "\ud800"]


def test_a_damaged_record_is_told(tmp_path):
    evaluation, _ = played(make(), scripted("empty"), None, tmp_path)
    path = evaluation.folder / RECORDS
    path.write_bytes(b'{"task": 3}\n' + path.read_bytes())
    with pytest.raises(StateError, match="line 1 is no record"):
        played(make(), scripted("empty"), None, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"task":"0","group":"large","sample":0,"seed":1,"value":7.5,"success":false}',
        b'{"task":"0","group":"large","sample":0,"seed":1,"value":NaN,"success":true}',
        b'{"task":"0","group":"large","sample":0,"seed":1,"value":0.0,"success":null}',
        b'{"task":"0","group":"large","sample":-5,"seed":1,"value":0.0,"success":false}',
        b"[" * 100_000,
        b"\xff",
        b"",
    ],
)
def test_no_figure_comes_from_a_line_that_no_evaluation_wrote(line, tmp_path):
    (tmp_path / RECORDS).write_bytes(line + b"\n")
    with pytest.raises(StateError, match=r"line 1 is no record: .*; take the line out"):
        list(read_records(tmp_path))


@pytest.mark.parametrize(
    "change", ["[" * 100_000, '{"limit": -4}', '{"limit": 0}', '{"samples": 0}']
)
def test_a_damaged_header_is_told(change, tmp_path):
    evaluation, _ = played(make(), scripted("empty"), None, tmp_path)
    file = evaluation.folder / HEADER
    damaged = change.startswith("[")
    told = change if damaged else json.dumps(json.loads(file.read_text()) | json.loads(change))
    file.write_text(told)
    with pytest.raises(ConfigError, match="is damaged"):
        read_header(evaluation.folder)


def test_plans_and_players_that_cannot_be():
    for wrong in ({"limit": 0}, {"live": 0}, {"decoding": Decoding(samples=0)}):
        with pytest.raises(ConfigError):
            Plan(**wrong)
    for spec in ("python:nowhere:f", "python:json", "python:json:nothing", "nobody"):
        with pytest.raises(ConfigError):
            open_player(spec)


def test_a_folder_without_a_model_is_no_policy(tmp_path):
    with pytest.raises(ConfigError, match=r"config\.json"):
        open_player(str(tmp_path))


def test_the_same_policy_scores_the_same_as_a_function_and_through_a_server(tmp_path):
    """Acceptance: one scripted policy, called in process and asked over HTTP."""
    suite = isolated("train.suites.sums:make", {"count": 8}, limits=Limits(load_s=60))
    plan = Plan(decoding=replace(DECODING, samples=1))
    called, _ = played(suite, function_player(adder, name="adder"), plan, tmp_path)
    with serving(lambda body: adder([_message(m) for m in body["messages"]])) as server:
        asked, _ = played(
            suite, PolicyPlayer(OpenAICompatiblePolicy(server.url, "adder")), plan, tmp_path
        )
    keys = ("task", "group", "sample", "seed", "value", "success", "turns", "stopped", "fault")
    assert [[getattr(r, k) for k in keys] for r in called.records()] == [
        [getattr(r, k) for k in keys] for r in asked.records()
    ]
    assert figures_of(called).overall.success == 1.0
    assert asked.folder != called.folder
    suite.close()


def _message(found):
    return Message(found["role"], found["content"])
