"""`python -m benchmarks.audit.tables VERDICTS.json ROWS.json`: one library in docs/audit.md."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MOST_CHARS = 170
MEANS = {
    "L0.4": "a text from the code is paid",
    "L1.3": "a rollout ends in an exception, or has to be caught",
    "L1.4": "an episode may never end",
    "L2.1": "the same seed is another task for another worker",
    "L2.2": "rollouts side by side change each other",
    "L2.3": "an episode depends on those before it",
    "L2.4": "a copy goes on differently: no search over states",
    "L2.5": "few tasks; they can be learnt by heart",
    "L2.6": "seed or level changes nothing",
    "L3.2": "submitting at once is paid",
    "L3.1": "no answer of its own that is paid",
    "L3.3": "a policy that does not read is paid",
    "L3.4": "one answer, always given, is paid",
    "L3.5": "another task's answer is paid",
    "L3.6": "what is nearly right is paid",
    "L3.7": "a denied answer is paid",
    "L3.10": "copying is paid",
}
"""What each gate's finding means for training."""


def table(rows: Sequence[Mapping[str, Any]], notes: Mapping[str, str]) -> str:
    """Return the confirmed failures as a Markdown table, one line for each environment.

    Args:
        rows: what `confirm --json` wrote.
        notes: what to add for an environment, by its name.
    """
    lines = ["| environment | gates | seen again | by | for training |", "|---|---|---|---|---|"]
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["name"].lower(), _order(row["gate"]))):
        if row["confirmed"]:
            found.setdefault(row["name"], []).append(row)
    for name, some in found.items():
        gates = ", ".join(row["gate"] for row in some)
        best = {row["by"]: row for row in sorted(some, key=lambda row: _strength(row["figure"]))}
        figures = "; ".join(_plain(row["figure"]) for row in best.values())
        by = ", ".join(f"`{kind}`" for kind in best)
        means = "; ".join(dict.fromkeys(MEANS[row["gate"]] for row in some if row["gate"] in MEANS))
        note = f" ({notes[name]})" if name in notes else ""
        lines.append(f"| `{name}` | {gates} | {figures} | {by} | {means}{note} |")
    return "\n".join(lines)


def _strength(figure: str) -> float:
    """Return the mean that a figure tells, to choose among several by the same function."""
    found = re.search(r"mean ([\d.]+),", figure)
    return float(found.group(1)) if found else 0.0


def counts(document: Sequence[Mapping[str, Any]]) -> str:
    """Return how many targets got which verdict, and how many failed which gate."""
    verdicts = Counter(entry["verdict"] for entry in document)
    gates = Counter(
        result["gate"]
        for entry in document
        for result in (entry["report"] or {}).get("results", ())
        if result["outcome"] == "fail"
    )
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    by = ", ".join(f"{gate} {gates[gate]}" for gate in sorted(gates, key=_order))
    return f"{len(document)} targets: {said}. Failures by gate: {by}."


def _order(gate: str) -> tuple[int, int]:
    family, _, number = gate[1:].partition(".")
    return int(family), int(number)


def _plain(text: str) -> str:
    text = text.replace("\\n", " ").replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) < MOST_CHARS else text[:MOST_CHARS] + " ..."


def main(arguments: Sequence[str]) -> None:
    """Print counts and table."""
    verdicts, rows, *rest = (json.loads(Path(path).read_text("utf-8")) for path in arguments)
    print(counts(verdicts), table(rows, rest[0] if rest else {}), sep="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
