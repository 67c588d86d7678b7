"""A server of the OpenAI chat protocol that answers from a function, with faults on order."""

import json
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("429", "500", "truncated", "hanging")


class ChatServer(ThreadingHTTPServer):
    """Answers each chat with `answer(request)`: a text, or a whole message as a mapping.

    `fault(number, request)` names what goes wrong with the n-th request, or None: a status, such as
    "429" (with Retry-After), "truncated" (the connection closes midway), "hanging" (silence).
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer, fault=lambda number, request: None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.fault = answer, fault
        self.models = ["m1"]
        self.counts_usage = True
        self.delay_s = self.retry_after = 0
        self.asked, self.answered = [], []
        self.faults: Counter = Counter()
        self.in_flight = self.most_in_flight = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request, client_address):
        pass  # clients are killed on purpose


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        data = [{"id": name, "object": "model"} for name in self.server.models]
        self._send(200, {"object": "list", "data": data})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            number = len(server.asked)
            server.asked.append(request)
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
        try:
            self._reply(request, server.fault(number, request))
        finally:
            with server.lock:
                server.in_flight -= 1

    def _reply(self, request, fault):
        server = self.server
        if fault:
            with server.lock:
                server.faults[fault] += 1
        if fault and fault.isdigit():
            body = {"error": {"message": "no luck", "type": "x", "code": None, "param": None}}
            self._send(int(fault), body)
            return
        if fault == "hanging":
            with server.lock:
                server.in_flight -= 1  # its client will have gone long before this ends
            server.closing.wait(30)
            with server.lock:
                server.in_flight += 1
            return
        time.sleep(server.delay_s)
        answer = server.answer(request)
        message = answer if isinstance(answer, dict) else {"content": answer}
        if request.get("stream"):
            self._stream(request, message, fault)
        else:
            self._whole(request, message, fault)
        if not fault:
            with server.lock:
                server.answered.append(request)

    def _usage(self, message):
        written = len(message.get("content") or "") // 4
        return {"prompt_tokens": 5, "completion_tokens": written, "total_tokens": 5 + written}

    def _whole(self, request, message, fault):
        reason = message.pop("finish_reason", "stop")
        choices = [{"index": 0, "message": message | {"role": "assistant"}}]
        choices[0]["finish_reason"] = reason
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": request["model"]}
        body |= {"choices": [] if fault == "empty" else choices}
        if self.server.counts_usage:
            body["usage"] = self._usage(message)
        self._send(200, body, cut=fault == "truncated")

    def _stream(self, request, message, fault):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        reason = message.pop("finish_reason", "stop")
        usage = self._usage(message) if self.server.counts_usage else None
        for field, text in message.items():
            half = len(text) // 2
            self._event(request, {field: text[:half]})
            if fault == "truncated":
                self.close_connection = True
                return
            self._event(request, {field: text[half:]})
        if fault != "empty":
            self._event(request, {}, reason)
        if usage and request.get("stream_options", {}).get("include_usage"):
            self._event(request, None, usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, request, delta, reason=None, **fields):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        body = {"id": "1", "object": "chat.completion.chunk", "created": 1} | fields
        body |= {"model": request["model"], "choices": choices}
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")
        self.wfile.flush()

    def _send(self, status, body, cut=False):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", str(self.server.retry_after))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = cut

    def log_message(self, *args):
        pass


@contextmanager
def serving(answer=None, fault=lambda number, request: None):
    """Give a running server; without `answer` it says the seed."""
    server = ChatServer(answer or (lambda request: f"seed {request['seed']}"), fault)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
