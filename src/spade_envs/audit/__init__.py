"""A language model's opinion on a source: advisory, checked against the text, never a verdict."""

from spade_envs.audit.answer import read_answer
from spade_envs.audit.auditor import audit_all
from spade_envs.audit.values import Audit, Remark

__all__ = ["Audit", "Remark", "audit_all", "read_answer"]
