"""The dialogue as a value, and the rows and arrays made of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.errors import ConfigError
from spade_train.errors import DataError, StateError
from spade_train.tokens import Dialogue, Segment, Window, pad, rows
from spade_train.types import as_json, from_json

tokens = st.lists(st.integers(0, 9), min_size=1, max_size=6).map(tuple)
logprob = st.floats(-30, 0)


@st.composite
def dialogues(draw):
    dialogue = Dialogue(()).append(Segment(draw(tokens)))
    for index in range(draw(st.integers(0, 6))):
        ids = draw(tokens)
        drawn = tuple(draw(logprob) for _ in ids) if index % 2 == 0 else None
        dialogue = dialogue.append(Segment(ids, drawn))
    return dialogue.truncate() if draw(st.booleans()) else dialogue


def talk(*segments):
    dialogue = Dialogue(())
    for segment in segments:
        dialogue = dialogue.append(segment)
    return dialogue


EXAMPLE = talk(
    Segment((5, 6, 7)), Segment((1, 2), (-0.5, -0.25)), Segment((8,)), Segment((3, 0), (-1.0, -2.0))
)


def test_ids_mask_and_logprobs_of_an_example():
    assert EXAMPLE.ids.tolist() == [5, 6, 7, 1, 2, 8, 3, 0]
    assert EXAMPLE.mask.tolist() == [False, False, False, True, True, False, True, True]
    assert EXAMPLE.logprobs.tolist() == [0, 0, 0, -0.5, -0.25, 0, -1, -2]
    assert EXAMPLE.turns == ((3, 5), (6, 8))
    assert (EXAMPLE.prompt_tokens, EXAMPLE.sampled_tokens, len(EXAMPLE)) == (3, 4, 8)


@given(dialogues())
def test_what_is_masked_in_is_what_was_sampled(dialogue):
    assert dialogue.mask.sum() == dialogue.sampled_tokens
    spans = [dialogue.ids[a:b].tolist() for a, b in dialogue.turns]
    assert spans == [list(s.ids) for s in dialogue.segments if s.is_sampled]
    assert all(dialogue.mask[a:b].all() for a, b in dialogue.turns)
    assert not dialogue.logprobs[~dialogue.mask].any()
    assert len(dialogue.ids) == len(dialogue.mask) == len(dialogue.logprobs) == len(dialogue)


@given(dialogues(), tokens)
def test_appending_changes_nothing_before(dialogue, ids):
    if dialogue.truncated:
        return
    sampled = not dialogue.segments[-1].is_sampled
    longer = dialogue.append(Segment(ids, (-1.0,) * len(ids) if sampled else None))
    assert longer.extends(dialogue)
    assert not dialogue.extends(longer)
    assert longer.ids[: len(dialogue)].tolist() == dialogue.ids.tolist()
    assert longer.mask[: len(dialogue)].tolist() == dialogue.mask.tolist()
    assert longer.ids[len(dialogue) :].tolist() == list(ids)


@given(dialogues())
def test_a_dialogue_survives_json(dialogue):
    assert from_json(Dialogue, as_json(dialogue)) == dialogue


def test_a_broken_state_is_refused():
    with pytest.raises(StateError, match="segments"):
        from_json(Dialogue, {"segments": [{"ids": ["x"]}]})


@pytest.mark.parametrize(
    ("start", "segment", "message"),
    [
        ((), Segment((1,), (-1.0,)), "begins with a prompt"),
        ((Segment((1,)),), Segment((2,)), "alternate"),
        ((Segment((1,)), Segment((2,), (-1.0,))), Segment((3,), (-1.0,)), "alternate"),
        ((Segment((1,)),), Segment(()), "at least one token"),
    ],
)
def test_segments_alternate(start, segment, message):
    with pytest.raises(DataError, match=message):
        talk(*start).append(segment)


def test_nothing_follows_a_truncated_dialogue():
    with pytest.raises(DataError, match="truncated"):
        talk(Segment((1,))).truncate().append(Segment((2,), (-1.0,)))


@pytest.mark.parametrize("values", [(-1.0,), (-1.0, float("nan")), (-1.0, float("-inf"))])
def test_logprobs_belong_to_tokens_and_are_finite(values):
    with pytest.raises(DataError, match="log-probabilit"):
        Segment((1, 2), values)


@pytest.mark.parametrize(
    ("window", "room"),
    [
        (Window(tokens=100, turn_tokens=7), 7),
        (Window(tokens=8, turn_tokens=7), 5),
        (Window(tokens=8, turn_tokens=7, least_tokens=5), 5),
        (Window(tokens=8, turn_tokens=7, least_tokens=6), 0),
        (Window(tokens=3, turn_tokens=7), 0),
        (Window(tokens=2, turn_tokens=7), 0),
    ],
)
def test_room_is_what_window_and_turn_leave(window, room):
    assert talk(Segment((1, 2, 3))).room(window) == room


def test_there_is_room_only_when_the_policy_is_to_speak():
    window = Window(tokens=100, turn_tokens=7)
    spoken = talk(Segment((1,)), Segment((2,), (-1.0,)))
    assert [spoken.room(window), talk(Segment((1,))).truncate().room(window)] == [0, 0]
    with pytest.raises(ConfigError, match=">= 1"):
        Window(tokens=10, turn_tokens=0)


def test_rows_cut_after_the_prompt():
    found = rows([EXAMPLE])
    assert found.prompt_ids == [[5, 6, 7]]
    assert found.completion_ids == [[1, 2, 8, 3, 0]]
    assert found.mask == [[1, 1, 0, 1, 1]]
    assert found.logprobs == [[-0.5, -0.25, 0.0, -1.0, -2.0]]
    with pytest.raises(DataError, match="without a sampled token"):
        rows([talk(Segment((1,)))])


@given(st.lists(dialogues(), max_size=5), st.integers(0, 9))
def test_padding_is_told_by_length_whatever_its_token(batch, pad_id):
    found = pad(batch, pad_id)
    assert found.attention.sum(axis=1).tolist() == [len(d) for d in batch]
    for row, dialogue in enumerate(batch):
        kept = found.attention[row]
        assert found.ids[row][kept].tolist() == dialogue.ids.tolist()
        assert found.mask[row][kept].tolist() == dialogue.mask.tolist()
        assert np.array_equal(found.logprobs[row][kept], dialogue.logprobs)
        assert not found.mask[row][~kept].any()
        assert (found.ids[row][~kept] == pad_id).all()


def test_padding_cuts_nothing():
    assert pad([EXAMPLE], 0, width=10).ids.shape == (1, 10)
    with pytest.raises(DataError, match="8 tokens does not fit a width of 7"):
        pad([EXAMPLE], 0, width=7)
