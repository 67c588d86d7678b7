"""Malicious stores: none places a byte outside the quarantine, none runs code, each is told why."""

import re
from dataclasses import replace

import pytest

from envs.store.kit import report_of
from envs.trust.kit import (
    TOMBSTONE,
    Fake,
    canary,
    edited,
    good,
    pull,
    raw,
    take,
    tree,
    with_report,
)
from spade_envs.manifest.canonical import canonical_json, encode_report, parse_json
from spade_envs.trust.incoming import Entry
from spade_envs.trust.settings import allow_signer
from spade_envs.trust.signatures import Signer, sign
from spade_envs.types import EnvSource, GateResult

# What a path may not be. The file holds a canary; a sound version lies beside it.
PATHS = {
    "up and out": ("envs/maze/v0/../../../../evil.py", "'..'"),
    "absolute": ("/etc/cron.d/evil", "not relative"),
    "home": ("~/.bashrc", "not relative"),
    "backslashes": ("envs\\maze\\v0\\env.py", "backslash"),
    "drive": ("C:/evil.py", "not relative"),
    "nul": ("envs/maze/v0/env.py\0.txt", r"U\+0000"),
    "newline": ("envs/maze/v0/env\n.py", r"U\+000A"),
    "terminal escape": ("envs/\x1b[2Jmaze/v0/env.py", r"U\+001B"),
    "here": ("./envs/maze/v0/env.py", "'.'"),
    "empty part": ("envs//maze/v0/env.py", "a part is empty"),
    "upper-case name": ("envs/Maze/v0/env.py", "no upper-case names"),
    "upper-case file": ("envs/maze/v0/ENV.PY", "differs from 'env.py' in case"),
    "upper-case top": ("Envs/maze/v0/env.py", "differs from 'envs' in case"),
    "upper-case marker": ("envstore.JSON", "differs from 'ENVSTORE.json' in case"),
    "reserved name": ("envs/con/v0/env.py", "reserve"),
    "reserved owner": ("envs/aux.maze/v0/env.py", "reserve"),
    "Cyrillic": ("envs/m\u0430ze/v0/env.py", "CYRILLIC SMALL LETTER A"),
    "full width": ("envs/\uff4daze/v0/env.py", "FULLWIDTH LATIN SMALL LETTER M"),
    "zero width": ("envs/ma\u200dze/v0/env.py", "ZERO WIDTH JOINER"),
    "right to left": ("envs/ma\u202eez/v0/env.py", "RIGHT-TO-LEFT OVERRIDE"),
    "lone surrogate": ("envs/ma\udc80ze/v0/env.py", r"U\+DC80"),
    "dot at an end": ("envs/maze./v0/env.py", "dot at an end"),
    "space at an end": ("envs/maze /v0/env.py", "space or dot"),
    "second stream": ("envs/maze/v0/env.py:evil", "colon"),
    "leading zero": ("envs/maze/v00/env.py", "for a version"),
    "negative version": ("envs/maze/v-1/env.py", "for a version"),
    "huge version": ("envs/maze/v99999999999999999999/env.py", "for a version"),
    "version in a name": ("envs/maze-v1/v0/env.py", r"must not end in -v"),
    "long name": (f"envs/{'m' * 81}/v0/env.py", "longer than 80"),
    "long path": ("envs/maze/v0/" + "e" * 300, "longer than 240"),
    "folder in a version": ("envs/maze/v0/inner/env.py", "no file of a version"),
    "build script": ("envs/maze/v0/setup.py", "does not belong into the folder of a version"),
    "pickle in a version": ("envs/maze/v0/env.pkl", "does not belong into the folder of a version"),
    "test plug-in": ("conftest.py", "does not belong into an envstore"),
    "path hook": ("evil.pth", "does not belong into an envstore"),
    "git hook": (".git/hooks/post-checkout", "own files are no part of a store"),
    "FAISS file": (".cache/memory/x/index.faiss", "caches and indexes of another machine"),
    "pickle in the cache": (".cache/behaviour.pkl", "caches and indexes of another machine"),
    "staged version": (".staging/abc/new/env.py", "half-written"),
    "quarantined": ("quarantine/abcdef012345/0.data", "not shared"),
}


