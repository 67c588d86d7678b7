"""What runs inside vLLM's workers, in the trainer's process and in servers alike.

vLLM mixes the class into its worker by name (`--worker-extension-cls`); its methods are then called
through `collective_rpc`. Nothing here imports vLLM: it is there already when this is loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

EXTENSION = "spade_train.engines.vllm_worker.WorkerExtension"
"""What to give as vLLM's `worker_extension_cls`."""


class WorkerExtension:
    """Loads the trainer's weights and reports log-probabilities before any cut.

    The names begin with `spade_` so that none collides with a method of vLLM's workers.
    """

    model_runner: Any
    spade_folder: str = ""

    def spade_prepare(self) -> dict[str, str]:
        """Make the sampler report log-probabilities before any cut; return what is loaded.

        vLLM's processed log-probabilities are those after `top_p` and `top_k`; the trainer's are
        those of softmax(logits / temperature), so the two could not be compared.

        Raises:
            RuntimeError: a vLLM whose sampler is not known here.
        """
        _report_before_cut(self.model_runner.sampler)
        return {"folder": self.spade_folder}

    def spade_load(self, weights: Iterable[tuple[str, Any]]) -> None:
        """Take weights under the names of a checkpoint, from the same process."""
        self.model_runner.reload_weights(weights_iterator=weights)
        _repack_tied(self.model_runner.get_model())

    def spade_load_folder(self, folder: str) -> dict[str, str]:
        """Take the weights from the safetensors files of a folder."""
        self.model_runner.reload_weights(weights_path=folder)
        _repack_tied(self.model_runner.get_model())
        self.spade_folder = folder
        return {"folder": folder}


def _repack_tied(model: Any) -> None:
    """Pack shared weights anew where vLLM keeps packed copies.

    On CPUs each layer multiplies by a packed copy of its weight. Reloading packs the layers that it
    loads; an output head that shares the embedding's weight is not among them and would go on with
    the old copy, without any error.
    """
    layers = [layer for layer in model.modules() if getattr(layer, "weight", None) is not None]
    owners = Counter(id(layer.weight) for layer in layers)
    for layer in layers:
        if owners[id(layer.weight)] > 1 and hasattr(layer, "cpu_linear"):
            layer.quant_method.process_weights_after_loading(layer)


def _report_before_cut(sampler: Any) -> None:
    if getattr(sampler, "spade_before_cut", False):
        return
    if hasattr(sampler, "topk_topp_sampler"):
        _wrap_first_runner(sampler.topk_topp_sampler)
    elif hasattr(sampler, "_sample_random"):
        _wrap_second_runner(sampler)
    else:
        raise RuntimeError(f"{type(sampler).__qualname__} is not a sampler known to spade-train")
    sampler.spade_before_cut = True


def _wrap_first_runner(cutter: Any) -> None:
    inner = cutter.forward

    def forward(logits: Any, generators: Any, k: Any, p: Any) -> tuple[Any, Any]:
        if k is None and p is None:
            whole: tuple[Any, Any] = inner(logits, generators, k, p)
            return whole
        logprobs = logits.float().log_softmax(dim=-1)  # first: the cut works in place
        sampled, _ = inner(logits, generators, k, p)
        return sampled, logprobs

    cutter.forward = forward


def _wrap_second_runner(sampler: Any) -> None:
    inner = sampler._sample_random

    def sample_random(
        logits: Any, mapping: Any, mapping_np: Any, pos: Any, top_k: Any, top_p: Any, fused: Any
    ) -> tuple[Any, Any]:
        cut = top_k is not None or top_p is not None
        before = logits.clone() if cut else None
        sampled, after = inner(logits, mapping, mapping_np, pos, top_k, top_p, fused)
        return sampled, before if cut else after

    sampler._sample_random = sample_random
