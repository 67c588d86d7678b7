"""What a model's layers attend to, as far as its configuration says."""

from __future__ import annotations

from typing import Any


def attends_to_all(model: Any) -> bool:
    """Return whether every layer looks at all tokens before, by plain attention.

    Sliding windows, recurrent layers, and attention that takes no mask of its own say no.

    Args:
        model: a model of `transformers`.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    attention = getattr(config, "_attn_implementation", "eager")
    window = getattr(config, "sliding_window", None) if kinds == {"full_attention"} else None
    used = getattr(config, "use_sliding_window", True) and not getattr(config, "layer_types", 0)
    return kinds == {"full_attention"} and attention in ("eager", "sdpa") and not (window and used)
