"""One process of a job of JAX: COORDINATOR PROCESSES PROCESS URI REPORT. It writes what it saw as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

COORDINATOR, PROCESSES, PROCESS, URI, REPORT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5])

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.config.update("jax_num_cpu_devices", 4 // PROCESSES)
jax.distributed.initialize(COORDINATOR, PROCESSES, PROCESS)

import jax.numpy as jnp  # noqa: E402 - as a program does
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import shardfeed  # noqa: E402
import shardfeed.jax  # noqa: E402

OPTIONS: dict[str, Any] = {"columns": ["id"], "seed": 7, "cast": {"id": "int32"}}
ROWS = 64  # of a global batch
told: dict[str, Any] = {"process": jax.process_index(), "place": {}}


@jax.jit
def add(values: jax.Array) -> jax.Array:
    return jnp.sum(values)


def sharding(shape: tuple[int, int]) -> NamedSharding:
    """Of the rows, over a mesh of data x model."""
    return NamedSharding(Mesh(np.array(jax.devices()).reshape(shape), ("data", "model")), P("data"))


def read(name: str, over: NamedSharding, steps: int | None = None) -> shardfeed.jax.DataLoader:
    """Reads an epoch, or so many steps: the rows that lie here, in the order of the batch, and the sum over all processes."""
    loader = shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **OPTIONS)
    here, total = [], 0
    for step, batch in enumerate(loader):
        assert batch["id"].shape == (ROWS,)
        parts = {shard.index[0].indices(ROWS)[0]: np.asarray(shard.data) for shard in batch["id"].addressable_shards}
        here.append([int(i) for start in sorted(parts) for i in parts[start]])
        total += int(add(batch["id"]))
        if step + 1 == steps:
            break
    told["place"][name] = [loader.rank, loader.world_size]
    told[name] = {"ids": here, "total": total, "engine": loader.dataset._engine_pid, "state": loader.state_dict()}
    return loader


def says(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "nothing"


def refused() -> dict[str, str]:
    """What several processes must not do."""
    over = sharding((4, 1))
    padded = {"columns": ["tokens"], "pad": {"tokens": 0}}
    own = [d for d in jax.devices() if d.process_index == 0]
    apart = NamedSharding(Mesh(np.array(own), ("data",)), P("data"))
    uneven = NamedSharding(Mesh(np.array(jax.devices()[:3]), ("data",)), P("data"))
    other = shardfeed.StreamingDataset(URI, batch_size=ROWS // 4, rank=0, world_size=4, drop_last=True, **OPTIONS)
    seeds = shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **{**OPTIONS, "seed": jax.process_index()})
    return {
        "longest": says(lambda: shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **padded)),
        "no sharding": says(lambda: shardfeed.jax.DataLoader(URI, global_batch_size=ROWS, **OPTIONS)),
        "apart": says(lambda: shardfeed.jax.place(apart, ROWS)),
        "uneven": says(lambda: shardfeed.jax.place(uneven, 3 * ROWS)),
        "place": says(lambda: shardfeed.jax.batches(other, over)),
        "seeds": says(lambda: list(seeds)),
    }


def begun() -> list[int]:
    """The rank of a data set without arguments, and its first ids."""
    dataset = shardfeed.StreamingDataset(URI, batch_size=ROWS // PROCESSES, drop_last=True, **OPTIONS)
    first = next(iter(shardfeed.jax.batches(dataset, sharding((4, 1)))))["id"]
    told["begun"] = [int(i) for shard in first.addressable_shards for i in np.asarray(shard.data)]
    return [dataset.rank, dataset.world_size]


def alternating() -> None:
    """A mesh in which the devices of the processes alternate."""
    order = sorted(jax.devices(), key=lambda d: (d.id % (4 // PROCESSES), d.process_index))
    read("alternating", NamedSharding(Mesh(np.array(order), ("data",)), P("data")))


read("data", sharding((4, 1)))
read("data x model", sharding((2, 2)))
if PROCESSES == 2:
    read("model", sharding((1, 4)), steps=10)
    read("left", sharding((4, 1)), steps=10)
    told["place"]["begun"] = begun()
    alternating()
    told["refused"] = refused()
(REPORT / f"{PROCESS}.json").write_text(json.dumps(told))
print("done", os.getpid(), flush=True)
jax.distributed.shutdown()
