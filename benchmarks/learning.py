"""`python -m benchmarks.learning agent|designer`: does the tiny model learn? Runs, then a table.

`agent`: a fixed pool of environments at the agent's frontier, several seeds; success on instances
that no update sees, before and after. `designer`: programs for an agent that stays as it was;
regret at first and at last, and how much of its change is a move to families that had more regret
from the start. Each with a control at learning rate 0 (`--still`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.frontier import POOL, frontier_pool
from spade_train.config import Config, resolve, to_toml
from spade_train.reports import read
from spade_train.runs import read_metrics
from spade_train.studies.outcome import finished
from spade_train.studies.runner import training
from spade_train.studies.statistics import Interval, interval

EPISODES = 768
"""Of an update."""
_FEW = 4
_SOON_S = 300.0
_ENDS = 8
"""Updates at both ends of a run that are averaged."""


@dataclass(frozen=True)
class Row:
    """One figure over the seeds."""

    name: str
    first: Interval | None
    last: Interval | None
    change: Interval | None


@click.command()
@click.argument("what", type=click.Choice(["agent", "designer"]))
@click.option("--seeds", default=3, help="Runs, each with a seed of its own.")
@click.option("--updates", default=60, help="Optimizer steps of a run.")
@click.option("--episodes", default=1260, help="Held-out episodes of an evaluation.")
@click.option("--jobs", default=2, help="Runs at once.")
@click.option("--still", is_flag=True, help="Control: learning rate 0.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Of all runs.")
@click.option("--out", default="runs/learning", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    what: str,
    seeds: int,
    updates: int,
    episodes: int,
    jobs: int,
    still: bool,
    settings: tuple[str, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Train, and print what changed."""
    more = [*settings, f"run.updates={updates}"]
    if still:
        more.append("optimizer.learning_rate=0")
    configs = {}
    for seed in range(seeds):
        own = [f"run.seed={seed}", *more]
        if what == "agent":
            own += stores(out, seed, episodes)
        overlay = "fixed-pool" if what == "agent" else "frozen-agent"
        folder = out / f"{what}{'-still' if still else ''}" / f"seed-{seed}"
        configs[folder] = resolve("quickstart", overlays=[overlay], settings=own)
    run_all(configs, jobs)
    found = [agent(folder) if what == "agent" else designer(folder) for folder in configs]
    rows = table_of(found)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(f"{what}, {seeds} seeds, {updates} updates", rows)


def stores(out: Path, seed: int, episodes: int) -> list[str]:
    """Return the settings of a pool at the frontier; it is evaluated on further instances."""
    store, ids = frontier_pool(out / "stores", seed=seed)
    return [
        f"pool.source={store}",
        f"pool.ids={ids}",
        f"designer.environments={POOL}",
        f"agent.episodes_per_env={EPISODES // POOL}",
        "evaluation.source=pool",
        f"evaluation.episodes={episodes}",
        "evaluation.interval=1000000",
    ]


def run_all(configs: Mapping[Path, Config], jobs: int) -> None:
    """Run what is not done yet, some at once; each is a process of its own."""
    waiting = [folder for folder in configs if not is_done(folder)]
    live: dict[Path, subprocess.Popen[bytes]] = {}
    with Console(stderr=True).status("training") as status:
        while waiting or live:
            while waiting and len(live) < jobs:
                folder = waiting.pop(0)
                folder.parent.mkdir(parents=True, exist_ok=True)
                file = folder.with_suffix(".toml")
                file.write_text(to_toml(configs[folder]))
                log = folder.with_suffix(".log").open("wb")
                live[folder] = subprocess.Popen(training(file, folder), stdout=log, stderr=log)
            time.sleep(1.0)
            for folder, process in list(live.items()):
                if process.poll() is None:
                    continue
                del live[folder]
                if process.returncode:
                    sys.exit(f"{folder} failed; see {folder.with_suffix('.log')}")
            states = (f"{each.name}: {len(lines(each))} updates" for each in live)
            status.update(f"training ({', '.join(states)})")


def is_done(folder: Path) -> bool:
    """Return whether a run came to its own end."""
    return (folder / "run.json").is_file() and finished(read(folder))


def lines(folder: Path) -> list[Mapping[str, Any]]:
    """Return the metrics of a run."""
    return list(read_metrics(folder / "metrics.jsonl"))


