"""Dialogues through chat templates: what is appended is what the template would write."""

import subprocess
import sys

import pytest

pytest.importorskip("transformers")

from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.types import Message
from spade_train.errors import DataError, TemplateError
from spade_train.tokens import ChatFormat, Window
from train.token_formats import FORMATS, QWEN3_INSTRUCT, THINKING, UNUSABLE, byte_pairs, tokenizer

WIDE = Window(tokens=100_000, turn_tokens=10_000)
KEEPING = ("plain", "nano", "smollm2", "qwen3-instruct")
REWRITING = ("qwen3-hybrid", "qwen3-hybrid-off", "qwen3-thinking")
few = settings(max_examples=15, deadline=None)

_formats = {}


def fmt(name):
    if name not in _formats:
        _formats[name] = ChatFormat.of(tokenizer(name), window=WIDE, thinking=THINKING.get(name))
    return _formats[name]


def text_of(form, dialogue):
    return form.template.decode(dialogue.ids.tolist())


def say(form, dialogue, text, *, end=True):
    ids = [*form.template.encode(text), *([form.end] if end else [])]
    return form.sampled(dialogue, ids, [-1.0] * len(ids))


# Text of any kind that begins with no space: spaces there would merge with the line break before.
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
words = texts.filter(lambda text: not text[0].isspace())
hostile = st.lists(
    st.sampled_from(
        [
            "<|im_end|>",
            "<|im_start|>",
            "<|endoftext|>",
            "<|user|>",
            "<|end|>",
            "<|im_<|im_end|>end|>",
            "\ue000",
            "\ue0010\ue001",
            "\ue0000\ue001",
            "assistant\n",
            "<think>",
            "\n",
            "a",
        ]
    ),
    min_size=1,
    max_size=8,
).map("".join)


@st.composite
def sampled_turns(draw, form):
    """Tokens as a policy may sample them: any at all, in no canonical split, ended or not."""
    size = len(form.template.tokenizer)
    usual = st.integers(0, size - 1).filter(lambda i: i not in form.stops)
    ids = draw(st.lists(usual, min_size=1, max_size=12))
    return [*ids, form.end] if draw(st.booleans()) else ids


@pytest.mark.parametrize("name", FORMATS)
@few
@given(data=st.data())
def test_tokens_are_trained_exactly_as_sampled(name, data):
    form = fmt(name)
    dialogue = form.begin([Message("user", data.draw(texts | hostile))])
    said = []
    for _ in range(data.draw(st.integers(1, 4))):
        before = dialogue
        ids = data.draw(sampled_turns(form))
        said.append(ids)
        dialogue = form.sampled(dialogue, ids, [-0.5] * len(ids))
        assert dialogue.extends(before)
        ended = ids[-1] == form.end
        turn = form.turn(dialogue)
        assert turn.ended == ended
        assert turn.raw == form.template.decode(ids[:-1] if ended else ids)
        dialogue = form.reply(dialogue, [Message("user", data.draw(texts | hostile))])
        assert dialogue.extends(before)
        assert dialogue.ids[: len(before)].tolist() == before.ids.tolist()
    assert [dialogue.ids[a:b].tolist() for a, b in dialogue.turns] == said
    assert dialogue.mask.sum() == dialogue.sampled_tokens == sum(map(len, said))


@pytest.mark.parametrize("name", KEEPING)
@few
@given(data=st.data())
def test_rendering_the_whole_conversation_anew_gives_the_same_tokens(name, data):
    form = fmt(name)
    assert form.traits.keeps_history
    said = texts | hostile
    if (
        name == "plain"
    ):  # no control token stands between an observation and the line break after it
        said = said.filter(lambda text: not text[-1].isspace())
    messages = [Message("user", data.draw(said))]
    if data.draw(st.booleans()):
        messages.insert(0, Message("system", data.draw(said)))
    dialogue = form.begin(messages)
    for _ in range(data.draw(st.integers(1, 4))):
        action, observation = data.draw(words), data.draw(said)
        end = data.draw(st.booleans())  # a turn that was cut off is closed by the template
        dialogue = say(form, dialogue, action, end=end)
        dialogue = form.reply(dialogue, [Message("user", observation)])
        messages += [Message("assistant", action), Message("user", observation)]
    assert dialogue.ids.tolist() == list(form.template.encode(form.template.render(messages)))


def _without_thinking(text):
    return text.split("</think>")[-1].lstrip("\n")


