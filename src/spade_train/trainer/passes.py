"""One forward pass over a micro-batch: what goes into the loss, and what is counted of it."""

from __future__ import annotations

import math
from typing import Any

import torch

from spade_train.trainer.micro import MicroBatch


class Pass:
    """The tensors of one micro-batch, completed while the loss is computed.

    The first token of a dialogue is never sampled and stands for TRL's prompt; all others are its
    completion, padded on the right, so that positions are those that the sampler saw.
    """

    def __init__(self, micro: MicroBatch, *, device: Any, cap: float) -> None:
        """Take a micro-batch to a device.

        Args:
            micro: the micro-batch.
            device: of the model.
            cap: greatest importance weight, > 0.
        """
        padded = micro.padded
        self.ids = torch.as_tensor(padded.ids, device=device)
        self.attention = torch.as_tensor(padded.attention, device=device).long()
        self.scored = torch.as_tensor(padded.mask, device=device)
        self.mask = self.scored[:, 1:].float()
        self.temperature = micro.temperature
        self.entropies: Any = None
        self.difference = torch.zeros_like(self.mask)
        self._cap = cap
        self._sampler = torch.as_tensor(padded.logprobs[:, 1:], dtype=torch.float32, device=device)
        self._advantages = torch.as_tensor(micro.advantages, dtype=torch.float32, device=device)
        self.on_policy = torch.as_tensor(micro.on_policy, device=device)
        self.logps = torch.zeros_like(self.mask)
        self.inputs: dict[str, Any] = {
            "prompt_ids": self.ids[:, :1],
            "prompt_mask": self.attention[:, :1],
            "completion_ids": self.ids[:, 1:],
            "completion_mask": self.attention[:, 1:],
            "tool_mask": self.mask,
        }

    def see(self, logps: Any, entropies: Any) -> None:
        """Take the trainer's log-probabilities, and weigh the advantages by importance.

        Args:
            logps: [B, T - 1] of the tokens after the first.
            entropies: [B, T - 1], or None.
        """
        self.entropies = entropies
        self.logps = logps.detach().float()
        self.difference = (self.logps - self._sampler) * self.mask
        weights = self.difference.clamp(max=math.log(self._cap)).exp()
        self.inputs["advantages"] = self._advantages[:, None] * weights

    @property
    def capped(self) -> Any:
        """[B, T - 1], 1 where the importance weight was cut."""
        return (self.difference > math.log(self._cap)) * self.mask


class Totals:
    """Sums over the micro-batches of one update, then over the processes."""

    def __init__(self, device: Any) -> None:
        """Begin at 0."""
        # Loss, tokens, entropy, capped, divergence, compared tokens, their differences.
        self._sums = torch.zeros(7, dtype=torch.float64, device=device)

    def add(self, work: Pass, loss: Any) -> None:
        """Count a micro-batch whose loss was computed.

        Args:
            work: the pass.
            loss: its part of the loss of the whole batch.
        """
        mask = work.mask
        compared = mask * work.on_policy[:, None]
        reference = work.inputs.get("ref_per_token_logps")
        divergence = torch.zeros_like(mask)
        if reference is not None:
            gap = (reference - work.logps) * mask
            divergence = gap.exp() - gap - 1.0
        self._sums += torch.stack(
            [
                each.double().sum()
                for each in (
                    loss,
                    mask,
                    work.entropies.detach() * mask,
                    work.capped,
                    divergence,
                    compared,
                    work.difference.abs() * compared,
                )
            ]
        )

    def reduced(self, accelerator: Any, *, kl: bool) -> dict[str, float]:
        """Return the metrics of the update, the same in all processes.

        Args:
            accelerator: of the trainer.
            kl: whether there is a divergence.
        """
        sums = self._sums
        if accelerator.num_processes > 1:
            sums = accelerator.reduce(sums, reduction="sum")
        loss, tokens, entropies, capped, divergence, compared, difference = sums.tolist()
        values = {"train/loss": loss, "train/trained_tokens": tokens}
        if tokens:
            values["train/entropy"] = entropies / tokens
            values["train/clip_share"] = capped / tokens
        if tokens and kl:
            values["train/kl"] = divergence / tokens
        if compared:
            values["train/logp_difference"] = difference / compared
        return values
