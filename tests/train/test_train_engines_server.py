"""The engine of vLLM servers against stand-ins that speak their protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from spade_train.engines.base import SampleRequest
from spade_train.engines.server import ServerEngine
from spade_train.errors import EngineError


class StandIn(ThreadingHTTPServer):
    """Answers a prompt with its tokens backwards; knows what it loaded and was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict] = []
        self.loaded: list[str] = []
        self.folder = ""
        self.emptied = 0
        self.broken: list[int] = []  # statuses of the next answers to completions
        self.extension = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, body: dict) -> tuple[int, object]:
        if path == "/v1/models":
            return 200, {"data": [{"id": "policy"}]}
        if path == "/reset_prefix_cache":
            self.emptied += 1
            return 200, None
        if path == "/collective_rpc":
            if not self.extension:
                return 500, {"error": "no such method"}
            if body["method"] == "spade_load_folder":
                self.folder = body["args"][0]
                self.loaded.append(self.folder)
            return 200, {"results": [{"folder": self.folder}]}
        if self.broken:
            return self.broken.pop(0), {"error": "out of order"}
        self.asked.append(body)
        ids = body["prompt"][::-1]
        logprobs = {"token_logprobs": [-i / 8 for i in ids]}
        return 200, {"choices": [{"token_ids": ids, "logprobs": logprobs}]}


class Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]) or 0) or "{}"))

    def _reply(self, body: dict) -> None:
        status, answer = self.server.answer(self.path, body or {})
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def stand_in() -> Iterator[StandIn]:
    with StandIn() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Seat:
    """One of the processes of a world that trains together, as a thread."""

    def __init__(self, rank: int, size: int, board: list, barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, size
        self._board, self._barrier = board, barrier

    def gather(self, value: object) -> list:
        self._board[self.rank] = value
        self._barrier.wait(timeout=20)
        seen = list(self._board)
        self._barrier.wait(timeout=20)
        return seen


def request(key: str, *ids: int, seed: int = 0) -> SampleRequest:
    return SampleRequest(key=key, ids=ids, seed=seed, max_tokens=8, temperature=0.6, top_k=20)


@pytest.fixture
def model() -> torch.nn.Module:
    return torch.nn.Linear(2, 3)


def test_conversations_keep_their_server_and_order(model, tmp_path: Path) -> None:
    with stand_in() as one, stand_in() as two:
        engine = ServerEngine(model, [one.url, two.url + "/v1"], {7, 3}, folder=tmp_path)
        engine.sync(0)
        keys = [f"episode-{i}" for i in range(20)]
        first = engine.sample([request(key, 1, 2, 30 + i) for i, key in enumerate(keys)])
        at_one = {body["prompt"][-1] for body in one.asked}
        engine.sample([request(key, 1, 2, 30 + i, 9) for i, key in enumerate(keys)])
        engine.close()
        again_at_one = {body["prompt"][2] for body in one.asked if len(body["prompt"]) == 4}
    assert [turn.ids for turn in first] == [(30 + i, 2, 1) for i in range(20)]
    assert first[4].logprobs == (-34 / 8, -2 / 8, -1 / 8)
    assert again_at_one == at_one
    assert 0 < len(at_one) < 20
    body = one.asked[0]
    assert body["stop_token_ids"] == [3, 7]
    assert body["ignore_eos"] is True
    assert (body["temperature"], body["top_k"], body["logprobs"]) == (0.6, 20, 0)
    assert body["model"] == "policy"


def test_weights_reach_every_server_and_old_ones_go(model, tmp_path: Path) -> None:
    with stand_in() as one, stand_in() as two:
        engine = ServerEngine(model, [one.url, two.url], {1}, folder=tmp_path)
        with pytest.raises(EngineError, match="sync it first"):
            engine.sample([request("a", 1)])
        engine.sync(4)
        with torch.no_grad():
            model.weight.fill_(2.5)
        engine.sync(5)
        assert one.loaded == two.loaded == [str(tmp_path / f"update-00000{n}") for n in (4, 5)]
        assert one.emptied == 2
        assert [path.name for path in tmp_path.iterdir()] == ["update-000005"]
        written = load_file(tmp_path / "update-000005" / "model-00000.safetensors")
        assert written["weight"].tolist() == [[2.5, 2.5]] * 3
        engine.close()
        engine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_restarted_server_gets_the_weights_before_it_is_asked_again(model, tmp_path) -> None:
    with stand_in() as server:
        engine = ServerEngine(model, [server.url], {1}, folder=tmp_path, pause_s=0.01)
        engine.sync(0)
        server.broken = [503]
        server.folder = ""  # as after a restart
        turns = engine.sample([request("a", 4, 5)])
        assert turns[0].ids == (5, 4)
        assert server.loaded == [str(tmp_path / "update-000000")] * 2
        engine.close()


def test_a_server_that_stays_away_is_one_clear_error(model, tmp_path: Path) -> None:
    with stand_in() as server:
        engine = ServerEngine(model, [server.url], {1}, folder=tmp_path, retries=2, pause_s=0.01)
        engine.sync(0)
        server.broken = [503] * 3
        with pytest.raises(EngineError, match=r"completions answers 503.*3 times in a row"):
            engine.sample([request("a", 4), request("b", 5)][:1])
        server.broken = [400]
        with pytest.raises(EngineError, match="answers 400"):
            engine.sample([request("a", 4)])
        url = server.url
    with pytest.raises(EngineError, match="gives no answer"):
        engine.sample([request("a", 4)])
    engine.close()
    with pytest.raises(EngineError, match="gives no answer"):
        ServerEngine(model, [url], {1}, folder=tmp_path)


def test_a_server_without_the_extension_is_refused_with_the_mend(model, tmp_path: Path) -> None:
    with stand_in() as server:
        server.extension = False
        with pytest.raises(EngineError, match="--worker-extension-cls"):
            ServerEngine(model, [server.url], {1}, folder=tmp_path)


def test_ranks_with_unequal_shares_get_their_own_turns(model, tmp_path: Path) -> None:
    """Two processes ask for 3 conversations in one call and for 4 in four: nothing mixes."""
    board: list = [None, None]
    barrier = threading.Barrier(2)
    turns: dict[int, list] = {}

    def work(rank: int, url: str) -> None:
        seat = Seat(rank, 2, board, barrier)
        engine = ServerEngine(model, [url], {1}, folder=tmp_path, world=seat)
        engine.sync(0)
        calls = [3] if rank == 0 else [1, 1, 1, 1]
        turns[rank] = [
            turn.ids
            for call, count in enumerate(calls)
            for turn in engine.sample([request(f"{rank}-{i}", rank, call, i) for i in range(count)])
        ]
        engine.close()

    with stand_in() as server:
        threads = [threading.Thread(target=work, args=(rank, server.url)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(server.loaded) == 1  # the main process alone hands over
    assert turns == {
        0: [(0, 0, 0), (1, 0, 0), (2, 0, 0)],
        1: [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 1)],
    }


def test_what_goes_wrong_in_the_main_process_is_an_error_in_all(model, tmp_path: Path) -> None:
    board: list = [None, None]
    barrier = threading.Barrier(2)
    problems: dict[int, str] = {}
    (tmp_path / "file").write_text("in the way")

    def work(rank: int, url: str) -> None:
        seat = Seat(rank, 2, board, barrier)
        engine = ServerEngine(model, [url], {1}, folder=tmp_path / "file", world=seat)
        with pytest.raises(EngineError) as caught:
            engine.sync(3)
        problems[rank] = str(caught.value)

    with stand_in() as server, ExitStack() as stack:
        threads = [threading.Thread(target=work, args=(rank, server.url)) for rank in (0, 1)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join, 30)
    assert problems[0] == problems[1]
    assert "weights of update 3 cannot be handed over" in problems[0]
