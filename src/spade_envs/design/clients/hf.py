"""A `transformers` model in this process: the only door to transformers and torch in spade_envs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spade_envs.design.clients.base import CompletionRequest, complete_one, shown_name
from spade_envs.design.clients.cuts import Cuts
from spade_envs.design.clients.thinking import split_thinking
from spade_envs.errors import ClientError, ConfigError, MissingExtra
from spade_envs.types import Completion, Message


class HfPolicy:
    """Samples from a causal language model that has a chat template.

    Every row draws from a generator of its own, seeded by its request, by adding Gumbel noise to
    the scores; so rows do not disturb one another's randomness in a batch. (Padding changes the
    scores in their last bits, so a near tie may still fall otherwise in another batch.)

    Args:
        model: folder or hub name.
        revision: commit or tag of a hub model.
        device: such as `cpu` or `cuda`; the best available one if None.
        batch_size: rows sampled together, >= 1.
        dtype: of the weights, such as `float32`; that of the files if `auto`.
        top_p: part of the likeliest tokens to draw from, in (0, 1].
        top_k: number of the likeliest tokens to draw from, >= 1.
        trust_remote_code: whether to run code that comes with the model; off unless you know it.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        batch_size: int = 8,
        dtype: str = "auto",
        top_p: float | None = None,
        top_k: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size must be >= 1, not {batch_size}")
        self._cuts = Cuts(top_p=top_p, top_k=top_k)
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(error.name or "transformers", "nano") from None
        if model.startswith(("/", "./", "../", "~")) and not Path(model).is_dir():
            raise ConfigError(f"there is no model folder {model}")
        self._torch, self._batch_size = torch, batch_size
        self._name = shown_name(str(Path(model))) if Path(model).exists() else model
        source: dict[str, Any] = {"revision": revision, "trust_remote_code": trust_remote_code}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, **source)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(
                model, dtype=dtype, **source
            )
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot load the model {model!r}: {error}") from error
        if self._tokenizer.chat_template is None:
            raise ConfigError(f"{model!r} has no chat template, so it cannot answer a chat")
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model.eval().to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def name(self) -> str:
        """Name of the model, for provenance."""
        return self._name

    def complete(
        self, messages: Sequence[Message], *, seed: int, max_tokens: int, temperature: float
    ) -> Completion:
        """Return the answer to a chat.

        Raises:
            ClientError: the prompt does not fit, or the device ran out of memory.
        """
        request = CompletionRequest(
            messages=tuple(messages), seed=seed, max_tokens=max_tokens, temperature=temperature
        )
        return self._sample([request])[0]

    def complete_many(
        self, requests: Sequence[CompletionRequest]
    ) -> list[Completion | ClientError]:
        """Return one answer or error per request, in order."""
        answers: list[Completion | ClientError] = []
        for start in range(0, len(requests), self._batch_size):
            batch = requests[start : start + self._batch_size]
            try:
                answers += self._sample(batch)
            except ClientError:
                answers += [complete_one(self, request) for request in batch]
        return answers

    def _sample(self, batch: Sequence[CompletionRequest]) -> list[Completion]:
        chats = [[{"role": m.role, "content": m.content} for m in r.messages] for r in batch]
        texts = self._tokenizer.apply_chat_template(
            chats, tokenize=False, add_generation_prompt=True
        )
        inputs = self._tokenizer(
            texts, return_tensors="pt", padding=True, add_special_tokens=False
        ).to(self._model.device)
        width, limit = inputs["input_ids"].shape[1], max(r.max_tokens for r in batch)
        room = getattr(self._model.config, "max_position_embeddings", None)
        if room is not None and width >= room:
            raise ClientError(f"the prompt has {width} tokens, but {self._name} takes {room}")
        try:
            with self._torch.inference_mode():
                output = self._model.generate(
                    **inputs,
                    max_new_tokens=limit if room is None else min(limit, room - width),
                    do_sample=False,
                    temperature=None,
                    top_p=None,
                    top_k=None,
                    pad_token_id=self._tokenizer.pad_token_id,
                    logits_processor=[_gumbel(self._torch, batch, self._cuts)],
                )
        except self._torch.OutOfMemoryError as error:
            raise ClientError(f"out of memory with {len(batch)} rows; lower batch_size") from error
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        rows = output[:, width:].tolist()
        return [self._read(*item) for item in zip(batch, rows, lengths, strict=True)]

    def _read(self, request: CompletionRequest, row: list[int], prompt_tokens: int) -> Completion:
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        length = next((i for i, token in enumerate(row) if token in ends), None)
        finished = length is not None and length < request.max_tokens
        kept = row[: request.max_tokens if length is None else min(length, request.max_tokens)]
        thinking, text = split_thinking(self._tokenizer.decode(kept, skip_special_tokens=True))
        return Completion(
            text=text,
            thinking=thinking,
            model=self._name,
            prompt_tokens=prompt_tokens,
            completion_tokens=len(kept) + finished,
            finish_reason="stop" if finished else "length",
        )


def _gumbel(torch: Any, batch: Sequence[CompletionRequest], cuts: Cuts) -> Any:
    """Return a logits processor after which the greedy choice is a sample, row by row."""
    generators = [torch.Generator().manual_seed(request.seed) for request in batch]

    def process(_tokens: Any, scores: Any) -> Any:
        for row, request in enumerate(batch):
            if request.temperature > 0:
                noise = torch.empty(scores.shape[1], dtype=torch.float32)
                noise.exponential_(generator=generators[row]).log_().neg_()
                kept = _cut(torch, scores[row].float() / request.temperature, cuts)
                scores[row] = kept + noise.to(scores.device)
        return scores

    return process


def _cut(torch: Any, scores: Any, cuts: Cuts) -> Any:
    """Return the scores of one row with those of tokens that may not be drawn at minus infinity."""
    if cuts.top_k is not None and cuts.top_k < len(scores):
        least = scores.topk(cuts.top_k).values[-1]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if cuts.top_p is not None and cuts.top_p < 1.0:
        ordered, places = scores.sort(descending=True, stable=True)
        shares = ordered.softmax(dim=0)
        out = shares.cumsum(dim=0) - shares >= cuts.top_p
        scores = scores.masked_fill(torch.zeros_like(out).scatter(0, places, out), -torch.inf)
    return scores
