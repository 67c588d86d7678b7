import functools

import numpy as np
import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from spade_train.engines import SampleRequest
from spade_train.engines.block import Block
from spade_train.engines.hf import TransformersEngine, grouped
from spade_train.errors import EngineError

STOPS = (5, 6)
_SIZES = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 512,
}


@functools.cache
def model(kind):
    torch.manual_seed(1)
    if kind == "qwen3":
        made = Qwen3ForCausalLM(Qwen3Config(**_SIZES, head_dim=16))
    elif kind == "window":
        made = MistralForCausalLM(MistralConfig(**_SIZES, sliding_window=8))
    elif kind == "eager":
        made = LlamaForCausalLM(LlamaConfig(**_SIZES, attn_implementation="eager"))
    else:
        made = LlamaForCausalLM(LlamaConfig(**_SIZES))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)  # so that the tokens are not all alike
    if kind == "lora":
        from peft import LoraConfig, get_peft_model

        made = get_peft_model(made, LoraConfig(r=4, target_modules="all-linear"))
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.1)
    return made.train()


def full_logprobs(module, ids, temperature=1.0):
    """Return the log-probability of each next token, computed over the whole text at once."""
    module.eval()
    with torch.no_grad():
        logits = module(torch.tensor([ids])).logits[0].float()
    module.train()
    return torch.log_softmax(logits / temperature, -1)


def texts(count, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(7, 61, int(rng.integers(2, 30))).tolist()) for _ in range(count)]


def asked(conversation, row, turn, **fields):
    settings = {"max_tokens": 3 + 5 * row % 17, "temperature": 1.0, **fields}
    return SampleRequest(key=str(row), ids=conversation, seed=10 * row + turn, **settings)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "eager", "lora", "window"])
def test_tokens_and_logprobs_are_those_of_the_model_turn_after_turn(kind):
    engine = TransformersEngine(model(kind), stops=STOPS, rows=5)
    talks = texts(12)
    rng = np.random.default_rng(3)
    for turn in range(3):
        requests = [asked(talk, row, turn) for row, talk in enumerate(talks)]
        if turn == 2:
            requests = requests[1::2]  # some sit a turn out
        answers = engine.sample(requests)
        for request, got in zip(requests, answers, strict=True):
            rows = full_logprobs(model(kind), request.ids + got.ids)[len(request.ids) - 1 :]
            expected = [float(rows[place, token]) for place, token in enumerate(got.ids)]
            assert got.logprobs == pytest.approx(expected, abs=2e-4)
            assert len(got.ids) == request.max_tokens or got.ids[-1] in STOPS
            assert not set(got.ids[:-1]) & set(STOPS)
            reply = tuple(rng.integers(7, 61, 4).tolist())
            talks[int(request.key)] = request.ids + got.ids + reply
        engine.forget(["3", "unknown"])  # it comes back and is computed anew
    assert engine.keeps == (kind != "window")
    assert model(kind).training


def test_a_row_is_sampled_alike_alone_in_a_batch_and_from_the_first_token():
    requests = [asked(text, row, 0, temperature=1.3) for row, text in enumerate(texts(20))]
    together = TransformersEngine(model("llama"), stops=STOPS).sample(requests)
    blocks = TransformersEngine(model("llama"), stops=STOPS, rows=3).sample(requests[::-1])
    alone = TransformersEngine(model("llama"), stops=STOPS)
    afresh = TransformersEngine(model("llama"), stops=STOPS)
    afresh._keeps = False
    plain = afresh.sample(requests)
    for row, request in enumerate(requests):
        expected = together[row].ids
        assert blocks[-1 - row].ids == expected
        assert plain[row].ids == expected
        assert alone.sample([request])[0].ids == expected
    assert len({got.ids for got in together}) > 15


def test_another_seed_gives_another_turn_and_the_same_seed_the_same():
    engine = TransformersEngine(model("llama"), stops=())
    ids = texts(1)[0]
    draws = [
        engine.sample([SampleRequest(key="a", ids=ids, seed=seed, max_tokens=12)])[0].ids
        for seed in (1, 2, 1)
    ]
    assert draws[0] == draws[2] != draws[1]


def test_first_tokens_follow_the_distribution():
    ids = texts(1, seed=5)[0]
    engine = TransformersEngine(model("llama"), stops=())
    requests = [
        SampleRequest(key=str(seed), ids=ids, seed=seed, max_tokens=1, temperature=2.0)
        for seed in range(2000)
    ]
    counts = np.bincount([got.ids[0] for got in engine.sample(requests)], minlength=61)
    expected = full_logprobs(model("llama"), ids, temperature=2.0)[-1].exp().numpy() * 2000
    sure = expected > 5
    chi = float((((counts - expected) ** 2) / expected)[sure].sum())
    assert chi < 2 * sure.sum(), (chi, sure.sum())


