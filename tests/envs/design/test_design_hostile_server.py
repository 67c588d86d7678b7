"""Servers that answer anything but what the protocol says."""

import contextlib
import json
import socket
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import httpx2
import openai
import pytest

from envs.design import chat_server
from envs.design.any_server import JSON, drip, flood, sending
from spade_envs.design.clients import bounds, open_policy
from spade_envs.design.clients.replies import MAX_REPLY_CHARS, NoReply, told
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Message

CHAT = (Message("user", "u"),)
EVENTS = "text/event-stream"


def ask(url, *, stream=True, **settings):
    policy = open_policy(f"{url}#m1", stream=stream, max_retries=0, **settings)
    return policy.complete(CHAT, seed=1, max_tokens=9, temperature=0)


def whole(message, **fields):
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return json.dumps({"choices": choices, "model": "m2", **fields}).encode()


def streamed(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def piece(content, reason="stop", **fields):
    return {
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": reason}]
    } | fields


def both(message, **fields):
    """Return one answer in both ways to send it, with the way to ask for it."""
    return (
        (EVENTS, streamed(piece(message, **fields)), True),
        (JSON, whole({"content": message}, **fields), True),
        (JSON, whole({"content": message}, **fields), False),
    )


@pytest.mark.parametrize(("kind", "body", "stream"), both("hi", usage={
    "prompt_tokens": -300, "completion_tokens": "4", "completion_tokens_details": "x",
}))  # fmt: skip
def test_counts_that_are_none_are_left_to_be_estimated(kind, body, stream):
    with sending(kind, [body]) as url:
        found = ask(url, stream=stream)
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("hi", None, None)


@pytest.mark.parametrize("count", [3.0, 1e300, True, 10**30, None, [3], -1])
def test_only_whole_numbers_that_can_be_are_counts(count):
    usage = {"prompt_tokens": count, "completion_tokens": 2}
    with sending(JSON, [whole({"content": "hi"}, usage=usage)]) as url:
        found = ask(url)
    assert (found.prompt_tokens, found.completion_tokens) == (None, 2)


@pytest.mark.parametrize(("kind", "body", "stream"), both("a\ud800b", model=7))
def test_texts_can_be_written_down_and_the_model_has_a_name(kind, body, stream):
    with sending(kind, [body]) as url:
        found = ask(url, stream=stream)
    assert (found.text, found.model) == ("a?b", "m1")


@pytest.mark.parametrize(
    ("kind", "body", "stream"), both([{"type": "text", "text": "h"}, {"type": "x"}, {"text": "i"}])
)
def test_texts_in_parts_are_joined(kind, body, stream):
    with sending(kind, [body]) as url:
        assert ask(url, stream=stream).text == "hi"


@pytest.mark.parametrize(("kind", "body", "stream"), [
    *both(5),
    *((JSON, body, stream) for stream in (True, False) for body in (
        b"[1]", b"null", b'"text"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"choices": "abc"}',
        b'{"choices": {"a": 1}}', b'{"error": {"message": "no"}}', b"",
    )),
    *((EVENTS, body, True) for body in (
        b"data: [1]\n\n", b"data: null\n\n", b'data: "x"\n\n', b"data: {\n\n",
        b"data: \xff\xfe\n\n", b"data: " + b"[" * 100_000 + b"\n\n", streamed({"choices": "abc"}),
        streamed({"choices": {"0": 1}}), streamed({"error": "boom"}),
    )),
])  # fmt: skip
def test_what_is_no_completion_is_an_error_of_the_client(kind, body, stream):
    with sending(kind, [body]) as url, pytest.raises(ClientError):
        ask(url, stream=stream)


DIGITS = b"9" * 5000  # more than Python reads as a number


@pytest.mark.parametrize(("kind", "body", "stream"), [
    (EVENTS, b'data: {"choices": [{"index": ' + DIGITS + b"}]}\n\n", True),
    *((JSON, b'{"choices": [], "created": ' + DIGITS + b"}", stream) for stream in (True, False)),
])  # fmt: skip
def test_a_number_without_an_end_ends_the_request_alone(kind, body, stream):
    with sending(kind, [body]) as url, pytest.raises(ClientError):
        ask(url, stream=stream)


def test_a_list_of_models_with_a_number_without_an_end():
    body = b'{"data": [{"id": "m", "created": ' + DIGITS + b"}]}"
    with sending(JSON, [body]) as url, pytest.raises(ClientError):
        _ = open_policy(url, max_retries=0).name


@pytest.mark.parametrize("value", [5, [], "x"])
@pytest.mark.parametrize("key", ["_fields_set", "_BaseModel__cls", "__cls", "self"])
def test_keys_that_the_sdk_takes_for_its_own_end_the_request_alone(key, value):
    inner = json.loads(whole({"content": "hi"}))
    inner["choices"][0]["message"][key] = value
    bodies = [
        *both("hi", **{key: value}),
        *((JSON, json.dumps(inner).encode(), stream) for stream in (True, False)),
    ]
    for kind, body, stream in bodies:
        with sending(kind, [body]) as url:
            try:
                assert ask(url, stream=stream).text == "hi"
            except ClientError as error:
                assert "another shape than the protocol's" in str(error)  # noqa: PT017


def test_an_odd_key_is_told_where_the_sdk_stumbles_over_it():
    told_so = pytest.raises(ClientError, match=r"another shape than the protocol's: .*'add'")
    with sending(JSON, [whole({"content": "hi"}, _fields_set=5)]) as url, told_so:
        ask(url)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("boom", "APIError: boom"),
        ({"message": "boom"}, "APIError: boom"),
        ({"message": ["boom"], "code": 7}, 'APIError: {"message": ["boom"], "code": 7}'),
        ("a\x1b[31m\n\ud800b", "APIError: a?[31m ?b"),
        ("x" * 5000, f"APIError: {'x' * 300}"),
    ],
)
def test_an_error_in_a_stream_is_told_in_the_servers_words(error, said):
    with sending(EVENTS, [streamed({"error": error})]) as url:
        with pytest.raises(ClientError) as found:
            ask(url)
        assert str(found.value) == f"{url}: {said}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "boom"}, "Error code: 400 - boom"),
        ({"detail": "no \x07such"}, "Error code: 400 - no ?such"),
        ({"error": {"message": "boom"}}, "Error code: 400 - boom"),
        ({"input": "secret"}, "Error code: 400"),
        ({"error": "<html>busy</html>"}, "Error code: 400"),
    ],
)
def test_an_error_with_a_status_is_told_in_the_servers_words(body, said):
    error = openai.OpenAI(api_key="none")._make_status_error_from_response(
        httpx2.Response(400, json=body, request=httpx2.Request("POST", "http://h/v1"))
    )
    assert told(error) == said


