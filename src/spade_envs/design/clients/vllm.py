"""A vLLM engine in this process: the only door to vllm in spade_envs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spade_envs.design.clients.base import CompletionRequest, shown_name
from spade_envs.design.clients.cuts import Cuts
from spade_envs.design.clients.guided import BLOCK_REGEX
from spade_envs.design.clients.thinking import split_thinking
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.types import Completion, Message

_ON_CPU: dict[str, Any] = {
    "enforce_eager": True,  # compiling takes minutes
    # After a part of a prompt vLLM turns a row's generator back, which those of CPUs cannot do.
    "enable_chunked_prefill": False,
}


class VllmPolicy:
    """Samples with vLLM, which batches by itself; rows have seeds of their own.

    Args:
        model: folder or hub name; its tokenizer needs a chat template.
        guided: whether the answer is bound to one fenced Python block.
        top_p: part of the likeliest tokens to draw from, in (0, 1].
        top_k: number of the likeliest tokens to draw from, >= 1.
        engine: further settings of `vllm.LLM`, such as `max_model_len`; on CPUs it neither
            compiles nor cuts prompts into parts unless told.
    """

    def __init__(
        self,
        model: str,
        *,
        guided: bool = False,
        top_p: float | None = None,
        top_k: int | None = None,
        **engine: Any,
    ) -> None:
        self._cuts = Cuts(top_p=top_p, top_k=top_k).fields()
        try:
            import vllm
            from vllm.platforms import current_platform
        except ImportError:
            raise MissingExtra("vllm", "vllm") from None
        if current_platform.is_cpu():
            engine = _ON_CPU | engine
        self._vllm, self._name, self._guided = vllm, shown_name(model), guided
        try:
            self._llm = vllm.LLM(model=model, **engine)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigError(f"vLLM cannot load the model {model!r}: {error}") from error

    @property
    def name(self) -> str:
        """Name of the model, for provenance."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: the prompt does not fit, or the engine gives up.
        """
        request = CompletionRequest(
            messages=tuple(messages), seed=seed, max_tokens=max_tokens, temperature=temperature
        )
        return self._sample([request])[0]

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order, sampled together."""
        try:
            return list(self._sample(requests)) if requests else []
        except ClientError as error:
            if len(requests) == 1:
                return [error]
        # One prompt that does not fit refuses them all, so each is asked alone.
        return [answer for request in requests for answer in self.complete_many([request])]

    def _sample(self, requests: Sequence[CompletionRequest]) -> list[Completion]:
        chats = [[{"role": m.role, "content": m.content} for m in r.messages] for r in requests]
        try:
            outputs = self._llm.chat(chats, [self._params(r) for r in requests], use_tqdm=False)
        except _failures() as error:
            raise ClientError(f"vLLM gave up: {error}") from error
        return [self._read(output) for output in outputs]

    def _params(self, request: CompletionRequest) -> Any:
        extra = {}
        if self._guided:
            from vllm.sampling_params import StructuredOutputsParams

            extra["structured_outputs"] = StructuredOutputsParams(regex=BLOCK_REGEX)
        return self._vllm.SamplingParams(
            seed=request.seed,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            **self._cuts,
            **extra,
        )

    def _read(self, output: Any) -> Completion:
        row = output.outputs[0]
        thinking, text = split_thinking(row.text)
        return Completion(
            text=text,
            model=self._name,
            prompt_tokens=len(output.prompt_token_ids),
            completion_tokens=len(row.token_ids),
            finish_reason=row.finish_reason,
            thinking=thinking,
        )


def _failures() -> tuple[type[Exception], ...]:
    """Return what the engine raises; those of newer releases are no longer errors of Python."""
    try:
        from vllm.exceptions import VLLMError
    except ImportError:
        return (RuntimeError, ValueError)
    return (RuntimeError, ValueError, VLLMError)