@pytest.mark.parametrize("name", REWRITING)
@few
@given(data=st.data())
def test_templates_that_drop_thinking_differ_in_the_thinking_alone(name, data):
    form = fmt(name)
    assert form.traits.drops_thinking
    plain = words.filter(lambda text: "<" not in text)
    messages = [Message("user", data.draw(texts))]
    dialogue = form.begin(messages)
    for _ in range(data.draw(st.integers(1, 3))):
        thought, action, observation = data.draw(plain), data.draw(plain), data.draw(texts)
        opened = "" if form.traits.scaffold == "<think>\n" else "<think>\n"
        thinking = "" if name == "qwen3-hybrid-off" else f"{opened}{thought}\n</think>\n\n"
        dialogue = say(form, dialogue, thinking + action)
        dialogue = form.reply(dialogue, [Message("user", observation)])
        messages += [Message("assistant", thinking + action), Message("user", observation)]
    pieces, kept = [], form.template.decode(dialogue.segments[0].ids)
    for segment in dialogue.segments[1:]:
        text = form.template.decode(segment.ids)
        if segment.is_sampled:
            assert kept.endswith(form.traits.scaffold)
            kept = kept.removesuffix(form.traits.scaffold)
            text = _without_thinking(text)
        pieces.append(kept)
        kept = text
    pieces.append(kept)
    rendered = form.template.encode(form.template.render(messages))
    assert "".join(pieces) == form.template.decode(rendered)


@pytest.mark.parametrize("name", FORMATS)
@few
@given(observation=hostile)
def test_an_observation_cannot_end_its_turn(name, observation):
    form = fmt(name)
    spoken = say(form, form.begin([Message("user", "go")]), "look")
    controls = set(form.template.controls.values())

    def bridge(text):
        return form.reply(spoken, [Message("user", text)]).segments[-1].ids

    harmless = [i for i in bridge("x") if i in controls]
    assert [i for i in bridge(observation) if i in controls] == harmless
    assert observation in form.template.decode(bridge(observation))
    first = form.begin([Message("user", observation)])
    assert sum(i in controls for i in first.ids.tolist()) == sum(
        i in controls for i in form.begin([Message("user", "x")]).ids.tolist()
    )


EXPECTED = {
    "plain": "go\nlook<|im_end|>\nYou see.\n",
    "nano": "<|user|>go<|assistant|>look<|end|><|user|>You see.<|assistant|>",
    "smollm2": "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\ngo<|im_end|>\n"
    "<|im_start|>assistant\nlook<|im_end|>\n<|im_start|>user\nYou see.<|im_end|>\n"
    "<|im_start|>assistant\n",
    "qwen3-instruct": "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\nlook<|im_end|>\n"
    "<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\n",
    "qwen3-hybrid-off": "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>"
    "\n\nlook<|im_end|>\n<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\n<think>\n\n"
    "</think>\n\n",
    "qwen3-thinking": "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n<think>\nlook"
    "<|im_end|>\n<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\n<think>\n",
}
EXPECTED["qwen3-hybrid"] = EXPECTED["qwen3-instruct"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("end", [True, False])
def test_one_exchange_reads_as_the_format_is_defined(name, end):
    form = fmt(name)
    spoken = say(form, form.begin([Message("user", "go")]), "look", end=end)
    dialogue = form.reply(spoken, [Message("user", "You see.")])
    assert text_of(form, dialogue) == EXPECTED[name]
    bridge = dialogue.segments[-1].ids
    assert (bridge[0] == form.end) == (not end)  # an absent end is closed untrained
    assert dialogue.mask.sum() == len(form.template.encode("look")) + end


def test_feedback_after_a_thought_is_neither_lost_nor_cut():
    form = fmt("qwen3-hybrid")
    thought = "<think>\nperhaps 7\n</think>\n\n7"
    dialogue = say(form, form.begin([Message("user", "Guess.")]), thought)
    assert form.turn(dialogue).text == "7"
    dialogue = form.reply(dialogue, [Message("user", "Too low.")])
    assert text_of(form, dialogue).endswith(
        f"{thought}<|im_end|>\n<|im_start|>user\nToo low.<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("  look ", "  look "),
        ("<think>\nhm\n</think>\n\nlook", "look"),
        ("hm\n</think>\n\nlook", "look"),
        ("<think>\nhm", "\nhm".lstrip()),
    ],
)
def test_the_action_is_what_was_said_without_thinking(raw, text):
    form = fmt("qwen3-hybrid")
    turn = form.turn(say(form, form.begin([Message("user", "go")]), raw))
    assert (turn.raw, turn.text) == (raw, text)


def test_another_end_token_stays_and_the_template_closes_the_turn():
    form = ChatFormat.of(tokenizer("qwen3-instruct"), window=WIDE, stops=[0])
    prompt = form.begin([Message("user", "go")])
    look = list(form.template.encode("look"))
    dialogue = form.sampled(prompt, [*look, 0], [-1.0] * (len(look) + 1))
    assert form.turn(dialogue).ended
    assert form.turn(dialogue).raw == "look"
    dialogue = form.reply(dialogue, [Message("user", "ok")])
    assert "look<|endoftext|><|im_end|>\n<|im_start|>user\nok" in text_of(form, dialogue)
    assert dialogue.mask.sum() == len(look) + 1


def test_an_end_token_that_opens_turns_is_not_taken_for_an_end():
    fast = byte_pairs(tokenizer("smollm2").chat_template)
    fast.eos_token = "<|im_start|>"
    form = ChatFormat.of(fast, window=WIDE)
    assert form.end == fast.convert_tokens_to_ids("<|im_end|>")
    assert form.stops == {form.end}


