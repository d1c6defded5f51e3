"""The rows of a batch, with their values checked."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from chaos import tables


class WrongValue(Exception):
    """A value that is not the one that was written."""


def rows(kind: str, batch: Any) -> list[int]:
    """What the rows of a batch are known by, in their order; padding is none of them.

    Raises WrongValue where a value does not follow from the row's id.
    """
    valid = _valid(batch)
    if kind == "packed":
        blocks = np.asarray(batch["tokens"])
        _check_blocks(blocks)
        return [zlib.crc32(block.tobytes()) for block, good in zip(blocks, valid, strict=True) if good]
    ids = np.asarray(batch["id"])
    for name in batch:
        if name in CHECKS:
            CHECKS[name](ids, batch)
    if kind == "bucketed":  # a batch is a sample
        return [zlib.crc32(ids.tobytes())] if valid.any() else []
    return [int(i) for i, good in zip(ids, valid, strict=True) if good]


def _valid(batch: Any) -> np.ndarray:
    if "_row_valid" in batch:
        return np.asarray(batch["_row_valid"])
    valid = getattr(batch, "row_valid", None)
    return np.ones(len(batch["id"]), bool) if valid is None else np.asarray(valid)


def _check_blocks(blocks: np.ndarray) -> None:
    """Tokens of a document follow each other by one."""
    steps = np.diff(blocks.astype(np.int64), axis=1)
    inside = (blocks[:, 1:] % 31 != 0) & (blocks[:, 1:] != 0)
    if (steps[inside] != 1).any():
        raise WrongValue(f"tokens {blocks[(inside & (steps != 1)).any(axis=1)][0].tolist()}")


def _equal(name: str, ids: np.ndarray, found: Any, wanted: Any) -> None:
    found = np.asarray(found)
    if found.shape != wanted.shape or (found != wanted).any():
        raise WrongValue(f"{name} of the rows {ids.tolist()}: {found.tolist()}")


def _check_text(ids: np.ndarray, batch: Any) -> None:
    for i, row in enumerate(ids.tolist()):
        text = batch["text"][i]
        found = text.decode() if isinstance(text, bytes) else str(text)
        if found != tables.text_of(row):
            raise WrongValue(f"text of row {row}: {found!r}")


def _check_tokens(ids: np.ndarray, batch: Any) -> None:
    lengths = np.asarray(batch["tokens_lengths"]) if "tokens_lengths" in batch else None
    for i, row in enumerate(ids.tolist()):
        found = list(map(int, batch["tokens"][i]))
        if lengths is not None:
            found, rest = found[: lengths[i]], found[lengths[i] :]
            if any(item != -1 for item in rest):
                raise WrongValue(f"padding of row {row}: {rest}")
        if found != tables.tokens_of(row):
            raise WrongValue(f"tokens of row {row}: {found}")


def _check_maybe(ids: np.ndarray, batch: Any) -> None:
    values, there = tables.maybe_of(ids)
    _equal("maybe_valid", ids, batch["maybe_valid"], there)
    _equal("maybe", ids, np.asarray(batch["maybe"])[there], values[there])


def _check_pictures(ids: np.ndarray, batch: Any) -> None:
    colours = np.array([tables.colour_of(int(i)) for i in ids], np.uint8).reshape(-1, 3)[:, :, None, None]
    _equal("pictures", ids, batch["image"], np.broadcast_to(colours, (len(ids), 3, tables.SIZE, tables.SIZE)))


CHECKS = {
    "x": lambda ids, batch: _equal("x", ids, batch["x"], tables.x_of(ids)),
    "label": lambda ids, batch: _equal("label", ids, batch["label"], ids % 7),
    "day": lambda ids, batch: _equal("day", ids, batch["day"], tables.day_of(ids)),
    "grid": lambda ids, batch: _equal("grid", ids, batch["grid"], tables.grid_of(ids)),
    "array": lambda ids, batch: _equal("array", ids, batch["array"], tables.grid_of(ids)),
    "text": _check_text,
    "tokens": _check_tokens,
    "maybe": _check_maybe,
    "image": _check_pictures,
}
