"""One process of a job of JAX: COORDINATOR PROCESS URI REPORT STATE. It writes what it saw as JSON.

There are two processes with two devices each. STATE is a file with the state of another job.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

COORDINATOR, PROCESS, URI, REPORT, STATE = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5])

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.config.update("jax_num_cpu_devices", 2)
jax.distributed.initialize(COORDINATOR, 2, PROCESS)

import jax.numpy as jnp  # noqa: E402 - as a program does
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import shardfeed  # noqa: E402
import shardfeed.jax  # noqa: E402

OPTIONS: dict[str, Any] = {"columns": ["id"], "seed": 7, "cast": {"id": "int32"}}
ROWS = 64  # of a global batch
STEPS = 10
told: dict[str, Any] = {"process": jax.process_index()}


@jax.jit
def add(values: jax.Array) -> jax.Array:
    return jnp.sum(values)


def sharding(shape: tuple[int, int], order: list[int] | None = None, *spec: str) -> NamedSharding:
    """Over a mesh of data x model with the devices in this order; by default of the rows alone."""
    devices = np.array(jax.devices())[order or [0, 1, 2, 3]]
    return NamedSharding(Mesh(devices.reshape(shape), ("data", "model")), P(*(spec or ["data"])))


def here(array: jax.Array) -> list[int]:
    """The rows of an array that lie in this process, in their order."""
    parts = {shard.index[0].indices(ROWS)[0]: np.asarray(shard.data) for shard in array.addressable_shards}
    return [int(i) for start in sorted(parts) for i in parts[start]]


def read(name: str, over: NamedSharding, steps: int | None = None, state: Any = None) -> None:
    """Reads an epoch, or so many steps: the rows in this process, and the sum over all."""
    loader = shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **OPTIONS)
    if state is not None:
        loader.load_state_dict(state)
    ids, total = [], 0
    for step, batch in enumerate(loader):
        assert batch["id"].shape == (ROWS,)
        ids.append(here(batch["id"]))
        total += int(add(batch["id"]))
        if step + 1 == steps:
            break
    place = [loader.rank, loader.world_size]
    told[name] = {"place": place, "ids": ids, "total": total, "engine": loader.dataset._engine_pid, "state": loader.state_dict()}


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
    of_the_first = NamedSharding(Mesh(np.array(jax.devices()[:2]), ("data",)), P("data"))
    uneven = NamedSharding(Mesh(np.array(jax.devices()[:3]), ("data",)), P("data"))
    of_four = shardfeed.StreamingDataset(URI, batch_size=ROWS // 4, rank=0, world_size=4, drop_last=True, **OPTIONS)
    seeds = shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **{**OPTIONS, "seed": jax.process_index()})
    return {
        "longest": says(lambda: shardfeed.jax.DataLoader(URI, over, global_batch_size=ROWS, **padded)),
        "no sharding": says(lambda: shardfeed.jax.DataLoader(URI, global_batch_size=ROWS, **OPTIONS)),
        "of the first": says(lambda: shardfeed.jax.place(of_the_first, ROWS)),
        "uneven": says(lambda: shardfeed.jax.place(uneven, 3 * ROWS)),
        "place": says(lambda: shardfeed.jax.batches(of_four, over)),
        "seeds": says(lambda: list(seeds)),
    }


def without_arguments() -> None:
    """A data set that is given no rank takes that of jax.distributed."""
    dataset = shardfeed.StreamingDataset(URI, batch_size=ROWS // 2, drop_last=True, **OPTIONS)
    ids = [here(batch["id"]) for batch in shardfeed.jax.batches(dataset, sharding((4, 1)))]
    told["without arguments"] = {"place": [dataset.rank, dataset.world_size], "ids": ids}


def matrix(order: list[int]) -> list[int]:
    """The sums of the columns of padded lists, with the columns over the model axis."""
    pad = {"tokens": {"value": 0, "max_length": 4, "to_max": True}}
    over = sharding((2, 2), order, "data", "model")
    by_column = {"tokens": over, "tokens_lengths": sharding((2, 2), order)}
    loader = shardfeed.jax.DataLoader(URI, by_column, global_batch_size=ROWS, columns=["tokens"], pad=pad, shuffle=False)
    tokens = next(iter(loader))["tokens"]
    assert {shard.data.shape for shard in tokens.addressable_shards} == {(ROWS // 2, 2)}
    sums = jax.jit(lambda t: t.sum(0), out_shardings=NamedSharding(over.mesh, P()))(tokens)
    return [int(s) for s in np.asarray(sums.addressable_data(0))]


read("data", sharding((4, 1)))
read("data x model", sharding((2, 2)))
read("model over processes", sharding((2, 2), [0, 2, 1, 3]), STEPS)
read("alternating", sharding((4, 1), [0, 2, 1, 3]))
read("reversed", sharding((4, 1), [2, 3, 0, 1]))
read("left", sharding((4, 1)), STEPS)
read("resumed", sharding((4, 1)), state=json.loads(STATE.read_text()))
without_arguments()
told["matrix"] = [matrix([0, 1, 2, 3]), matrix([0, 2, 1, 3])]
told["refused"] = refused()
(REPORT / f"{PROCESS}.json").write_text(json.dumps(told))
jax.distributed.shutdown()
