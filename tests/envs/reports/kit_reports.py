"""Entries as a run makes them, without running anything."""

from spade_envs.audit import Audit, Remark
from spade_envs.gates import GATES, GATES_VERSION
from spade_envs.gates.stats import Rate
from spade_envs.interop import Checked, Target
from spade_envs.reports.entry import Entry
from spade_envs.types import EnvSource, GateResult, Interface, Report

NASTY = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>&lt; {{ 7*7 }} \u202egnp.exe\x1b[2J"
)


def source(text="x = 1\ny = 2\nz = 3\n"):
    return EnvSource(code=text, origin="file")


def report(outcomes=None, *, evidence=None, messages=None, entry="Maze", layers=("seccomp",)):
    """A complete report in which every gate passes but those in `outcomes`."""
    results = [
        GateResult(
            gate=gate.id,
            title=gate.title,
            outcome=(outcomes or {}).get(gate.id, "pass"),
            message=(messages or {}).get(gate.id, "all is well"),
            evidence=(evidence or {}).get(gate.id, {}),
        )
        for gate in GATES
    ]
    return Report(
        source_sha256=source().sha256,
        gates_version=GATES_VERSION,
        interface=Interface(entry=entry, kind="text", levels=2, summary="Find the way."),
        results=tuple(results),
        layers=layers,
        elapsed_s=1.25,
    )


WON = Rate.of([1.0] * 20).as_json()
RATES = {
    "L3.1": {"success_rate": {"0": WON, "1": WON}},
    "L3.3": {"levels": {"0": {"policy": "echo", **Rate.of([0.0] * 19 + [1.0]).as_json()}}},
    "L3.4": {"best_constant": {"0": 0.05, "1": 0.0}},
}


def accepted(label="good.py"):
    target = Target(label=label, source=source())
    return Entry(checked=Checked(target=target, report=report(evidence=RATES)))


def refused(label="bad.py", text="at line 2: no"):
    evidence = {
        "level": 1,
        "seed": 7,
        "first_observation": text,
        "transcript": [{"action": text, "observation": text, "reward": float("nan"), "done": True}],
        "fault": {"kind": "exception", "op": "step", "traceback": f"line 3 in step: {text}"},
        text: {text: [text, {text: text}]},
        "rate": Rate.of([1.0, 0.0]).as_json(),
    }
    made = report(
        {"L3.3": "fail", "L2.5": "warn"},
        evidence={"L3.3": evidence},
        messages={"L3.3": text},
        entry=text,
    )
    audit = Audit(
        status="audited",
        model=text,
        remarks=(Remark(kind="unreachable", line=1, quote=text, explanation=text),),
    )
    target = Target(label=label, source=source(f"x = 1\n# {text}\nz = 3\n"), licence=text)
    return Entry(checked=Checked(target=target, report=made), audit=audit)


def missing(label="nope.py"):
    error = f"{label} is not a file"
    checked = Checked(target=Target(label=label, error=error), error=error)
    return Entry(checked=checked, unknown=True)
