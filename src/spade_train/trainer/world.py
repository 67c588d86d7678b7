"""The processes that `accelerate launch` or `torchrun` started, as a `World`."""

from __future__ import annotations

from typing import Any

import msgspec

from spade_envs.types import Json
from spade_train.batch import Solo, World


class Processes:
    """A world of several processes, each of which calls every method at the same time.

    Values travel as MessagePack in tensors of bytes, over the backend that training uses.
    """

    def __init__(self, state: Any) -> None:
        """Take the state of the processes, an `accelerate.PartialState`."""
        self._state = state

    @property
    def rank(self) -> int:
        """Number of this process, from 0, the main one."""
        return int(self._state.process_index)

    @property
    def size(self) -> int:
        """Processes there are."""
        return int(self._state.num_processes)

    def gather(self, value: Json) -> list[Json]:
        """Return the values of all processes by rank, in every process; all must call it."""
        import torch
        from torch import distributed

        device = self._state.device
        data = bytearray(msgspec.msgpack.encode(value))
        sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(self.size)]
        distributed.all_gather(sizes, torch.tensor([len(data)], device=device))
        lengths = [int(each) for each in sizes]
        mine = torch.zeros(max(lengths), dtype=torch.uint8, device=device)
        mine[: len(data)] = torch.frombuffer(data, dtype=torch.uint8).to(device)
        parts = [torch.zeros_like(mine) for _ in lengths]
        distributed.all_gather(parts, mine)
        return [
            msgspec.msgpack.decode(part[:length].cpu().numpy().tobytes())
            for part, length in zip(parts, lengths, strict=True)
        ]


def open_world() -> World:
    """Return the world that this process belongs to: one of its own if nobody launched more."""
    import torch
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available())
    return Solo() if state.num_processes == 1 else Processes(state)
