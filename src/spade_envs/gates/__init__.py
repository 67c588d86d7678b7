"""Executed gates: whether an environment may be trained on, with evidence."""

from spade_envs.gates.check import check
from spade_envs.gates.report import report_from_json, report_to_json
from spade_envs.gates.table import GATES, GATES_VERSION, Gate

__all__ = ["GATES", "GATES_VERSION", "Gate", "check", "report_from_json", "report_to_json"]