def test_temperature_zero_takes_the_likeliest_and_cuts_leave_the_rest_out():
    ids = texts(1, seed=2)[0]
    engine = TransformersEngine(model("llama"), stops=())
    order = full_logprobs(model("llama"), ids)[-1].argsort(descending=True).tolist()
    weights = full_logprobs(model("llama"), ids)[-1].exp()[order].cumsum(0)
    kept = int((weights < 0.6).sum()) + 1

    def first(**fields):
        requests = [
            SampleRequest(key=str(seed), ids=ids, seed=seed, max_tokens=1, **fields)
            for seed in range(300)
        ]
        return engine.sample(requests)

    greedy = first(temperature=0.0)
    assert {got.ids[0] for got in greedy} == {order[0]}
    logprob = float(full_logprobs(model("llama"), ids)[-1].max())
    assert greedy[0].logprobs[0] == pytest.approx(logprob, abs=1e-4)
    assert {got.ids[0] for got in first(top_k=2)} == set(order[:2])
    assert {got.ids[0] for got in first(top_p=0.6)} == set(order[:kept])
    # Log-probabilities are those before the cut.
    (other,) = {got.logprobs for got in first(top_k=1)}
    assert other[0] == pytest.approx(logprob, abs=1e-4)


def test_after_a_sync_the_new_weights_are_used():
    torch.manual_seed(4)
    changing = LlamaForCausalLM(LlamaConfig(**_SIZES))
    engine = TransformersEngine(changing, stops=())
    ids = texts(1)[0]
    first = engine.sample([SampleRequest(key="a", ids=ids, seed=1, max_tokens=4)])[0]
    with torch.no_grad():
        for parameter in changing.parameters():
            parameter.mul_(1.5)
    engine.sync(1)
    longer = (*ids, *first.ids, 9)
    got = engine.sample([SampleRequest(key="a", ids=longer, seed=1, max_tokens=4)])[0]
    rows = full_logprobs(changing, longer + got.ids)[len(longer) - 1 :]
    expected = [float(rows[place, token]) for place, token in enumerate(got.ids)]
    assert got.logprobs == pytest.approx(expected, abs=2e-4)


def test_a_conversation_that_was_rewritten_is_computed_anew():
    engine = TransformersEngine(model("llama"), stops=())
    ids = texts(1)[0]
    engine.sample([SampleRequest(key="a", ids=ids, seed=1, max_tokens=4)])
    other = (9, *ids[1:], 11, 12)
    got = engine.sample([SampleRequest(key="a", ids=other, seed=1, max_tokens=3)])[0]
    rows = full_logprobs(model("llama"), other + got.ids)[len(other) - 1 :]
    assert got.logprobs[0] == pytest.approx(float(rows[0, got.ids[0]]), abs=2e-4)


def test_little_memory_costs_time_and_changes_nothing():
    engine = TransformersEngine(model("llama"), stops=STOPS)
    engine._memory = 40_000
    most, conversations = [], texts(9)
    measure = engine._within_memory

    def measured(waiting):
        measure(waiting)
        most.append(sum(block.needed for block in engine._blocks))

    engine._within_memory = measured
    for turn in range(2):
        requests = [asked(text, row, turn) for row, text in enumerate(conversations)]
        plenty = TransformersEngine(model("llama"), stops=STOPS).sample(requests)
        answers = engine.sample(requests)
        assert [got.ids for got in answers] == [got.ids for got in plenty]
        talks = zip(conversations, answers, strict=True)
        conversations = [text + got.ids + (8, 9) for text, got in talks]
    assert len(most) > 2
    assert max(most) <= 40_000


def test_long_prompts_are_computed_in_parts(monkeypatch):
    from spade_train.engines import block

    monkeypatch.setattr(block, "_SPAN", 8)
    monkeypatch.setattr(block, "_TOGETHER", 32)
    requests = [asked(text, row, 0) for row, text in enumerate(texts(9))]
    parts = TransformersEngine(model("llama"), stops=STOPS).sample(requests)
    monkeypatch.undo()
    whole = TransformersEngine(model("llama"), stops=STOPS).sample(requests)
    assert [got.ids for got in parts] == [got.ids for got in whole]


def test_a_prompt_of_many_is_computed_once_and_each_goes_its_own_way(monkeypatch):
    computed, prompts = [], Block._prompts

    def counted(self, rows, texts):
        computed.append(len(rows))
        return prompts(self, rows, texts)

    engine = TransformersEngine(model("llama"), stops=STOPS)
    assert engine.keeps
    monkeypatch.setattr(Block, "_prompts", counted)
    one, other = texts(2)
    talks = [one, other, one, one, other]
    for turn in range(2):
        computed.clear()
        requests = [asked(talk, row, turn) for row, talk in enumerate(talks)]
        answers = engine.sample(requests)
        assert sum(computed) == (2, 5)[turn]
        for request, got in zip(requests, answers, strict=True):
            alone = TransformersEngine(model("llama"), stops=STOPS)
            (wanted,) = alone.sample([request])
            assert got.ids == wanted.ids
            assert got.logprobs == pytest.approx(wanted.logprobs, abs=2e-4)
        talks = [talk + got.ids + (8, 9) for talk, got in zip(talks, answers, strict=True)]


