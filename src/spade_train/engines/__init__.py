"""Sampling engines: conversations in, sampled tokens with their log-probabilities out."""

from spade_train.engines.base import Engine, Sampled, SampleRequest

__all__ = ["Engine", "SampleRequest", "Sampled"]
