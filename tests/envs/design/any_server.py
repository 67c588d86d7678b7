"""A server that answers everything with the same bytes, whatever they are."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/json"


@contextmanager
def sending(kind, pieces, headers=()):
    """Give the URL of a server that answers everything with these bytes, a pause before each."""
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in pieces:
                    if closing.is_set():
                        return
                    self.wfile.write(piece)
            except OSError:
                pass  # the client has gone

        do_POST = do_GET

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def drip(byte):
    while True:
        time.sleep(0.02)
        yield byte


def flood(data):
    while True:
        yield data
