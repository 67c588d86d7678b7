"""Printing the gates' verdicts: a table, and every failure with its transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from spade_envs.cli.output import clean, counted, print_table
from spade_envs.types import GateResult, Report

if TYPE_CHECKING:
    from spade_envs.reports.entry import Entry

_MAX_TEXT = 600


def result_rows(results: Sequence[GateResult]) -> list[tuple[str, str, str]]:
    """Return table rows: gate, verdict, and what was found."""
    return [(f"{r.gate} {r.title}", r.outcome, r.message) for r in results]


def print_entry(entry: Entry, *, every: bool) -> None:
    """Print one entry; all gates if `every`, else those that did not pass."""
    if entry.report is None:
        click.echo(f"{clean(entry.label)}: not checked: {clean(entry.found)}")
        return
    print_report(entry.label, entry.report, every=every)
    if entry.checked.weakened:
        click.echo(f"isolation: {entry.report.layers[-1]}")


def print_report(target: str, report: Report, *, every: bool) -> None:
    """Print one report: all gates if `every`, else those that fail, warn or were cut off."""
    from spade_envs.gates import GATES
    from spade_envs.reports.entry import counts, cut_off, unfinished, verdict

    shown = [r for r in report.results if every or r.outcome in ("fail", "warn") or cut_off(r)]
    head = f"{clean(target)}: {verdict(report)}"
    click.echo(f"{head} ({counts(report)}, {report.elapsed_s:.1f} s)")
    if shown:
        print_table("", ("gate", "verdict", "what was found"), result_rows(shown))
    for result in report.failures:
        _print_failure(result)
    if report.failures:
        left_out = len(GATES) - len(report.results)
        if left_out > 0:
            click.echo(f"{counted(left_out, 'gate')} left out after that; --deep runs them all.")
        return
    if verdict(report) == "passes":
        click.echo("So few seeds certify nothing; to certify, leave out --quick and --seeds.")
    elif not report.complete:
        click.echo(f"Nothing is certified: {unfinished(report)}.")


def print_audit(entry: Entry) -> None:
    """Print what an auditor remarked, if one was asked."""
    audit = entry.audit
    if audit is None:
        return
    head = f"{clean(entry.label)}: {audit.status} by {clean(audit.model)}"
    if audit.status == "not audited":
        click.echo(f"{head}: {clean(audit.reason)}")
        return
    dropped = f", {audit.dropped} without a true quote dropped" if audit.dropped else ""
    click.echo(f"{head}: {counted(len(audit.remarks), 'remark')}{dropped} (advisory)")
    for remark in audit.remarks:
        click.echo(f"  line {remark.line}, {remark.kind}: {clean(remark.explanation)}")
        click.echo(f"    {clean(remark.quote)}")


def _print_failure(result: GateResult) -> None:
    if result.evidence:
        click.echo(f"evidence of {result.gate}")
    unplayed = result.evidence.get("transcript") == []
    for key, value in result.evidence.items():
        if unplayed and key in ("transcript", "return"):
            continue  # nothing was played: an empty episode would say nothing
        if key == "transcript":
            click.echo("  transcript:")
            for line in _lines(value):
                click.echo(f"    {clean(line)}")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            click.echo(f"  {clean(key)}: {clean(_cut(text))}")


def _lines(transcript: Any) -> list[str]:
    if isinstance(transcript, str):
        return transcript.splitlines()
    entries = transcript if isinstance(transcript, list) else [transcript]
    return [e if isinstance(e, str) else _cut(json.dumps(e, ensure_ascii=False)) for e in entries]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + " ..."