def test_bad_requests_and_broken_weights_are_refused():
    engine = TransformersEngine(model("llama"), stops=())
    one = SampleRequest(key="a", ids=(7,), seed=0, max_tokens=1)
    assert engine.sample([]) == []
    with pytest.raises(EngineError, match="only once"):
        engine.sample([one, one])
    with pytest.raises(EngineError, match="needs a token"):
        engine.sample([SampleRequest(key="b", ids=(), seed=0, max_tokens=1)])
    broken = LlamaForCausalLM(LlamaConfig(**_SIZES))
    with torch.no_grad():
        broken.lm_head.weight.fill_(float("nan"))
    with pytest.raises(EngineError, match="not finite"):
        TransformersEngine(broken, stops=()).sample([one])


def test_under_autocast_the_cache_is_kept_and_close():
    torch.manual_seed(1)
    wrapped = LlamaForCausalLM(LlamaConfig(**_SIZES))
    plain = wrapped.forward

    def forward(*args, logits_to_keep=0, **options):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return plain(*args, logits_to_keep=logits_to_keep, **options)

    wrapped.forward = forward
    engine = TransformersEngine(wrapped, stops=())
    assert engine.keeps
    (got,) = engine.sample([SampleRequest(key="a", ids=texts(1)[0], seed=0, max_tokens=9)])
    rows = full_logprobs(wrapped, texts(1)[0] + got.ids)[len(texts(1)[0]) - 1 :]
    expected = [float(rows[place, token]) for place, token in enumerate(got.ids)]
    assert got.logprobs == pytest.approx(expected, abs=0.1)


def test_what_was_sampled_before_a_sync_leaves_no_trace_in_what_is_sampled_after():
    requests = [asked(text, row, 0) for row, text in enumerate(texts(30, seed=9))]
    used = TransformersEngine(model("llama"), stops=STOPS, rows=8)
    used.sample([asked(text * 3, row, 1) for row, text in enumerate(texts(40, seed=1))])
    used.sync(1)
    new = TransformersEngine(model("llama"), stops=STOPS, rows=8)
    assert used.sample(requests) == new.sample(requests)  # to the last digit


def test_like_lengths_are_computed_together_and_few_rows_are_not_split():
    assert grouped([10, 900, 30], most=8) == [[1, 2, 0]]
    many = [100, 1000] * 70
    assert grouped(many, most=100) == [list(range(1, 140, 2)), list(range(0, 140, 2))]
    assert list(map(len, grouped(many, most=60))) == [60, 60, 20]
    assert list(map(len, grouped([1000] * 70 + [100] * 5, most=100))) == [75]
    assert list(map(len, grouped([1000] * 70 + [100] * 5, most=70))) == [70, 5]


def test_conversations_move_between_blocks_and_keep_what_was_computed(monkeypatch):
    from spade_train.engines import hf

    monkeypatch.setattr(hf, "_FEW", 4)
    monkeypatch.setattr(hf, "_SHORT", 8)
    engine = TransformersEngine(model("llama"), stops=())
    assert engine.keeps  # its trial is not counted
    rng = np.random.default_rng(0)
    talks = texts(24)
    fed = []
    prompts = hf.Block._prompts

    def counted(self, rows, chunk):
        fed.append(sum(len(t) - len(self._fed[r]) for t, r in zip(chunk, rows, strict=True)))
        return prompts(self, rows, chunk)

    monkeypatch.setattr(hf.Block, "_prompts", counted)
    for turn in range(4):
        requests = [asked(talk, row, turn, max_tokens=3) for row, talk in enumerate(talks)]
        for request, got in zip(requests, engine.sample(requests), strict=True):
            rows = full_logprobs(model("llama"), request.ids + got.ids)[len(request.ids) - 1 :]
            expected = [float(rows[place, token]) for place, token in enumerate(got.ids)]
            assert got.logprobs == pytest.approx(expected, abs=2e-4)
            reply = tuple(rng.integers(7, 61, int(rng.integers(1, 60))).tolist())
            talks[int(request.key)] = request.ids + got.ids + reply
    assert len(engine._blocks) > 1
    # Every token once: of each turn the last one is computed with the reply.
    replies = sum(len(request.ids) for request in requests) - 3 * 24 * 2
    assert sum(fed) == replies