# GLM's way: no token ends a turn; the model says whose turn is next.
NEXT_SPEAKER = (
    "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)


def test_a_turn_may_end_with_the_token_that_opens_the_next():
    specials = ("<|endoftext|>", "<|user|>", "<|assistant|>")
    fast = byte_pairs(NEXT_SPEAKER, specials=specials, eos="<|endoftext|>")
    user = fast.convert_tokens_to_ids("<|user|>")
    form = ChatFormat.of(fast, window=WIDE, stops=[user])
    assert (form.end, form.stops) == (None, {user, fast.eos_token_id})
    prompt = form.begin([Message("user", "go")])
    look = list(form.template.encode("look"))
    for ids in ([*look, user], look):
        dialogue = form.sampled(prompt, ids, [-1.0] * len(ids))
        assert form.turn(dialogue).raw == "look"
        dialogue = form.reply(dialogue, [Message("user", "ok")])
        assert (
            text_of(form, dialogue) == "<|user|>\ngo<|assistant|>\nlook<|user|>\nok<|assistant|>\n"
        )


def test_headers_that_differ_in_their_thinking_alone_are_taken():
    think = QWEN3_INSTRUCT.replace("assistant\\n' + said", "assistant\\n<think></think>' + said")
    fast = byte_pairs(
        think.replace("assistant\\n' }}{% endif", "assistant\\n<think>\\n' }}{% endif")
    )
    traits = ChatFormat.of(fast, window=WIDE).traits
    assert traits.header == "<|im_end|>\n<|im_start|>assistant\n"
    assert (traits.scaffold, traits.keeps_history) == ("<think>\n", False)


def test_rows_of_a_sampler_are_cut_by_their_first_end():
    form = fmt("smollm2")  # its padding is its end token
    assert form.until_stop([5, 6, form.end, form.end, form.end]) == [5, 6, form.end]
    assert form.until_stop([5, 6, 7]) == [5, 6, 7]
    with pytest.raises(DataError, match="until_stop"):
        form.sampled(form.begin([Message("user", "go")]), [5, form.end, 6], [-1.0] * 3)


def small(tokens, turn_tokens=50, least_tokens=1):
    window = Window(tokens=tokens, turn_tokens=turn_tokens, least_tokens=least_tokens)
    return ChatFormat.of(tokenizer("qwen3-instruct"), window=window)


def test_a_reply_without_room_is_left_out_whole():
    wide = fmt("qwen3-instruct")
    spoken = say(wide, wide.begin([Message("user", "go")]), "look")
    whole = wide.reply(spoken, [Message("user", "You see.")])
    room = small(len(whole) + 1)
    assert room.reply(spoken, [Message("user", "You see.")]) == whole
    full = small(len(whole)).reply(spoken, [Message("user", "You see.")])
    assert full.truncated
    assert full.segments == spoken.segments
    assert not full.awaits_turn
    assert (
        small(len(whole) + 3, least_tokens=4).reply(spoken, [Message("user", "You see.")]).truncated
    )


def test_a_prompt_without_room_comes_back_whole_and_marked():
    prompt = small(8).begin([Message("user", "word " * 50)])
    assert prompt.truncated
    assert (
        prompt.ids.tolist()
        == fmt("qwen3-instruct").begin([Message("user", "word " * 50)]).ids.tolist()
    )


def test_more_tokens_than_had_room_are_refused():
    form = small(1000, turn_tokens=3)
    prompt = form.begin([Message("user", "go")])
    with pytest.raises(DataError, match="4 tokens were sampled where 3 had room"):
        form.sampled(prompt, [5] * 4, [-1.0] * 4)


def test_turns_come_in_order():
    form = fmt("qwen3-instruct")
    prompt = form.begin([Message("user", "go")])
    with pytest.raises(DataError, match="does not end with a sampled turn"):
        form.reply(prompt, [Message("user", "x")])
    with pytest.raises(DataError, match="does not end with a sampled turn"):
        form.turn(prompt)
    with pytest.raises(DataError, match="at least one message"):
        form.reply(say(form, prompt, "look"), [])


@pytest.mark.parametrize("what", UNUSABLE)
def test_templates_that_rewrite_what_they_wrote_are_refused(what):
    with pytest.raises(TemplateError, match="so turns cannot be appended"):
        ChatFormat.of(byte_pairs(UNUSABLE[what]), window=WIDE)


def test_a_switch_for_thinking_must_exist():
    with pytest.raises(TemplateError, match="no switch for thinking"):
        ChatFormat.of(tokenizer("smollm2"), window=WIDE, thinking=False)
    with pytest.raises(TemplateError, match="no switch for thinking"):
        ChatFormat.of(tokenizer("plain"), window=WIDE, thinking=True)


def test_a_tokenizer_without_any_end_is_refused():
    fast = byte_pairs("{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}")
    fast.eos_token = None
    with pytest.raises(TemplateError, match="no end token"):
        ChatFormat.of(fast, window=WIDE)


def test_importing_tokens_loads_no_model_library():
    names = "{'torch', 'transformers', 'tokenizers'}"
    code = f"import sys, spade_train.tokens; print({names} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
