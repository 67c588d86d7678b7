"""vLLM in the trainer's process, one engine in each. The only door to vllm.

vLLM's own worker processes are switched off (`VLLM_ENABLE_V1_MULTIPROCESSING=0`), so that weights
are handed over in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from spade_envs.errors import MissingExtra
from spade_train.batch import Solo, World
from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.vllm_worker import EXTENSION
from spade_train.engines.weights import full_weights
from spade_train.errors import EngineError

LARGEST_SEED = 2**63 - 1


class VllmEngine:
    """Samples with vLLM from copies of the trainer's weights, which `sync` brings up to date.

    It spans one GPU; a model that needs several is sampled by servers.
    """

    def __init__(
        self,
        model: Any,
        stops: Iterable[int],
        *,
        window_tokens: int,
        dtype: str = "float32",
        memory_share: float = 0.4,
        live: int = 256,
        world: World | None = None,
    ) -> None:
        """Start vLLM with weights of its own; nothing may be sampled before the first `sync`.

        Args:
            model: the trainer's model, wrapped in adapters or shards or not.
            stops: tokens at which sampling ends.
            window_tokens: tokens of the longest conversation, >= 1.
            dtype: of the engine's copy, `float32` or `bfloat16`.
            memory_share: of each GPU, for weights and cache, in (0, 1].
            live: conversations sampled at once at most.
            world: the processes that train together; each gets an engine on its own device.

        Raises:
            MissingExtra: vllm is not installed.
            EngineError: the engine cannot start.
        """
        self._model = model
        self._stops = sorted({int(i) for i in stops})
        self._window_tokens = window_tokens
        self._synced = False
        self._llm: Any = _start(
            model, window_tokens, dtype, memory_share, live, spread=(world or Solo()).size > 1
        )
        try:
            self._llm.collective_rpc("spade_prepare")
        except RuntimeError as error:
            self.close()
            raise EngineError(f"vLLM cannot be used: {error}") from error

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Return one turn per request, in order.

        Raises:
            EngineError: the engine was closed or never synced, a conversation leaves no room for a
                token, or vLLM gives up.
        """
        if self._llm is None or not self._synced:
            raise EngineError("the engine is closed or has no weights yet; sync it first")
        if not requests:
            return []
        for request in requests:
            if len(request.ids) >= self._window_tokens:
                raise EngineError(
                    f"{request.key}: {len(request.ids)} tokens leave no room in a window of "
                    f"{self._window_tokens}"
                )
        prompts = [{"prompt_token_ids": list(request.ids)} for request in requests]
        params = [_params(request, self._stops) for request in requests]
        try:
            outputs = self._llm.generate(prompts, params, use_tqdm=False)
        except (RuntimeError, ValueError) as error:
            raise EngineError(f"vLLM gave up: {error}") from error
        return [_sampled(output.outputs[0]) for output in outputs]

    def forget(self, keys: Iterable[str]) -> None:
        """Do nothing: the prefix cache drops what was not used for longest."""

    def sync(self, update: int) -> None:
        """Copy the trainer's weights into the engine and empty its cache.

        Raises:
            EngineError: the engine was closed, or vLLM refuses the weights.
        """
        if self._llm is None:
            raise EngineError("the engine is closed")
        weights = full_weights(self._model)
        try:
            self._llm.collective_rpc("spade_load", args=(weights,))
        except (RuntimeError, ValueError, KeyError) as error:
            raise EngineError(f"vLLM refuses the weights of update {update}: {error}") from error
        self._llm.reset_prefix_cache()
        self._synced = True

    def close(self) -> None:
        """Release vLLM and its memory."""
        if self._llm is not None:
            self._llm.llm_engine.engine_core.shutdown()
            self._llm = None


def _start(
    model: Any, window_tokens: int, dtype: str, memory_share: float, live: int, *, spread: bool
) -> Any:
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        raise MissingExtra(error.name or "vllm", "vllm") from None
    on_cpu = bool(current_platform.is_cpu())  # the model itself may not have been moved yet
    options: dict[str, Any] = {"distributed_executor_backend": "external_launcher"}
    with tempfile.TemporaryDirectory(prefix="spade-vllm-") as folder:
        _write_config(model, folder, window_tokens)
        try:
            return LLM(
                model=folder,
                skip_tokenizer_init=True,
                load_format="dummy",
                generation_config="vllm",
                dtype=dtype,
                max_model_len=window_tokens,
                max_num_seqs=live,
                gpu_memory_utilization=memory_share,
                enable_prefix_caching=True,
                enforce_eager=on_cpu,  # no compiler for what is small
                # After a part of a prompt vLLM turns a request's generator back, which those of
                # CPUs cannot do: there a prompt goes through whole.
                enable_chunked_prefill=not on_cpu,
                logprobs_mode="processed_logprobs",
                worker_extension_cls=EXTENSION,
                seed=0,
                **(options if spread else {}),
            )
        except (RuntimeError, ValueError) as error:
            raise EngineError(f"vLLM cannot start: {error}") from error


def _write_config(model: Any, folder: str, window_tokens: int) -> None:
    """Write the shape of the model; its weights come with the first sync.

    A window beyond the positions that the model was trained on is allowed where the trainer allows
    it too: plain rotary embeddings have no last position.
    """
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    config = type(base.config).from_dict(base.config.to_dict())
    if not config.architectures:
        config.architectures = [type(base).__name__]
    rotary = getattr(config, "rope_parameters", None) or {}
    if rotary.get("rope_type") == "default":
        config.max_position_embeddings = max(config.max_position_embeddings, window_tokens)
    config.save_pretrained(folder)


def _params(request: SampleRequest, stops: list[int]) -> Any:
    from vllm import SamplingParams

    return SamplingParams(
        seed=request.seed & LARGEST_SEED,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        logprobs=0,
        stop_token_ids=stops,
        ignore_eos=True,  # the end token is among the stops
        detokenize=False,
    )


def _sampled(output: Any) -> Sampled:
    ids = tuple(int(i) for i in output.token_ids)
    found = zip(ids, output.logprobs, strict=True)
    return Sampled(ids, tuple(float(step[i].logprob) for i, step in found))
