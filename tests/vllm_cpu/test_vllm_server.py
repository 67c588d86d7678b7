"""A real vLLM server on the CPU: weights arrive, and log-probabilities are the trainer's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="`make test-vllm` runs these in their own environment")

import torch

from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.server import ServerEngine
from spade_train.nano.model import WEIGHTS, load

pytestmark = pytest.mark.timeout(900)
SCRIPT = Path(__file__).parents[2] / "examples" / "distributed" / "serve_vllm.sh"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bundled model, whose output head is tied, behind a server with weights of its own."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    options = ["--dtype", "float32", "--max-model-len", "256", "--enforce-eager"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(SCRIPT), str(WEIGHTS), str(port), *options],
            env={**os.environ, "PYTHON": sys.executable},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                if process.poll() is not None or healthy(url):
                    break
                time.sleep(0.5)
            assert healthy(url), log.read_text()[-3000:]
            yield url
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def difference(model: torch.nn.Module, request: SampleRequest, turn: Sampled) -> float:
    ids = torch.tensor([[*request.ids, *turn.ids]])
    with torch.no_grad():
        logits = model(ids).logits[0, len(request.ids) - 1 : -1] / request.temperature
    mine = logits.log_softmax(-1).gather(-1, torch.tensor(turn.ids)[:, None])[:, 0]
    return float((mine - torch.tensor(turn.logprobs)).abs().mean())


def test_a_server_samples_from_the_weights_that_were_handed_over(
    server: str, tmp_path: Path
) -> None:
    model, tokenizer = load()
    asked = [
        SampleRequest(
            key=f"k{i}",
            ids=tuple(range(10, 30 + i)),
            seed=2**62 + i,
            max_tokens=12,
            temperature=0.8,
            top_p=0.9 if i % 2 else 1.0,
            top_k=10 if i % 2 else 0,
        )
        for i in range(8)
    ]
    engine = ServerEngine(model, [server], {tokenizer.eos_token_id}, folder=tmp_path)
    before = []
    for update in range(3):
        engine.sync(update)
        turns = engine.sample(asked)
        assert engine.sample(asked) == turns
        gaps = [difference(model, *pair) for pair in zip(asked, turns, strict=True)]
        assert max(gaps) < 0.005, (update, gaps)
        assert turns != before
        before = turns
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.1)
    stale = engine.sample(asked)
    assert max(difference(model, *pair) for pair in zip(asked, stale, strict=True)) > 0.005
    engine.close()
    assert list(tmp_path.iterdir()) == []
