"""The host's end of the channel: whatever bytes come, it answers or gives up cleanly."""

import math
import random
import socket
import threading
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.sandbox.channel import Broken, Channel, decode
from spade_envs.sandbox.history import Instance
from spade_envs.sandbox.outcomes import accept_steps, decode_info
from spade_envs.sandbox.protocol import Discard, FaultData, Mark, Replies, StepReplies, check_json
from spade_envs.types import Fault, Limits, StepOutcome

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part),
    max_leaves=12,
)  # fmt: skip


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with theirs:
        yield channel, theirs
    channel.close()


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def test_frames_arrive_whole_however_they_are_cut(ends):
    channel, theirs = ends
    contents = [b"a", b"", b"b" * 70_000, b"c" * 300_000]
    data = b"".join(framed(content) for content in contents)

    def trickle():
        for start in range(0, len(data), 9973):
            theirs.sendall(data[start : start + 9973])

    sender = threading.Thread(target=trickle)
    sender.start()
    assert [bytes(channel.receive(1 << 20, 5.0)) for _ in contents] == contents
    sender.join()


def test_a_silent_worker_times_out_and_a_trickle_does_not_help_it(ends):
    channel, theirs = ends
    with pytest.raises(TimeoutError):
        channel.receive(100, 0.05)
    stop = threading.Event()

    def trickle():
        theirs.send((90).to_bytes(4, "little"))
        while not stop.wait(0.02):
            theirs.send(b"x")

    sender = threading.Thread(target=trickle)
    sender.start()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        channel.receive(100, 0.2)
    stop.set()
    sender.join()
    assert time.monotonic() - started < 1.5


def test_too_long_a_frame_is_refused_by_its_header_alone(ends):
    channel, theirs = ends
    theirs.send((101).to_bytes(4, "little"))
    with pytest.raises(Broken, match="more than 100"):
        channel.receive(100, 5.0)


def test_unread_bytes_are_noticed_before_the_next_request(ends):
    channel, theirs = ends
    theirs.send(framed(b"one") + b"rest")
    channel.receive(100, 1.0)
    with pytest.raises(Broken, match="more than it was asked"):
        channel.send(Discard(1, 1), 1.0)


def test_a_closed_channel_is_a_crash(ends):
    channel, theirs = ends
    theirs.close()
    with pytest.raises(Broken) as caught:
        channel.receive(100, 1.0)
    assert caught.value.kind == "crash"


def test_request_ids_do_not_repeat(ends):
    channel, _ = ends
    assert len({channel.new_id() for _ in range(5000)}) == 5000


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("kind", [Replies, StepReplies])
def test_random_bytes_decode_or_are_a_protocol_fault(kind, data):
    try:
        decoded = decode(msgspec.msgpack.Decoder(kind), memoryview(data))
    except Broken as broken:
        decoded = broken.kind
    assert decoded == "protocol" or isinstance(decoded, kind)


@given(json_values)
@settings(max_examples=200, deadline=None)
def test_plain_json_passes_unchanged(value):
    assert check_json(value) is value
    info = {"v": value}
    assert decode_info(msgspec.msgpack.encode(info), 1 << 20) == info


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, b"x", (1,), {"a": [{"b": {1, 2}}]}])
def test_what_is_not_plain_json_is_refused(value):
    with pytest.raises(ValueError, match="holds"):
        check_json(value)


def accept(observation="x", reward=0.5, **changes):
    """Accept a frame of three rows, of which the middle one is given."""
    marks = []
    if changes:
        fields = {"row": 1, "terminated": False, "truncated": False, "cut": False, "info": b"",
                  "fault": None}  # fmt: skip
        marks = [Mark(**{**fields, **changes})]
    frame = StepReplies(7, ["a", observation, "c"], [0.0, reward, 1.0], marks)
    return accept_steps(frame, Limits(max_observation_chars=10))


def test_plain_rows_are_accepted_as_they_are():
    assert accept() == ["a", "x", "c"]


def test_a_marked_row_becomes_an_outcome():
    info = msgspec.msgpack.encode({"success": True})
    first, outcome, last = accept(terminated=True, info=info, cut=True)
    assert (first, last) == ("a", "c")
    assert (outcome.observation, outcome.reward, outcome.terminated) == ("x", 0.5, True)
    assert outcome.info == {"success": True}
    assert outcome.observation_cut


def test_a_fault_hides_what_came_with_it():
    outcome = accept(reward=9.0, fault=FaultData("exception", "boom"))[1]
    assert (outcome.reward, outcome.truncated, outcome.fault.message) == (0.0, True, "boom")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"row": 3}, "out of turn"),
        ({"observation": "x" * 11}, "over the limit"),
        ({"reward": math.inf}, "reward"),
        ({"reward": math.nan}, "reward"),
        ({"info": b"\xc1"}, "info"),
        ({"info": b"\x90"}, "info"),
        ({"info": b"x" * 70_000}, "more than"),
    ],
)
def test_a_bad_reply_breaks_the_worker(changes, words):
    with pytest.raises(Broken, match=words) as caught:
        accept(**changes)
    assert caught.value.kind == "protocol"


def test_marks_must_ascend():
    marks = [Mark(row, False, True, False, b"", None) for row in (1, 1)]
    with pytest.raises(Broken, match="out of turn"):
        accept_steps(StepReplies(7, ["a", "b"], [0.0, 0.0], marks), Limits())


def test_great_finite_rewards_whose_sum_is_infinite_are_accepted():
    frame = StepReplies(7, ["a", "b"], [1.7e308, 1.7e308], [])
    assert accept_steps(frame, Limits()) == ["a", "b"]


def test_steps_are_noted_unless_they_failed():
    instance = Instance(level=0, generation=1, playing=True)
    instance.note("go", "x")
    instance.note("win", StepOutcome("y", 1.0, terminated=True))
    assert (instance.actions, instance.last_observation) == (["go", "win"], "y")
    instance.note("on", StepOutcome(fault=Fault(kind="crash", op="step", message="gone")))
    assert (instance.actions, instance.playing) == (["go", "win"], False)


def test_seeds_of_an_instance_depend_only_on_the_seeds_given():
    def seeds():
        instance = Instance(level=0, generation=1)
        return [instance.next_seed(seed) for seed in (4, None, None, 9, None)]

    assert seeds() == seeds()
    assert seeds()[0] == 4
    assert len(set(seeds())) == 5


def test_an_info_that_comes_again_is_another_dict():
    raw = msgspec.msgpack.encode({"success": True, "score": 2})
    first = decode_info(raw, 1000)
    first["score"] = 3
    assert decode_info(raw, 1000) == {"success": True, "score": 2}


def test_episodes_without_a_seed_go_on_from_a_seed_that_was_given_again():
    instance = Instance(level=0, generation=1)
    drawn = [instance.next_seed(seed) for seed in (5, None, None, 5, None)]
    assert drawn[1] == drawn[4] == random.Random(5).getrandbits(31) != drawn[2]
