import resource
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

from spade_train.engines.handover import write_weights  # noqa: E402
from spade_train.engines.weights import full_weights  # noqa: E402
from spade_train.nano.model import load, save  # noqa: E402
from spade_train.runs.checkpoint import Checkpoints  # noqa: E402
from spade_train.trainer.state import save_trainer  # noqa: E402

_MOST_BYTES = 4096


@contextmanager
def full_disk():
    """Let no file grow beyond some bytes, as where a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_weights_is_an_error_of_the_disk(tmp_path):
    model, tokenizer = load()
    places = Checkpoints(tmp_path / "checkpoints", run="0" * 32)
    adam = torch.optim.AdamW(model.parameters())
    refused = pytest.raises(OSError, match=r"cannot write weights to .*policy: .*large")
    with full_disk(), refused, places.stage(1) as stage:
        save_trainer(stage, 1, model=model, optimizer=adam, tokenizer=tokenizer)
    assert places.latest() is None
    with full_disk(), pytest.raises(OSError, match=r"cannot write weights to .*nano: .*large"):
        save(model, tokenizer, tmp_path / "nano")
    with full_disk(), pytest.raises(OSError, match=r"cannot write weights to .*large"):
        write_weights(full_weights(model), tmp_path / "handed")
    assert not (tmp_path / "handed").exists()