@pytest.mark.parametrize("stream", [True, False])
def test_a_web_page_says_that_the_url_is_wrong_and_is_asked_for_once(stream, monkeypatch):
    naps = []
    monkeypatch.setattr("tenacity.nap.time.sleep", naps.append)
    with sending("text/html", [b"<html>Chat with me</html>"]) as url:
        policy = open_policy(f"{url}#m1", stream=stream)
        with pytest.raises(ClientError, match="a web page; is the URL right"):
            policy.complete(CHAT, seed=1, max_tokens=9, temperature=0)
        with pytest.raises(ClientError, match="lists no models; is the URL right"):
            _ = open_policy(url).name
    assert naps == []


@pytest.mark.parametrize("name", ["", " ", "a\x1b]0;X\x07", "a\ud800", "a\nb", "x" * 301, 7, None])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with sending(JSON, [json.dumps({"data": [{"id": name}]}).encode()]) as url:
        with pytest.raises(ClientError, match="no usable name"):
            _ = open_policy(url).name
        if isinstance(name, str) and name:
            with pytest.raises(ConfigError, match="no name of a model"):
                open_policy(f"{url}#{name}")


@pytest.mark.parametrize("body", [b"[1]", b'"abc"', b'{"data": "abc"}', b'{"data": 1}'])
def test_a_list_of_models_that_is_none(body):
    with sending(JSON, [body]) as url, pytest.raises(ClientError, match="lists no models"):
        _ = open_policy(url, max_retries=0).name


@pytest.mark.parametrize(
    ("kind", "byte", "stream"),
    [(EVENTS, b": alive\n\n", True), (JSON, b" ", True), (JSON, b" ", False)],
)
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(kind, byte, stream):
    with sending(kind, drip(byte)) as url, pytest.raises(ClientError, match="did not end in time"):
        ask(url, stream=stream, timeout_s=0.5)


@pytest.mark.parametrize(("kind", "stream"), [(EVENTS, True), (JSON, True), (JSON, False)])
def test_a_line_without_an_end_does_not_fill_the_memory(kind, stream, monkeypatch):
    monkeypatch.setattr(bounds, "MAX_REPLY_BYTES", 100_000)
    with sending(kind, flood(b"a" * 10_000)) as url, pytest.raises(ClientError, match="100000 b"):
        ask(url, stream=stream)


