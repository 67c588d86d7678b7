"""Tokenizer, samples, optimizer and schedule, on small inputs."""

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from spade_envs.errors import ConfigError  # noqa: E402
from spade_train.nano.data import Conversation, batches, demo_sample, design_sample, encode, sample  # noqa: E402
from spade_train.nano.families import Draw  # noqa: E402
from spade_train.nano.model import load, new_model, save  # noqa: E402
from spade_train.nano.muon import Muon, orthogonal  # noqa: E402
from spade_train.nano.tokens import recurring_lines, train_tokenizer  # noqa: E402
from spade_train.nano.train import Settings, train  # noqa: E402

PASSAGES = ["The list holds an index and a slice of the sequence."]


@pytest.fixture(scope="module")
def tokenizer():
    designs = [design_sample(Draw(i), PASSAGES).texts for i in range(150)]
    spoken = [text for i in range(150) for text in demo_sample(Draw(i), PASSAGES).texts]
    return train_tokenizer([t[1] for t in designs], spoken, vocabulary=700, lines=60)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=80))
def test_the_tokenizer_is_lossless(tokenizer, text):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text


def test_digits_and_capitals_are_tokens_of_their_own(tokenizer):
    assert tokenizer.tokenize("1024") == ["1", "0", "2", "4"]
    assert tokenizer.tokenize("ABBA") == ["A", "B", "B", "A"]


def test_recurring_lines_are_single_tokens(tokenizer):
    line = "\n        super().reset(seed=seed, options=options)"
    assert len(tokenizer(line, add_special_tokens=False)["input_ids"]) == 1
    assert recurring_lines(["a = long_enough_1\nb = long_enough"] * 9, 5) == ["\nb = long_enough"]


def test_the_chat_template_writes_what_the_model_is_trained_on(tokenizer):
    chat = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == ("<|user|>q<|assistant|>a<|end|>")
    ids, _ = encode(Conversation(("q", "a")), tokenizer, 99)
    assert tokenizer.decode(ids) == "<|user|>q<|assistant|>a<|end|>"


def test_only_what_the_assistant_says_is_learnt(tokenizer):
    ids, learnt = encode(Conversation(("ask", "7", "more", "8")), tokenizer, 99)
    said = [token for token, wanted in zip(ids, learnt, strict=True) if wanted]
    assert tokenizer.decode(said) == "7<|end|>8<|end|>"
    assert encode(Conversation(("ask", "7")), tokenizer, 3) is None


def test_samples_are_a_function_of_seed_and_number():
    assert sample(3, 5, PASSAGES) == sample(3, 5, PASSAGES)
    assert sample(3, 5, PASSAGES) != sample(4, 5, PASSAGES)
    both = [len(sample(0, i, PASSAGES).texts[1]) > 600 for i in range(60)]
    assert 5 <= sum(both) < 30  # some designs, and many episodes


@given(lengths=st.lists(st.integers(1, 90), min_size=1, max_size=60))
def test_batches_hold_every_sample_once_and_keep_the_budget(lengths):
    items = [([0] * n, [True] * n) for n in lengths]
    made = batches(items, 100, Draw(0))
    assert sorted(len(ids) for batch in made for ids, _ in batch) == sorted(lengths)
    assert all(len(b) * max(len(ids) for ids, _ in b) <= 100 or len(b) == 1 for b in made)


def test_the_schedule_rises_stays_and_falls():
    plan = Settings(steps=100, warmup=10, decay_share=0.5)
    assert plan.rate(0) == pytest.approx(0.1)
    assert plan.rate(30) == 1.0
    assert plan.rate(75) == pytest.approx(0.51)
    assert 0 < plan.rate(99) < 0.03


@pytest.mark.parametrize("shape", [(6, 20), (20, 6), (8, 8)])
def test_orthogonal_evens_out_the_singular_values(shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(2, *shape)))
    assert values.min() > 0.3
    assert values.max() < 1.4


def test_muon_lowers_a_loss():
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(4, 6))
    goal = torch.randn(4, 6)
    muon = Muon([weight], weight_decay=0.0)
    losses = []
    for _ in range(60):
        loss = ((weight - goal) ** 2).sum()
        weight.grad = None
        loss.backward()
        muon.step(0.1)
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


def test_models_come_in_other_sizes(tokenizer):
    one, other = (new_model(tokenizer, 0, layers=2, inner=inner) for inner in (64, 65))
    # three matrices of 128 in each of two layers
    assert other.num_parameters() - one.num_parameters() == 2 * 3 * 128
    with pytest.raises(ConfigError, match="at least 2 and 1"):
        new_model(tokenizer, 0, layers=1)


def test_training_repeats_itself_and_survives_saving(tokenizer, tmp_path):
    plan = Settings(steps=3, tokens_per_step=400, warmup=1, pool=12)
    models = [new_model(tokenizer, 0) for _ in range(2)]
    figures = [train(model, tokenizer, plan, PASSAGES) for model in models]
    assert figures[0]["loss"] == figures[1]["loss"] > 0
    assert figures[0]["tokens"] > 300
    save(models[0], tokenizer, tmp_path)
    loaded, again = load(tmp_path)
    assert again.chat_template == tokenizer.chat_template
    ids = torch.tensor([again("def reset(self)", add_special_tokens=False)["input_ids"]])
    with torch.inference_mode():
        difference = (loaded(input_ids=ids).logits - models[0](input_ids=ids).logits).abs().max()
    assert difference < 0.05


def test_weights_that_are_not_there_are_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no weights"):
        load(tmp_path)


def test_a_new_model_finds_what_followed_a_token(tokenizer):
    model = new_model(tokenizer, 0)
    model.set_attn_implementation("eager")
    letters = "QWHKCJ"
    ids = tokenizer("".join(letters) + "H", add_special_tokens=False)["input_ids"]
    assert len(ids) == 7
    with torch.inference_mode():
        seen = model(torch.tensor([ids]), output_attentions=True)
    first, second = (layer[0] for layer in seen.attentions[:2])
    assert [int(row.argmax()) for row in first[0][1:]] == [0, 1, 2, 3, 4, 5]  # one before
    assert [int(row.argmax()) for row in first[1][2:]] == [0, 1, 2, 3, 4]  # two before
    for head in (0, 1):
        assert int(second[head][6].argmax()) == 3  # K, which followed the first H
    told = seen.logits[0, 6, ids[:6]]
    assert int(told.argmax()) == 3
