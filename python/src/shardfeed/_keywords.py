"""The keyword arguments of data sets: their types and defaults.

This is the one list of them: type checkers read it, and signatures and most checks of values are
made of it. Editors show docstrings as they are written, so each argument has its text in the one of
StreamingDataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

from ._args._types import Decoder, Filters, Lengths, Manifest, Path, Stack, Tail, Unknown
from ._boxes import Boxes, Keypoints
from ._bucket import Bucket
from ._image import Image
from ._npy import Npy
from ._pack import Pack
from ._sources import Source

Packing = Mapping[str, int] | Pack
Bucketing = Mapping[str, int] | Bucket


class MapOptions(TypedDict, total=False):
    """The arguments of MapDataset besides uri. A default other than None
    follows the type.
    """

    columns: Sequence[str] | None
    filters: Filters | None
    parts: Mapping[str, float] | None
    part: str | None
    part_key: str | None
    part_seed: Annotated[int, 0]
    subsample: float | None
    rows: Path | None
    rows_new: Literal["error", "keep", "drop"] | None
    row_ids: Annotated[bool, False]
    memory: int | str | None
    cache: Annotated[bool, True]
    cache_dir: Path | None
    cache_limit: int | float | str | None
    cache_policy: str | None
    decoded_limit: int | float | str | None
    index_dir: Path | None
    storage_options: Mapping[str, Any] | None
    null: Mapping[str, Any] | None
    pad: Mapping[str, Any] | None
    max_length: Lengths | None
    vocabulary: Mapping[str, Sequence[str] | Mapping[str, int] | Path] | None
    unknown: Annotated[Unknown | Mapping[str, Unknown], "error"]
    tokenize: Mapping[str, Any] | None
    cast: Mapping[str, Any] | None
    hash: Mapping[str, int] | None
    scale: Mapping[str, tuple[float, float]] | None
    stack: Mapping[str, Stack] | None
    images: Mapping[str, Image | Npy | Literal["auto"]] | Image | Literal["auto"] | None
    boxes: Mapping[str, Boxes | Keypoints] | None
    image_decoder: Annotated[Decoder, "auto"]
    snapshot: str | int | None
    refresh: Literal["epoch"] | None
    manifest: Manifest | None
    on_error: Annotated[Literal["raise", "mask", "skip"], "raise"]
    strict: Annotated[bool, False]
    missing: Annotated[Literal["error", "null"], "error"]
    partition_types: Mapping[str, Any] | None
    invalid_utf8: Annotated[Literal["refuse", "replace"], "refuse"]
    unit_rows: int | None
    slots: int | None
    collate_workers: int | None
    timeout: Annotated[float | None, 600.0]


class DatasetOptions(MapOptions, total=False):
    """The arguments of StreamingDataset besides uri and batch_size."""

    sources: Mapping[str, Source] | None
    stop: Literal["first", "all"] | None
    epoch_size: int | None
    curriculum: Sequence[tuple[int, Mapping[str, float]]] | None
    batching: Literal["stratified", "per_source"] | None
    weights_in: Literal["samples", "tokens"] | None
    tokens: str | None
    weight: str | None
    pack: Packing | None
    bucket: Bucketing | None
    shuffle: Annotated[bool, True]
    shuffle_buffer: int | str | None
    seed: Annotated[int, 0]
    rank: int | None
    world_size: int | None
    replication: int | None
    mesh: Any
    drop_last: Annotated[bool, False]
    tail: Tail | None
    with_row_valid: Annotated[bool, False]
    seeds: Annotated[bool, False]
    plan: Path | None
    opening: Literal["each", "first"] | None
    max_lost: float | None
    lanes: int | None
    start: Literal["filled", "direct"] | None
    max_world_size: int | None