@pytest.fixture
def spot(tmp_path):
    return tmp_path / "canary"


@pytest.fixture(params=["pull", "the checks alone"])
def way(request):
    """How a store is taken: as users pull, or by the checks of `trust` in the plainest order."""
    return {"pull": pull, "the checks alone": take}[request.param]


def attack(way, remote, store, spot, said):
    """Pull a hostile remote beside whose bad things lies a sound version, and look at all of it."""
    remote.put(good("fine"), "fine")
    place = store.root.parent
    before = tree(place)
    told = way(remote, store)
    assert any(re.search(said, each) for each in told), told
    assert not spot.exists(), "something ran"
    new = {path for path, data in tree(place).items() if before.get(path) != data}
    allowed = ("store/envs/fine/v0/", "store/quarantine/", "store/index.jsonl",
               "store/CATALOG.md", "home/state/spade-envs/trust/")  # fmt: skip
    assert [path for path in new if not path.startswith(allowed)] == []
    kept = [path for path in new if path.startswith("store/quarantine/")]
    assert all(re.fullmatch(r"store/quarantine/\w{12}/(\d+\.data|refused\.json)", p) for p in kept)
    assert "spade/fine-v0" in {record.id for record in store.records()}
    assert not {r.id for r in store.records()} & {"spade/maze-v0"}


@pytest.mark.parametrize("case", PATHS)
def test_a_bad_path_is_neither_fetched_nor_written(case, way, store, spot):
    path, said = PATHS[case]
    remote = Fake()
    remote.files[path] = canary(spot).encode()
    attack(way, remote, store, spot, said)
    assert path not in remote.fetched


def linked(path, kind):
    def build(spot):
        remote = Fake().put(good(code=canary(spot)))
        remote.files.setdefault(path, b"/etc/passwd")
        remote.kinds[path] = kind
        return remote

    return build


def sized(size):
    def build(spot):
        remote = Fake().put(good(code=canary(spot)))
        remote.sizes["envs/maze/v0/env.py"] = size
        return remote

    return build


def longer(spot):
    remote = Fake().put({**good(), "env.py": b"#" * (3 << 20)})
    remote.sizes["envs/maze/v0/env.py"] = 24
    return remote


def twice(spot):
    remote = Fake().put(good(code=canary(spot)))
    remote.more.append(Entry("envs/maze/v0/env.py", 10))
    return remote


def without(name):
    def build(spot):
        files = good(code=canary(spot))
        del files[name]
        return Fake().put(files)

    return build


