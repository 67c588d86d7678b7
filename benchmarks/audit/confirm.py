"""`python -m benchmarks.audit.confirm VERDICTS.json...`: try every failure again, without our code.

The verdicts say only what to try. Questions, games and scores come from the libraries' own
functions, seeds and figures from here; nothing of spade_envs is imported. Exit code 0 if every
failure is confirmed, 1 if one is not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.audit.by_hand import BY_HAND
from benchmarks.audit.claims import Claim, claims_of
from benchmarks.audit.libraries import Unavailable, module
from benchmarks.audit.probes import PROBES, Seen

TIMEOUT_S = 300.0


def look(claim: Claim) -> dict[str, Any]:
    """Return a claim's row: what was claimed, what was seen, and which function looked."""
    seen, by = Seen(False, "no second look for this gate; read the source"), ""
    if claim.kind:
        by = claim.kind
        seen = _apart(claim)
    hand = BY_HAND.get((claim.library, claim.name, claim.gate))
    if hand is not None and not seen.confirmed:
        by, seen = "read", hand
    return {
        "library": claim.library,
        "name": claim.name,
        "gate": claim.gate,
        "claim": claim.message,
        "by": by,
        **asdict(seen),
    }


def _apart(claim: Claim) -> Seen:
    """Look in a process of its own: a library may hang, exit or change its process."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(claim, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not mine.poll(TIMEOUT_S):
            return Seen(False, f"no result after {TIMEOUT_S:.0f} s")
        return Seen(**json.loads(mine.recv_bytes()))
    except EOFError:
        return Seen(False, "the process ended without a result")
    finally:
        process.kill()
        process.join()


def _report(claim: Claim, pipe: Any) -> None:
    quiet = io.StringIO()
    try:
        # Some libraries write files into the folder that they are called in.
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
        ):
            seen = PROBES[claim.kind](claim)
    except Exception as error:  # noqa: BLE001
        seen = Seen(False, f"the second look failed: {type(error).__name__}: {error}")
    pipe.send_bytes(json.dumps(asdict(seen)).encode())


def merged(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims without those of the gate L1.1 that L1.3 makes, too."""
    found = list(claims)
    raising = {(one.library, one.name) for one in found if one.gate == "L1.3"}
    return [one for one in found if one.gate != "L1.1" or (one.library, one.name) not in raising]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the second look and print one line for each claim."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.confirm")
    parser.add_argument("verdicts", nargs="+", type=Path, help="JSON of spade-envs check --json")
    parser.add_argument("--outcome", default="fail", choices=["fail", "warn"])
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--gates", default="", help="gates, separated by commas")
    parser.add_argument("--json", type=Path, help="write the rows there")
    chosen = parser.parse_args(arguments)
    claims = merged(
        claim
        for path in chosen.verdicts
        for claim in claims_of(json.loads(path.read_text("utf-8")), chosen.outcome)
        if (not chosen.only or claim.name in chosen.only.split(","))
        and (not chosen.gates or claim.gate in chosen.gates.split(","))
    )
    try:
        for library in sorted({claim.library for claim in claims}):
            module(library)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 2
    rows = []
    for claim in claims:
        row = look(claim)
        rows.append(row)
        if chosen.json:  # after each, since a run takes long
            chosen.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
        word = "confirmed" if row["confirmed"] else "NOT CONFIRMED"
        print(f"{claim.library}:{claim.name} {claim.gate} {word} ({row['by']}): {row['figure']}")
    missed = sum(not row["confirmed"] for row in rows)
    print(f"{len(rows) - missed} of {len(rows)} confirmed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
