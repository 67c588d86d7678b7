"""A tiny model, and sources and engines that follow a script, for the tests of the trainer."""

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from spade_train.batch import Batch, Row
from spade_train.config import Config
from spade_train.tokens import Dialogue, Segment
from spade_train.types import Role

VOCAB = 48


def tiny_tokenizer():
    words = {f"w{n}": n for n in range(VOCAB - 1)} | {"<end>": VOCAB - 1}
    raw = Tokenizer(models.WordLevel(words, unk_token="w0"))
    return PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<end>", pad_token="<end>")


def tiny_model(seed=0, *, tied=True):
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=tied,
        initializer_range=0.1,
        bos_token_id=None,
        eos_token_id=VOCAB - 1,
        pad_token_id=VOCAB - 1,
    )
    return LlamaForCausalLM(config)


def logps(model, ids, temperature=1.0):
    """[T] log-probabilities of the tokens of one dialogue, the first counted as 0."""
    out = model(input_ids=torch.as_tensor(ids)[None]).logits[0, :-1].double() / temperature
    picked = torch.log_softmax(out, -1).gather(-1, torch.as_tensor(ids)[1:, None])[:, 0]
    return torch.cat([torch.zeros(1, dtype=picked.dtype), picked])


def dialogue(model, lengths, *, seed, temperature=1.0, shift=0.0):
    """Random tokens: prompt, turn, reply, turn ...; log-probabilities are those of the model."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, VOCAB - 1, size=sum(lengths))
    with torch.no_grad():
        values = logps(model, ids, temperature).numpy() + shift
    made, start = Dialogue(()), 0
    for number, length in enumerate(lengths):
        span = slice(start, start + length)
        sampled = tuple(float(v) for v in values[span]) if number % 2 else None
        made = made.append(Segment(tuple(int(i) for i in ids[span]), sampled))
        start += length
    return made


def mixed_rows(model, *, seed=0, agents=5, designers=2, shift=0.0):
    """Rows of both roles, of unequal lengths, at their own temperatures."""
    rng = np.random.default_rng([seed, 7])
    rows = []
    for n in range(agents):
        lengths = [int(k) for k in rng.integers(2, 7, size=2 + 2 * (n % 2))]
        made = dialogue(model, lengths, seed=[seed, 0, n], shift=shift)
        rows.append(Row(dialogue=made, advantage=float(rng.normal()), role=Role.AGENT))
    for n in range(designers):
        lengths = [int(k) for k in rng.integers(8, 16, size=2)]
        made = dialogue(model, lengths, seed=[seed, 1, n], temperature=0.7, shift=shift)
        rows.append(
            Row(
                dialogue=made,
                advantage=float(rng.normal()) * 3,
                role=Role.DESIGNER,
                temperature=0.7,
            )
        )
    return rows


def batch_of(rows, share=slice(None)):
    tokens = sum(row.dialogue.sampled_tokens for row in rows)
    return Batch(rows=tuple(rows[share]), tokens=float(tokens))


class Script:
    """A source that makes each batch with a function and notes what it hears."""

    def __init__(self, make, updates, *, saves=()):
        self.make, self.updates, self.saves = make, updates, saves
        self.seen = []
        self.loaded = None

    def batch(self, update):
        return self.make(update) if update < self.updates else None

    def updated(self, update, stats):
        self.seen.append((update, dict(stats.values)))
        return True

    def wants_save(self, update):
        return update + 1 in self.saves

    def save(self, stage):
        stage.put("loop.json", b"{}")

    def load(self, checkpoint):
        self.loaded = checkpoint.update


class Hand:
    """An engine that only notes when it was told to take up the weights."""

    def __init__(self):
        self.synced = []

    def sync(self, update):
        self.synced.append(update)


def settings(**sections):
    """A configuration in which gradients are neither clipped nor decayed, unless told so."""
    base = {
        "run": {"updates": 8, "threads": 1},
        "optimizer": {"learning_rate": 1e-2, "max_grad_norm": 1e9, "weight_decay": 0.0},
        "loss": {"micro_batch": 3},
    }
    for name, values in sections.items():
        base[name] = {**base.get(name, {}), **values}
    return Config.model_validate(base)