def agent(folder: Path) -> dict[str, tuple[float, float]]:
    """Return first and last held-out success, in all and by family, and the cost of a run."""
    found = [line for line in lines(folder) if "eval/success" in line]
    keys = [key for key in found[0] if key.startswith("eval/success")]
    keys.sort(key=lambda key: (key != "eval/success", key))
    ends = {key: (found[0][key], found[-1][key]) for key in keys if not key.endswith("_se")}
    played = [line["agent/success"] for line in lines(folder) if "agent/success" in line]
    # Each update plays instances that no update before has seen.
    soon = played[: updates_within(folder, _SOON_S)]
    fresh = {
        "new instances, 5 minutes": (mean(played[:_FEW]), mean(soon[-_FEW:])),
        "new instances, all updates": (mean(played[:_FEW]), mean(played[-_FEW:])),
    }
    flat = [line["agent/flat_groups"] for line in lines(folder) if "agent/flat_groups" in line]
    groups = {"groups without a difference": (mean(flat[:_FEW]), mean(flat[-_FEW:]))}
    return {**fresh, **ends, **groups, **cost(folder)}


def updates_within(folder: Path, time_s: float) -> int:
    """Return how many updates a run had done after some time of training."""
    done = 0.0
    walls = update_walls(folder)
    for number, wall_s in enumerate(walls):
        done += wall_s
        if done > time_s:
            return number
    return len(walls)


def update_walls(folder: Path) -> list[float]:
    """Return what each update took, in seconds; the evaluation before the first is left out."""
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    walls = [each["wall_s"] for each in events if each["kind"] == "times"]
    before = [e["wall_s"] for e in events if e["kind"] == "evaluated" and e["update"] == 0]
    walls[0] -= sum(before)
    return walls


def designer(folder: Path) -> dict[str, tuple[float, float]]:
    """Return regret and mix of families at both ends of a run, and its cost."""
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    family = {each["env"]: each["family"] for each in events if each["kind"] == "designed"}
    scored = [e for e in events if e["kind"] == "scored" and e["regret"] is not None]
    last = max(each["update"] for each in scored)
    begin = [each for each in scored if each["update"] < _ENDS]
    end = [each for each in scored if each["update"] > last - _ENDS]
    early = defaultdict(list)
    for each in begin:
        early[family[each["env"]]].append(each["regret"])
    # What the families of the end had as regret in the beginning: a move towards the peak alone.
    worth = {name: mean(values) for name, values in early.items()}
    first, final = (Counter(family[e["env"]] for e in part) for part in (begin, end))
    found = {
        "regret": (mean([e["regret"] for e in begin]), mean([e["regret"] for e in end])),
        "score": (mean([e["score"] for e in begin]), mean([e["score"] for e in end])),
        "success": (mean([e["success"] for e in begin]), mean([e["success"] for e in end])),
        "first regret of the families written": (weighted(worth, first), weighted(worth, final)),
    }
    best = sorted(worth, key=lambda name: -worth[name])[: max(1, len(worth) // 4)]
    shares = [sum(part[name] for name in best) / sum(part.values()) for part in (first, final)]
    found["share of the quarter of families with most regret"] = (shares[0], shares[1])
    accepted = [
        line["designer/acceptance"] for line in lines(folder) if "designer/acceptance" in line
    ]
    found["acceptance"] = (mean(accepted[:_ENDS]), mean(accepted[-_ENDS:]))
    return {**found, **cost(folder)}


def weighted(worth: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """Return the mean worth of what was written; families without a worth are passed over."""
    known = {name: count for name, count in counts.items() if name in worth}
    return sum(worth[name] * count for name, count in known.items()) / max(1, sum(known.values()))


def cost(folder: Path) -> dict[str, tuple[float, float]]:
    """Return episodes and wall time of the updates of a run, as pairs from 0."""
    walls = update_walls(folder)
    episodes = max(line.get("budget/agent_episodes", 0.0) for line in lines(folder))
    return {"agent episodes": (0.0, episodes), "wall time of the updates, s": (0.0, sum(walls))}


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def table_of(found: Sequence[Mapping[str, tuple[float, float]]]) -> list[Row]:
    """Return each figure over the seeds that have it."""
    rows = []
    for name in dict.fromkeys(name for each in found for name in each):
        pairs = [each[name] for each in found if name in each]
        first, last = interval([a for a, _ in pairs]), interval([b for _, b in pairs])
        rows.append(Row(name, first, last, interval([b - a for a, b in pairs])))
    return rows


def show(title: str, rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table(title=f"{title} (mean over seeds, 95 % interval)")
    for column in ("", "first", "last", "change"):
        table.add_column(column, justify="left" if not column else "right")
    for row in rows:
        change = row.change
        span = (
            ""
            if change is None or change.low is None
            else f" [{change.low:+.3f}, {change.high:+.3f}]"
        )
        ends = (f"{each.mean:.3f}" if each else "" for each in (row.first, row.last))
        table.add_row(row.name, *ends, f"{change.mean:+.3f}{span}" if change else "")
    Console().print(table)


if __name__ == "__main__":
    main()