def test_lines_of_a_stream_may_be_more_together(monkeypatch):
    monkeypatch.setattr(bounds, "MAX_REPLY_BYTES", 10_000)
    events = [streamed(piece("x" * 1000, None))] * 20 + [streamed(piece("", "stop"))]
    with sending(EVENTS, events) as url:
        assert len(ask(url).text) == 20_000


@pytest.mark.parametrize(("kind", "body", "stream"), both("x" * (MAX_REPLY_CHARS + 1)))
def test_a_reply_of_too_many_characters_is_none_however_it_is_sent(kind, body, stream):
    with sending(kind, [body]) as url, pytest.raises(ClientError, match="than 4000000 characters"):
        ask(url, stream=stream)


def test_compressed_answers_are_refused_since_nobody_asked_for_them():
    headers = [("Content-Encoding", "gzip")]
    with sending(JSON, [b"\x1f\x8b"], headers) as url:
        for stream in (True, False):
            with pytest.raises(ClientError, match="not asked for"):
                ask(url, stream=stream)


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1/v1", "http://a:b/v1", "http://a b/v1", "http://a:0"]
)
def test_what_is_no_url_is_wrong_usage(url):
    with pytest.raises(ConfigError, match="no URL of a server"):
        open_policy(url)


@contextmanager
def sending_raw(pieces):
    """Give the URL of a server that answers one connection with bytes that may be no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            with contextlib.suppress(OSError):
                handle, _ = listening.accept()
                with handle:
                    for data in pieces:
                        handle.sendall(data)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (OK, b"X-A: b\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (CHUNKED + b"5;", b"a"),
        (CHUNKED + b"0\r\n", b"X-A: b\r\n"),
    ],
)
def test_a_head_or_a_frame_that_trickles_on_is_given_up(begins, goes_on):
    def pieces():
        yield begins
        yield from drip(goes_on)

    with sending_raw(pieces()) as url, pytest.raises(ClientError, match="did not end in time"):
        ask(url, timeout_s=0.3)


@pytest.mark.parametrize("status", [302, 307])
def test_a_server_that_sends_on_and_on_gets_no_more_time(status, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bounds, "time", SimpleNamespace(monotonic=lambda: now[0]))
    sent = []

    def answer(request):
        sent.append(request)
        now[0] += 4
        return httpx2.Response(status, headers={"Location": "/again"})

    both_hooks = bounds.Bounds(10.0)
    client = httpx2.Client(
        transport=httpx2.MockTransport(answer), event_hooks=both_hooks.hooks, follow_redirects=True
    )
    with pytest.raises(NoReply, match="in time"):
        client.post("http://x/v1", content=b"{}")
    assert len(sent) == 3
    now[0] += 100
    with pytest.raises(NoReply, match="in time"):
        client.post("http://x/v1", content=b"{}")
    assert len(sent) == 6


def test_a_head_without_an_end_is_given_up_at_once(monkeypatch):
    monkeypatch.setattr(bounds, "MAX_HEAD_BYTES", 20_000)
    notes = flood(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
    with sending_raw(notes) as url, pytest.raises(ClientError, match="head of its reply is longer"):
        ask(url)


def test_a_connection_that_is_used_again_begins_a_new_time(monkeypatch):
    monkeypatch.setattr(chat_server.Handler, "protocol_version", "HTTP/1.1")
    now, connections = [0.0], []
    monkeypatch.setattr(bounds, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with chat_server.serving() as server:
        server.verify_request = lambda *peer: connections.append(peer) or True
        policy = open_policy(f"{server.url}#m1", stream=False, timeout_s=30.0, max_retries=0)
        for seed in (1, 2):
            now[0] += 40
            found = policy.complete(CHAT, seed=seed, max_tokens=9, temperature=0)
            assert found.text == f"seed {seed}"
    assert len(connections) == 1


def test_what_an_error_says_is_read_even_if_it_comes_late():
    def hook(status, timeout_s):
        body = httpx2.ByteStream(b"why")
        request = httpx2.Request("POST", "http://x")
        response = httpx2.Response(status, stream=body, request=request)
        both_hooks = bounds.Bounds(timeout_s)
        both_hooks.asking(request)
        both_hooks.answered(response)
        return response

    assert hook(401, -1.0).read() == b"why"
    with pytest.raises(NoReply, match="in time"):
        hook(200, -1.0).read()
