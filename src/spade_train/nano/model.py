"""The tiny model: its shape, and the bundled weights. The only door to torch and transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spade_envs.errors import ConfigError, MissingExtra
from spade_train.nano.disk import disk_errors
from spade_train.nano.quiet import no_bars

WEIGHTS = Path(__file__).with_name("weights")
"""Folder of the bundled model, in the layout of `transformers`."""

MAX_TOKENS = 512
"""Longest conversation that the model was trained on."""

LAYERS, INNER = 4, 336
"""Layers of the bundled model, and the width of their feed-forward parts."""

SHAPE: dict[str, Any] = {
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "tie_word_embeddings": True,
    "max_position_embeddings": MAX_TOKENS,
    "rope_theta": 10_000.0,
    "attention_dropout": 0.0,
}


def need_torch() -> Any:
    """Import torch and return it.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """
    try:
        import torch
        import transformers  # noqa: F401  wanted by every caller
    except ImportError as error:
        raise MissingExtra(error.name or "torch", "nano") from None
    return torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: for a model this small, more only wait for each other."""
    torch = need_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def new_model(tokenizer: Any, seed: int, *, layers: int = LAYERS, inner: int = INNER) -> Any:
    """Return an untrained model for a tokenizer, initialised from `seed`.

    Args:
        tokenizer: whose vocabulary it reads and writes.
        seed: of the first weights.
        layers: at least 2, for the lookups that are set by hand span two.
        inner: width of the feed-forward parts, >= 1.

    Raises:
        ConfigError: a size is too small.
    """
    if layers < 2 or inner < 1:
        raise ConfigError(f"{layers} layers of inner width {inner}: nano needs at least 2 and 1")
    torch = need_torch()
    from transformers import LlamaConfig, LlamaForCausalLM

    from spade_train.nano.start import set_lookups

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        num_hidden_layers=layers,
        intermediate_size=inner,
        **SHAPE,
    )
    model = LlamaForCausalLM(config)
    set_lookups(model, seed)
    return model


def load(folder: Path = WEIGHTS) -> tuple[Any, Any]:
    """Return `(model, tokenizer)` from a folder, ready to sample from.

    Raises:
        MissingExtra: torch or transformers is not installed.
        FileNotFoundError: the folder holds no weights.
    """
    torch = need_torch()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (folder / "model.safetensors").is_file():
        raise FileNotFoundError(f"{folder} holds no weights")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with no_bars():
        model = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32
        )
    return model.eval(), tokenizer


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write the model in half precision, and its tokenizer, into `folder`.

    Raises:
        OSError: the disk is full or cannot be written.
    """
    import copy

    torch = need_torch()
    folder.mkdir(parents=True, exist_ok=True)
    half = copy.deepcopy(model).to(torch.float16)
    with no_bars(), disk_errors(folder):
        half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
