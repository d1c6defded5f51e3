"""The streams of a job, and the rows of their batches."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import shardfeed
from chaos import tables

MEMORY_BYTES = 192 << 20  # of a rank
COLUMNS = ["id", "x", "label", "text", "tokens"]
FILTER, BLOCK = "label != 3", 64


class WrongValue(Exception):
    """A value that is not the one that was written."""


def make(scenario: dict[str, Any], rank: int, world: int, data: str, **other: Any) -> Any:
    """The stream of a rank."""
    options = {"batch_size": scenario["batch_size"], "rank": rank, "world_size": world, "tail": scenario["tail"], "memory": MEMORY_BYTES}
    options |= {"shuffle": False} if scenario["stream"] == "ordered" else {"seed": scenario["seed"], "shuffle_buffer": 1500}
    options |= other
    kind = scenario["stream"]
    if kind == "mixed":
        return shardfeed.StreamingDataset(
            sources={
                "rows": shardfeed.Source(f"{data}/rows", weight=3),
                "more": shardfeed.Source(f"{data}/more", weight=1, filters="label < 5"),
            },
            epoch_size=6000,
            columns=COLUMNS,
            **options,
        )
    if kind == "images":
        images = {"image": shardfeed.Image(size=tables.SIZE)}
        return shardfeed.StreamingDataset(f"{data}/pictures", columns=["id", "image"], images=images, **options)
    if kind == "packed":
        return shardfeed.StreamingDataset(f"{data}/rows", columns=["tokens"], pack={"tokens": BLOCK}, **options)
    if kind == "filtered":
        return shardfeed.StreamingDataset(f"{data}/rows", columns=COLUMNS, filters=FILTER, **options)
    if kind in ("threads", "workers"):
        return _loader(kind, f"{data}/rows", **options)
    dataset = shardfeed.StreamingDataset(f"{data}/rows", columns=COLUMNS, **options)
    return dataset.map(_unchanged) if kind == "map" else dataset


def _loader(kind: str, address: str, **options: Any) -> Any:
    from shardfeed.torch import DataLoader

    beside = {"threads": 2} if kind == "threads" else {"num_workers": 2}
    return DataLoader(address, columns=COLUMNS, with_row_valid=True, **beside, **options).map(_unchanged)


def _unchanged(batch: Any) -> Any:
    return batch


def rows(kind: str, batch: Any) -> list[int]:
    """What the rows of a batch are known by, in their order; padding is none of them.

    Raises WrongValue where a value does not follow from the row's id.
    """
    valid = np.asarray(batch["_row_valid"] if kind in ("threads", "workers") else batch.row_valid)
    if kind == "packed":
        blocks = np.asarray(batch["tokens"])
        _check_blocks(blocks)
        return [zlib.crc32(block.tobytes()) for block, good in zip(blocks, valid, strict=True) if good]
    ids = np.asarray(batch["id"])
    check = _check_pictures if kind == "images" else _check_rows
    check(ids, batch)
    return [int(i) for i, good in zip(ids, valid, strict=True) if good]


def _check_blocks(blocks: np.ndarray) -> None:
    """Tokens of a document follow each other by one."""
    steps = np.diff(blocks.astype(np.int64), axis=1)
    inside = (blocks[:, 1:] % 31 != 0) & (blocks[:, 1:] != 0)
    if (steps[inside] != 1).any():
        raise WrongValue(f"tokens {blocks[(inside & (steps != 1)).any(axis=1)][0].tolist()}")


def _check_rows(ids: np.ndarray, batch: Any) -> None:
    wanted = {"x": tables.x_of(ids), "label": ids % 7}
    for name, values in wanted.items():
        if (np.asarray(batch[name]) != values).any():
            raise WrongValue(f"{name} of the rows {ids.tolist()}: {np.asarray(batch[name]).tolist()}")
    for i, row in enumerate(ids.tolist()):
        _check_row(row, batch["text"][i], batch["tokens"][i])


def _check_row(row: int, text: Any, tokens: Any) -> None:
    found = text.decode() if isinstance(text, bytes) else str(text)
    if found != tables.text_of(row):
        raise WrongValue(f"text of row {row}: {found!r}")
    if list(map(int, tokens)) != tables.tokens_of(row):
        raise WrongValue(f"tokens of row {row}: {list(tokens)}")


def _check_pictures(ids: np.ndarray, batch: Any) -> None:
    wanted = np.array([tables.colour_of(int(i)) for i in ids], np.uint8)[:, :, None, None]
    if (np.asarray(batch["image"]) != wanted).any():
        raise WrongValue(f"pictures of the rows {ids.tolist()}")
