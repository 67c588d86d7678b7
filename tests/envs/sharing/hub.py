"""A stand-in for the part of the Hub's HTTP API that sharing needs, on a port of this machine."""

import base64
import contextlib
import hashlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hub:
    """Data sets by name, each a list of commits; a commit is its files by path."""

    def __init__(self):
        self.sets = {}
        self.private = {}
        self.lock = threading.Lock()
        self.before_commit = []
        self.proposed = set()
        """Commits, by name and number, that are on no branch."""

    def sha(self, name, number=-1):
        commits = self.sets[name]
        number %= len(commits)
        return hashlib.sha1(f"{name} {number} {sorted(commits[number])}".encode()).hexdigest()

    def at(self, name, revision):
        if revision == "main":
            return self.sets[name][-1]
        for number, files in enumerate(self.sets[name]):
            if self.sha(name, number) == revision:
                return files
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, status, data=b"", **headers):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _missing(self, code):
        self._answer(404, {"error": code}, X_Error_Code=code)

    def _words(self):
        path = urllib.parse.urlsplit(self.path).path
        return [urllib.parse.unquote(word) for word in path.strip("/").split("/")]

    def do_GET(self):
        hub, words = self.server.hub, self._words()
        api = words[0] == "api"
        name = "/".join(words[2:4] if api else words[1:3])
        if name not in hub.sets:
            return self._missing("RepoNotFound")
        if api and words[4:5] in ([], ["revision"]):
            wanted = words[5] if words[5:] else "main"
            if hub.at(name, wanted) is None:
                return self._missing("RevisionNotFound")
            sha = hub.sha(name) if wanted == "main" else wanted
            return self._answer(200, {"id": name, "sha": sha})
        if api and words[4] == "commits":
            made = [
                {"id": hub.sha(name, number), "title": "", "message": "", "authors": [],
                 "date": "2026-01-01T00:00:00.000Z"}
                for number in range(len(hub.sets[name]))
                if (name, number) not in hub.proposed
            ]  # fmt: skip
            return self._answer(200, made, Content_Type="application/json")
        files = hub.at(name, words[5] if api else words[4])
        if files is None:
            return self._missing("RevisionNotFound")
        if api:
            listed = [
                {"type": "file", "path": path, "size": len(data), "oid": _oid(data)}
                for path, data in sorted(files.items())
            ]
            return self._answer(200, listed, Content_Type="application/json")
        path = "/".join(words[5:])
        if path not in files:
            return self._missing("EntryNotFound")
        etag = f'"{_oid(files[path])}"'
        return self._answer(200, files[path], ETag=etag, X_Repo_Commit=words[4])

    do_HEAD = do_GET

    def do_POST(self):
        hub, words = self.server.hub, self._words()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if words == ["api", "repos", "create"]:
            made = json.loads(body)
            name = f"{made.get('organization') or 'me'}/{made['name']}"
            hub.sets.setdefault(name, [{".gitattributes": b"*.bin filter=lfs\n"}])
            hub.private[name] = made.get("private") or made.get("visibility") == "private"
            host = self.headers["Host"]
            return self._answer(200, {"url": f"http://{host}/datasets/{name}", "name": name})
        name = "/".join(words[2:4])
        if words[4] == "preupload":
            asked = json.loads(body)["files"]
            modes = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in asked
            ]
            return self._answer(200, {"files": modes})
        lines = [json.loads(line) for line in body.splitlines()]
        while hub.before_commit:
            hub.before_commit.pop()()
        with hub.lock:
            head = next(line["value"] for line in lines if line["key"] == "header")
            if head.get("parentCommit", hub.sha(name)) != hub.sha(name):
                return self._answer(412, {"error": "A commit has happened since."})
            files = dict(hub.sets[name][-1])
            for line in lines:
                if line["key"] == "file":
                    files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            hub.sets[name].append(files)
        url = f"http://{self.headers['Host']}/datasets/{name}/commit/{hub.sha(name)}"
        return self._answer(200, {"commitUrl": url, "commitOid": hub.sha(name), "success": True})


def _oid(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextlib.contextmanager
def running(monkeypatch, tmp_path):
    """Let huggingface_hub speak to a hub of our own, and give it."""
    from huggingface_hub import constants

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.hub = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    try:
        yield server.hub
    finally:
        server.shutdown()
        server.server_close()