LISTINGS = {
    "source is a link": (linked("envs/maze/v0/env.py", "link"), "is a link"),
    "folder is a link": (linked("envs/maze", "link"), "lies below envs/maze"),
    "source is a device": (linked("envs/maze/v0/env.py", "other"), "no ordinary file"),
    "ten terabytes": (sized(10 << 40), "at most 1048576 are taken"),
    "negative size": (sized(-1), "which is none"),
    "size is text": (sized("9" * 5000), "which is none"),
    "longer than it says": (longer, "differs from its manifest|more than 24 bytes"),
    "listed twice": (twice, "is listed twice|differs from its manifest|more than 10 bytes"),
    "no manifest": (without("manifest.json"), "lacks manifest.json"),
    "no source": (without("env.py"), "lacks env.py"),
    "no report": (without("report.json"), "lacks report.json"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_listing_that_lies_is_told(case, way, store, spot):
    build, said = LISTINGS[case]
    attack(way, build(spot), store, spot, said)


def set_key(*path, to):
    """Return a change of a manifest that seals it anew."""

    def change(files):
        def act(manifest):
            inner = manifest
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = to

        return edited(files, act)

    return change


def file(name, data):
    return lambda files: {**files, name: data}


def patched(old, new):
    return lambda files: raw(files, old, new)


def report(**changes):
    """Return a forged certificate that the manifest vouches for."""

    def change(files):
        source = EnvSource(code=files["env.py"].decode())
        return with_report(files, encode_report(replace(report_of(source), **changes)))

    return change


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    return {"model": "m", "revision": None, "sampling": {"deep": value}}


def unsealed(files):
    return {**files, "manifest.json": files["manifest.json"].replace(b"A maze", b"A trap")}


def failing():
    return (GateResult(gate="L1.1", title="t", outcome="fail", message="no", evidence={}),)


SEED = b'"seed": null'
MAZE = b'"title": "A maze"'
CONTENTS = {
    "source exchanged": (file("env.py", b"class MazeEnv:\n    evil = 1\n"), "differs from its man"),
    "source of the same size": (
        lambda f: {**f, "env.py": f["env.py"].replace(b"ran", b"RAN")},
        "differs from its manifest",
    ),
    "digest forged": (set_key("digest", to="sha256:" + "0" * 64), "digest does not belong"),
    "hash forged": (set_key("files", "env.py", "sha256", to="0" * 64), "digest does not belong"),
    "interface forged": (set_key("interface", "levels", to=9), "digest does not belong"),
    "report exchanged": (file("report.json", b"{}\n"), "differs from its manifest"),
    "certificate of a failure": (report(results=failing()), "does not admit the source"),
    "certificate of another source": (report(source_sha256="0" * 64), "belongs to another source"),
    "certificate without verdicts": (report(results=()), "holds no gate's verdict"),
    "certificate of gates to come": (report(gates_version="99"), "names version '99'"),
    "certificate cut short": (report(complete=False), "does not admit the source"),
    "certificate of a weak worker": (report(layers=("weakened: x",)), "weakened worker"),
    "certificate of other figures": (
        set_key("report", "measured", to={"L3.1": {"floor": 1.0}}),
        "measured other figures",
    ),
    "certificate lacks gates": (report(gates_version="CURRENT"), "lacks the verdicts of"),
    "id of another": (set_key("id", to="spade/fine-v0"), "the folder belongs to spade/maze-v0"),
    "id of another version": (set_key("id", to="spade/maze-v1"), "the folder belongs to"),
    "id in disguise": (set_key("id", to="spade/m\u0430ze-v0"), "the folder belongs to"),
    "id that leads out": (set_key("id", to="spade/../maze-v0"), "the folder belongs to"),
    "file outside": (
        set_key("files", to={"../../evil.py": {"sha256": "0" * 64, "size": 1}}),
        "files must name env.py",
    ),
    "second file": (
        lambda f: set_key(
            "files",
            to={n: {"sha256": "0" * 64, "size": 1} for n in ("env.py", "setup.py")},
        )(f),
        "files must name env.py",
    ),
    "unknown key": (set_key("install", to="pip install evil"), "unknown keys install"),
    "unknown key inside": (set_key("provenance", "hook", to="evil"), "hook"),
    "format to come": (set_key("format", to=2), "has format 2"),
    "format is true": (set_key("format", to=True), "format|Expected"),
    "seal broken": (unsealed, "seal is broken"),
    "duplicate key": (patched(MAZE, MAZE + b',\n  "title": "B"'), "given twice"),
    "NaN": (patched(SEED, b'"seed": NaN'), "NaN is not a JSON number"),
    "infinity": (patched(SEED, b'"seed": -Infinity'), "Infinity is not a JSON number"),
    "number beyond floats": (patched(SEED, b'"seed": 1e999'), "JSON"),
    "number of 5000 digits": (patched(SEED, b'"seed": ' + b"9" * 5000), "not valid JSON"),
    "nested 70 deep": (lambda f: deep(f, 70), "nested deeper"),
    "nested 100,000 deep": (lambda f: deep(f, 100_000), "not valid JSON"),
    "not UTF-8": (patched(b"A maze", b"A m\xffze"), "not valid JSON"),
    "byte order mark": (lambda f: before(f, b"\xef\xbb\xbf"), "JSON"),
    "UTF-16": (
        lambda f: {**f, "manifest.json": f["manifest.json"].decode().encode("utf-16")},
        "JSON",
    ),
    "spaces for bytes": (lambda f: before(f, b" "), "canonical|seal is broken"),
    "a list": (file("manifest.json", b"[]\n"), "manifest.json"),
    "nothing": (file("manifest.json", b""), "not valid JSON"),
    "manifest of 2 MB": (lambda f: before(f, b" " * (2 << 20)), "at most 1048576 are taken"),
    "report of 17 MB": (file("report.json", b" " * (17 << 20)), "at most 16777216 are taken"),
    "report nested deep": (
        lambda f: with_report(f, b"[" * 100_000 + b"]" * 100_000 + b"\n"),
        "not valid JSON",
    ),
    "title with escapes": (set_key("title", to="\x1b[2Jmaze"), "title"),
    "title of blanks": (set_key("title", to="\u3164\u2800"), "title with characters"),
    "title with a blank": (set_key("title", to="maze \u2800 x"), "title with characters"),
    "title of variants": (set_key("title", to="\u2665\ufe01\ufe01"), "title with characters"),
    "title with a digit's variant": (set_key("title", to="maze 1\ufe0f"), "title with characters"),
    "title with a variant": (set_key("title", to="maz\ufe0fe"), "title with characters"),
    "title right to left": (set_key("title", to="maze \u202e3pm.exe"), "title with characters"),
    "licence that cannot be seen": (set_key("licence", to="MIT\u200b"), "licence with characters"),
    "card with escapes": (file("CARD.md", b"# Maze\x1b]0;evil\x07\n"), "CARD.md with characters"),
    "card that is no text": (file("CARD.md", b"\x80\x04pickle"), "CARD.md that is not UTF-8"),
    "tombstone that is none": (
        file("WITHDRAWN.json", b"{}\n"),
        "WITHDRAWN.json|was withdrawn there",
    ),
    "tombstone with a key more": (
        file("WITHDRAWN.json", canonical_json({"at": "x", "reason": "y", "run": "evil"})),
        "WITHDRAWN.json|was withdrawn there",
    ),
    "signature that is none": (file("manifest.json.sig", b"trust me\n"), "no SSH signature"),
}


def deep(files, depth):
    line = b'"sampling": ' + b"[" * depth + b"]" * depth
    made = set_key("provenance", "designer", to={"model": "m", "sampling": {}})(files)
    return raw(made, b'"sampling": {}', line.replace(b": [", b': {"x": [', 1) + b"}")


def before(files, data):
    return {**files, "manifest.json": data + files["manifest.json"]}


@pytest.mark.parametrize("case", CONTENTS)
def test_bad_contents_are_refused_and_kept_as_data(case, way, store, spot):
    change, said = CONTENTS[case]
    if case == "certificate lacks gates":
        from spade_envs.gates import GATES_VERSION

        change = report(gates_version=GATES_VERSION)
    attack(way, Fake().put(change(good(code=canary(spot)))), store, spot, said)


# Signatures


def signed(files, key, over=None):
    return {**files, "manifest.json.sig": sign(over or files["manifest.json"], key)}


@pytest.mark.parametrize("case", ["over another manifest", "cut", "for something else"])
def test_a_forged_signature_is_refused_whoever_made_it(case, way, store, spot, keys, public):
    allow_signer(Signer("alice", public["alice"]))
    files = good(code=canary(spot))
    if case == "over another manifest":
        files = signed(files, keys["alice"], good("other")["manifest.json"])
    elif case == "cut":
        files = signed(files, keys["alice"])
        files["manifest.json.sig"] = files["manifest.json.sig"].replace(b"\nA", b"\nB", 1)[:-60]
    else:
        import subprocess

        made = subprocess.run(
            ["ssh-keygen", "-Y", "sign", "-q", "-n", "git", "-f", str(keys["alice"])],
            input=files["manifest.json"],
            capture_output=True,
            check=True,
        )
        files["manifest.json.sig"] = made.stdout
    attack(way, Fake().put(files), store, spot, "does not belong to this manifest")


def test_where_signatures_are_required_nothing_else_comes_in(way, store, spot, keys, public, home):
    allow_signer(Signer("alice", public["alice"]))
    path = home / "config/spade-envs/trust.toml"
    path.write_text("require_signatures = true\n" + path.read_text())
    remote = Fake().put(signed(good(code=canary(spot)), keys["mallory"]))
    remote.put(signed(good("fine"), keys["alice"]), "fine").put(good("plain"), "plain")
    told = way(remote, store)
    assert {record.id for record in store.records()} == {"spade/fine-v0"}
    assert any("maze-v0 is signed with SHA256:" in each for each in told)
    (plain,) = [each for each in told if "plain-v0 has no signature" in each]
    assert "ask its maker to sign it" in plain
    assert "trust add" not in plain  # nobody signed it, so there is nobody to allow
    assert not spot.exists()


# What a remote said before


def now(files, name="maze", version=0, **more):
    remote = Fake().put(files, name, version)
    for path, data in more.items():
        remote.files[path] = data
    return remote


def lines(code):
    return f"class MazeEnv:\n    made = {code}\n"


HISTORIES = {
    "content replaced": (
        [now(good())],
        lambda spot: now(good(code=canary(spot))),
        "its content was replaced",
    ),
    "withdrawn and replaced": (
        [now({**good(), "WITHDRAWN.json": TOMBSTONE})],
        lambda spot: now(good(code=canary(spot))),
        "its content was replaced",
    ),
    "withdrawal undone": (
        [now({**good(), "WITHDRAWN.json": TOMBSTONE})],
        lambda spot: now(good()),
        "was withdrawn at this remote and is offered again",
    ),
    "an older state": (
        [now(good()).put(good(version=2, code=lines(2)), version=2)],
        lambda spot: now(good()),
        "an older state",
    ),
    "an older certificate": (
        [now(good(gates_version="2", licence="Apache-2.0"))],
        lambda spot: now(good()),
        "has an older one",
    ),
}


@pytest.mark.parametrize("case", HISTORIES)
def test_a_remote_that_takes_back_what_it_said_is_caught(case, way, store, spot):
    earlier, build, said = HISTORIES[case]
    for remote in earlier:
        way(remote, store)
    held = {record.id: record for record in store.records()}
    later = build(spot).put(good("fine"), "fine")
    told = way(later, store)
    assert any(re.search(said, each) for each in told), told
    assert not spot.exists()
    assert {record.id: record for record in store.records() if record.id in held} == held


def test_a_million_bad_paths_are_told_in_few_lines(way, store, spot):
    remote = Fake()
    remote.files |= {f"evil{number}.py": b"" for number in range(3000)}
    told = way(remote.put(good("fine"), "fine"), store)
    assert len(told) == 101
    assert any("lists 2900 more bad paths" in each for each in told)


def test_there_are_more_than_forty_of_them():
    assert len(PATHS) + len(LISTINGS) + len(CONTENTS) + len(HISTORIES) + 4 > 100


def test_what_is_kept_says_what_it_was(way, store, spot):
    way(Fake().put({**good(code=canary(spot)), "env.py": b"evil\n"}), store)
    (folder,) = (store.root / "quarantine").iterdir()
    note = parse_json((folder / "refused.json").read_bytes(), "note")
    assert note["where"] == "spade/maze-v0"
    assert "differs from its manifest" in note["reason"]
    kept = {each["name"]: each["kept_as"] for each in note["files"]}
    assert set(kept) == {"env.py", "manifest.json", "report.json"}
    assert (folder / kept["env.py"]).read_bytes() == b"evil\n"
