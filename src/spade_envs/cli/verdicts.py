"""Printing the gates' verdicts: a table, and the first failure with its transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from spade_envs.cli.output import clean, print_table
from spade_envs.types import GateResult, Report

_MAX_TEXT = 600


def result_rows(results: Sequence[GateResult]) -> list[tuple[str, str, str]]:
    """Return table rows: gate, verdict, and what was found."""
    return [(f"{r.gate} {r.title}", r.outcome, r.message) for r in results]


def verdict(report: Report) -> str:
    """Return `accepted`, `passes` (too few seeds to certify, but nothing failed), or `refused`."""
    from spade_envs.gates import GATES

    if report.accepted:
        return "accepted"
    every_gate_ran = {result.gate for result in report.results} == {gate.id for gate in GATES}
    unmeasured = any(result.outcome == "skip" for result in report.results)
    return "refused" if report.failures or unmeasured or not every_gate_ran else "passes"


def print_report(target: str, report: Report, *, every: bool) -> None:
    """Print one report: all gates if `every`, else those that did not pass."""
    shown = [r for r in report.results if every or r.outcome != "pass"]
    passed = sum(r.outcome == "pass" for r in report.results)
    head = f"{clean(target)}: {verdict(report)}"
    click.echo(f"{head} ({passed} of {len(report.results)} gates passed, {report.elapsed_s:.1f} s)")
    if shown:
        print_table("", ("gate", "verdict", "what was found"), result_rows(shown))
    if report.failures:
        _print_failure(report.failures[0])
    elif verdict(report) == "passes":
        click.echo("A quick look certifies nothing; run it again without --quick to certify.")
    elif not report.complete:
        click.echo("The gates did not all run, so nothing is certified.")


def _print_failure(result: GateResult) -> None:
    click.echo(f"first failure: {result.gate} {clean(result.message)}")
    for key, value in result.evidence.items():
        if key == "transcript":
            click.echo("  transcript:")
            for line in _lines(value):
                click.echo(f"    {clean(line)}")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True)
            click.echo(f"  {key}: {clean(_cut(text))}")


def _lines(transcript: Any) -> list[str]:
    if isinstance(transcript, str):
        return transcript.splitlines()
    entries = transcript if isinstance(transcript, list) else [transcript]
    return [e if isinstance(e, str) else _cut(json.dumps(e, ensure_ascii=False)) for e in entries]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + " ..."
