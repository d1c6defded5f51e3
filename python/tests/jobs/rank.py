"""What the jobs share: reports, a tiny model, checkpoints."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LIFE = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))  # how often torchrun has started the ranks again
REPORT = Path(os.environ["REPORT"])

torch.set_num_threads(1)


@atexit.register
def settle() -> None:
    """Waits until gloo's threads rest.

    They hold the tensors of the last collective a moment longer than the rank that waited for it. A
    thread that frees a tensor while the interpreter ends aborts the process
    (pytorch/pytorch#190489). Destroying the group is not enough, because DDP keeps the threads
    alive.
    """
    while True:
        time.sleep(0.02)  # without the interpreter's lock, which they need
        if not any(name == "pt_gloo_runloop" and state == "R" for name, state in threads()):
            return


def threads() -> Iterator[tuple[str, str]]:
    """The name and the state of each thread of this process."""
    for stat in Path("/proc/self/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
            yield name, rest[0]


class Report:
    """Lines of JSON in a file of this rank, each written at once."""

    def __init__(self) -> None:
        self._file = open(REPORT / f"rank-{RANK}.jsonl", "a", buffering=1)  # noqa: SIM115 - it ends with the process
        self("start", pid=os.getpid())

    def __call__(self, kind: str, **what: Any) -> None:
        self._file.write(json.dumps({"kind": kind, "rank": RANK, "life": LIFE, **what}) + "\n")


def arguments() -> argparse.Namespace:
    """The arguments of the jobs that are killed and go on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("checkpoint", type=Path, help="directory of checkpoints; training goes on from the last one")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--every", type=int, default=5, help="steps from one checkpoint to the next")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds of rest after a step, so that there is time to be killed")
    parser.add_argument("--loader", default="own")
    parser.add_argument("--stays", action="store_true", help="a rank whose peer was killed stays until its agent ends it")
    return parser.parse_args()


@contextlib.contextmanager
def group() -> Iterator[None]:
    # torchrun's own store outlives ranks that it restarts, and has the addresses of the old ones.
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    dist.init_process_group("gloo", store=dist.PrefixStore(f"life {LIFE}", store), rank=RANK, world_size=WORLD_SIZE)
    try:
        yield
    finally:
        dist.destroy_process_group()


class Model(torch.nn.Module):
    """A line through x; it predicts the label."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.line(x[:, None] / 2000)[:, 0]


def loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    valid = real(batch)
    return ((model(batch["x"]) - batch["label"]) ** 2 * valid).sum() / valid.sum().clamp(min=1)


def real(batch: dict[str, Any]) -> torch.Tensor:
    """Which rows count. TrainerMixin gives the model real rows, without the mask."""
    valid = batch.get("_row_valid")
    return torch.ones(len(batch["id"]), dtype=torch.bool) if valid is None else valid


def ids(batch: dict[str, Any]) -> list[int]:
    return batch["id"][real(batch)].tolist()


def save(checkpoints: Path, step: int, write: Callable[[Path], Any]) -> None:
    """All ranks write a checkpoint into a directory, which gets its name when it is complete."""
    new = checkpoints / "new"
    new.mkdir(parents=True, exist_ok=True)
    dist.barrier()
    write(new)
    dist.barrier()
    if RANK == 0:
        new.rename(checkpoints / f"step-{step:06}")
    dist.barrier()


def newest(checkpoints: Path) -> Path | None:
    """The last checkpoint that was written whole."""
    return max(checkpoints.glob("step-*"), default=None)


def steps_of(checkpoint: Path) -> int:
    return int(checkpoint.stem.partition("-")[2])


def same_on_all(what: Any) -> bool:
    """Whether all ranks have the same."""
    found: list[Any] = [None] * WORLD_SIZE
    dist.all_gather_object(found, what)
    return all(other == what for other in found)


class Trained:
    """Counts and reports the steps of a training that is killed and goes on."""

    def __init__(self, report: Report, step: int, pause: float) -> None:
        self.step = step
        self._report, self._pause = report, pause
        report("resumed", step=step)

    def __call__(self, batch: dict[str, Any]) -> None:
        self._report("step", step=self.step, ids=ids(batch))
        self.step += 1
        time.sleep(self._pause)
