import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.errors import ConfigError, Corrupt, FormatTooNew
from spade_envs.manifest import (
    FileStamp,
    InterfaceModel,
    Provenance,
    StoreMarker,
    Tombstone,
    canonical_json,
    decode_report,
    digest_of,
    encode_report,
    parse_json,
    read_model,
)
from spade_envs.types import GateResult, Interface, Report

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
INTERFACE = Interface(entry="MazeEnv", kind="text", levels=4, summary="Find the way out.")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@given(VALUES)
def test_canonical_json_is_a_fixed_point(value):
    data = canonical_json(value)
    assert canonical_json(parse_json(data, "test")) == data
    assert data.endswith(b"\n")


@given(st.dictionaries(st.text(), SCALARS, max_size=6), st.randoms(use_true_random=False))
def test_canonical_json_forgets_the_order_of_keys(mapping, random):
    items = list(mapping.items())
    random.shuffle(items)
    assert canonical_json(dict(items)) == canonical_json(mapping)


@given(st.text(st.characters(codec="utf-8")))
def test_canonical_json_keeps_text(text):
    assert parse_json(canonical_json([text]), "test") == [text]


def test_canonical_json_literally():
    value = {"b": (1, 2.0), "a": "ü\n", "c": {}, "d": "\udc80"}
    expected = (
        '{\n  "a": "ü\\n",\n  "b": [\n    1,\n    2.0\n  ],\n  "c": {},\n  "d": "\\udc80"\n}\n'
    )
    assert canonical_json(value) == expected.encode()


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, {1: 2}, {"a": {None: 1}}, b"x", {1, 2}, object(), 10**5000],
    ids=["nan", "inf", "int key", "none key", "bytes", "set", "object", "digits"],
)
def test_canonical_json_refuses_what_json_lacks(value):
    with pytest.raises(ConfigError):
        canonical_json([value])


def test_canonical_json_refuses_deep_nesting():
    value = []
    for _ in range(100):
        value = [value]
    with pytest.raises(ConfigError, match="64 levels"):
        canonical_json(value)


@given(st.binary(max_size=60))
def test_parse_json_raises_nothing_but_corrupt(data):
    try:
        value = parse_json(data, "some.json")
    except Corrupt:
        return
    assert json.loads(data) == value


def test_parse_json_refuses_ambiguity():
    for data in (b'{"a": 1, "a": 2}', b'[{"a": {"b": 1, "b": 1}}]', b"NaN", b"[-Infinity]"):
        with pytest.raises(Corrupt):
            parse_json(data, "x")


def test_digest_is_pinned():
    """This digest identifies published environments; it must never change within format 1."""
    files = {"env.py": FileStamp("ab" * 32, 1234)}
    interface = Interface(
        entry="MazeEnv", kind="tool", levels=4, max_turns=20, has_solution=True, tools=(TOOL,)
    )
    expected = "sha256:293cb85e49a1b7d7fc6452fb11753dccc72deb1c92870755f4498818503af810"
    assert digest_of(files, interface) == expected


def test_digest_ignores_the_summary_and_sees_everything_else():
    files = {"env.py": FileStamp("ab" * 32, 1234)}
    base = digest_of(files, INTERFACE)
    other = {
        "entry": "Other", "kind": "tool", "api": "published-1", "levels": 5, "max_turns": 17,
        "reward_range": (0.0, 2.0), "has_hint": True, "has_solution": True, "tools": (TOOL,),
    }  # fmt: skip
    fields = {name: getattr(INTERFACE, name) for name in INTERFACE.__slots__}
    assert set(fields) == {*other, "summary"}
    digests = {digest_of(files, Interface(**{**fields, key: other[key]})) for key in other}
    assert len(digests - {base}) == len(other)
    assert digest_of(files, Interface(**{**fields, "summary": "Other."})) == base
    assert digest_of(files, Interface(**{**fields, "reward_range": (0, 1)})) == base
    assert digest_of({"env.py": FileStamp("ab" * 32, 1235)}, INTERFACE) != base
    assert digest_of({"env.py": FileStamp("cd" * 32, 1234)}, INTERFACE) != base


@given(
    st.builds(
        Interface,
        entry=st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True),
        kind=st.sampled_from(["text", "tool"]),
        levels=st.integers(1, 1000),
        max_turns=st.integers(1, 1000),
        reward_range=st.tuples(st.floats(-9, 0), st.floats(0, 9)),
        has_hint=st.booleans(),
        has_solution=st.booleans(),
        tools=st.just(()) | st.just((TOOL,)),
    )
)
def test_interface_survives_storage_with_its_digest(interface):
    stored = InterfaceModel.of(interface)
    back = read_model(InterfaceModel, stored.to_json(), "x").to_interface()
    assert back == interface
    assert digest_of({}, back) == digest_of({}, interface)


def test_interface_that_cannot_be_stored_names_the_key():
    with pytest.raises(ConfigError, match="levels"):
        InterfaceModel.of(Interface(entry="A", kind="text", levels=0))
    with pytest.raises(ConfigError, match="reward_range"):
        InterfaceModel.of(Interface(entry="A", kind="text", reward_range=(1.0, 0.0)))


def test_errors_name_file_and_key():
    with pytest.raises(Corrupt, match=r"WITHDRAWN.json: reason: Field required"):
        read_model(Tombstone, b'{"at": "2026-01-01T00:00:00Z"}', "WITHDRAWN.json")
    with pytest.raises(Corrupt, match=r"WITHDRAWN.json: at: .*\(and 1 more\)"):
        read_model(Tombstone, b'{"reason": "x", "at": "now", "by": "y"}', "WITHDRAWN.json")
    with pytest.raises(FormatTooNew, match=r"ENVSTORE\.json has format 7"):
        read_model(StoreMarker, b'{"format": 7, "more": 1}', "ENVSTORE.json")


def test_provenance_is_frozen_and_stamped_in_utc():
    provenance = Provenance.read({"seed": 3, "designer": {"model": "nano"}})
    assert provenance.created.endswith("Z")
    assert provenance.designer is not None
    assert provenance.designer.model == "nano"
    with pytest.raises(ValueError, match="frozen"):
        provenance.seed = 4  # type: ignore[misc]


def _report(**evidence) -> Report:
    result = GateResult(gate="L1.2", title="types", outcome="warn", message="m", evidence=evidence)
    return Report(source_sha256="0" * 64, gates_version="1", interface=INTERFACE, results=(result,))


def test_report_survives_storage():
    report = _report(seed=3, transcript=["a", "\udc80 lone"], big=10**40, rate=0.25)
    assert decode_report(encode_report(report)) == report


def test_report_tells_numbers_that_are_not_finite_as_text():
    report = decode_report(encode_report(_report(reward=math.nan, low=[-math.inf], of={3: 1})))
    assert report.results[0].evidence == {"reward": "nan", "low": ["-inf"], "of": {"3": 1}}


def test_report_with_foreign_keys_is_refused():
    for place in ("top", "interface", "result"):
        raw = json.loads(encode_report(_report()))
        target = {"top": raw, "interface": raw["interface"], "result": raw["results"][0]}[place]
        target["accepted"] = True
        with pytest.raises(Corrupt, match="accepted"):
            decode_report(canonical_json(raw))
    raw = json.loads(encode_report(_report()))
    raw["results"][0]["outcome"] = "excellent"
    with pytest.raises(Corrupt, match="outcome"):
        decode_report(canonical_json(raw))
