"""States of all ranks in one checkpoint of torch.distributed.checkpoint.

Such a checkpoint has each value once, whichever rank it is of, and loads only the keys that the new
run has too. So the audit's records, which differ by rank, are the rows of a table that all ranks of
a job divide among them, of the same size in every job. On load each rank of the new job has the
rows of its part: each record comes to one rank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist

from .._documented import documented
from ..errors import OptionError

_ROWS = 4096  # of the table; the ranks of larger jobs have no part
_NAMES = ("epoch", "world", "rank", "from", "to", "rows", "lost", "padded")
_WORDS = ("hash", "cuts")
_WIDTH = len(_NAMES) + len(_WORDS)


@documented
class RankStates:
    """The state of a loader or data set for ``torch.distributed.checkpoint``, with what each rank got
    of the epoch.

    ``dcp.save({"loader": RankStates(loader)}, ...)`` and ``dcp.load`` of the same, on any number of
    ranks. The table of the records takes 320 KiB of a checkpoint.

    Args:
        loader: a loader or data set with ``state_dict`` and ``load_state_dict``.
    """

    def __init__(self, loader: Any) -> None:
        if not hasattr(loader, "load_state_dict"):
            raise OptionError(f"RankStates needs a loader or a data set, got {type(loader).__name__}")
        self._loader = loader

    def state_dict(self) -> dict[str, Any]:
        """The state: what all ranks have in common as a text, and the table."""
        state = dict(self._loader.state_dict())
        records = state.pop("audit", [])
        return {"state": json.dumps(state), "audit": _table(records)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue where the state was taken."""
        records = _records(state_dict["audit"].as_subclass(torch.Tensor))
        state = json.loads(state_dict["state"])
        self._loader.load_state_dict({**state, "audit": records} if records else state)


class _Table(torch.Tensor):
    """The rows of all ranks, of which this one has its part. The methods are of torch's protocol
    for tensors in checkpoints.
    """

    def _part(self) -> tuple[int, int]:
        rank, world_size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        return rank * _ROWS // world_size, (rank + 1) * _ROWS // world_size

    def __create_chunk_list__(self) -> list[Any]:
        from torch.distributed.checkpoint.metadata import ChunkStorageMetadata

        first, end = self._part()
        return [ChunkStorageMetadata(offsets=torch.Size([first, 0]), sizes=torch.Size([end - first, _WIDTH]))] if end > first else []

    def __create_write_items__(self, fqn: str, object: Any) -> list[Any]:
        from torch.distributed.checkpoint.metadata import MetadataIndex, TensorProperties
        from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

        properties = TensorProperties.create_from_tensor(self.as_subclass(torch.Tensor))
        return [
            WriteItem(
                index=MetadataIndex(fqn, chunk.offsets),
                type=WriteItemType.SHARD,
                tensor_data=TensorWriteData(chunk=chunk, properties=properties, size=torch.Size([_ROWS, _WIDTH])),
            )
            for chunk in self.__create_chunk_list__()
        ]

    def __get_tensor_shard__(self, index: Any) -> torch.Tensor:
        first, end = self._part()
        return self.as_subclass(torch.Tensor)[first:end]


def _table(records: list[dict[str, Any]]) -> _Table:
    """A table with the records of this rank in its part, the last ones if not all fit."""
    table = torch.zeros(_ROWS, _WIDTH, dtype=torch.int64).as_subclass(_Table)
    shard = table.__get_tensor_shard__(None)
    kept = records[max(0, len(records) - len(shard)) :]
    if kept:
        shard[: len(kept)] = torch.tensor([_row(record) for record in kept])
    return table


def _row(record: Mapping[str, Any]) -> list[int]:
    words = [int.from_bytes(bytes.fromhex(record.get(name) or "0" * 16), "big", signed=True) for name in _WORDS]
    return [*(record[name] for name in _NAMES), *words]


def _records(table: torch.Tensor) -> list[dict[str, Any]]:
    found = []
    for row in table[table[:, _NAMES.index("world")] > 0].tolist():
        record: dict[str, Any] = dict(zip(_NAMES, row))
        record |= {name: n.to_bytes(8, "big", signed=True).hex() for name, n in zip(_WORDS, row[len(_NAMES) :]) if n or name == "hash"}
        found.append(record)
    return found
