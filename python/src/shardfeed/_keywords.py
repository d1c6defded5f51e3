"""The keyword arguments of a data set as type checkers see them.

StreamingDataset documents them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ._bucket import Bucket
    from ._image import Image, Jitter, Pair
    from ._npy import Npy
    from ._pack import Pack
    from ._sources import Source

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")  # what a data set or loader yields


class Expression(Protocol):
    """A condition of pyarrow.compute."""

    def is_valid(self) -> Any: ...

    def isin(self, values: Any) -> Any: ...


Path = str | os.PathLike[str]
Address = Path | Sequence[Path]
Condition = tuple[str, str, Any]
Manifest = Path | Mapping[str, Any]
Filters = str | Sequence[Condition] | Sequence[Sequence[Condition]] | Expression
Packing = Union[Mapping[str, int], "Pack"]
Bucketing = Union[Mapping[str, int], "Bucket"]
Unknown = Literal["error"] | int
Length = int | Sequence[int | None]  # one for all levels of lists, or one for each
Lengths = Length | Mapping[str, Length]
Tail = Literal["drop", "pad", "short", "carry"]
Decoder = Literal["auto", "turbo", "go"]


class StackOptions(TypedDict, total=False):
    """A matrix of columns, where a list of them does not say enough."""

    columns: Sequence[str]
    dtype: Any
    null: Any
    keep: bool | Sequence[str]


Stack = Sequence[str] | StackOptions


class ImageOptions(TypedDict, total=False):
    """The arguments of Image."""

    size: int | tuple[int, int]
    crop: Literal["center", "random_resized"] | None
    resize: int | None
    scale: Pair | None
    ratio: Pair | None
    flip: float
    color_jitter: Jitter | None
    interpolation: Literal["bilinear", "bicubic"]
    mean: Sequence[float] | None
    std: Sequence[float] | None
    layout: Literal["CHW", "HWC"]
    dtype: Any
    exif: bool
    reducing_gap: float | None
    max_bytes: int | None
    max_pixels: int | None
    max_scans: int | None


class DatasetOptions(TypedDict, total=False):
    """The arguments of StreamingDataset besides uri and batch_size."""

    sources: Mapping[str, Source] | None
    stop: Literal["first", "all"] | None
    epoch_size: int | None
    curriculum: Sequence[tuple[int, Mapping[str, float]]] | None
    batching: Literal["stratified", "per_source"] | None
    weights_in: Literal["samples", "tokens"] | None
    tokens: str | None
    columns: Sequence[str] | None
    filters: Filters | None
    parts: Mapping[str, float] | None
    part: str | None
    part_key: str | None
    part_seed: int
    subsample: float | None
    rows: Path | None
    rows_new: Literal["error", "keep", "drop"] | None
    weight: str | None
    pack: Packing | None
    bucket: Bucketing | None
    shuffle: bool
    shuffle_buffer: int | str | None
    seed: int
    rank: int | None
    world_size: int | None
    replication: int | None
    mesh: Any
    drop_last: bool
    tail: Tail | None
    with_row_valid: bool
    row_ids: bool
    seeds: bool
    memory: int | str | None
    cache: bool
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
    unknown: Unknown | Mapping[str, Unknown]
    cast: Mapping[str, Any] | None
    hash: Mapping[str, int] | None
    scale: Mapping[str, tuple[float, float]] | None
    stack: Mapping[str, Stack] | None
    images: Mapping[str, Image | Npy | Literal["auto"]] | Literal["auto"] | None
    image_decoder: Decoder
    manifest: Manifest | None
    plan: Path | None
    opening: Literal["each", "first"] | None
    strict: bool
    missing: Literal["error", "null"]
    partition_types: Mapping[str, Any] | None
    invalid_utf8: Literal["refuse", "replace"]
    on_error: Literal["raise", "mask", "skip"]
    max_lost: float | None
    lanes: int | None
    unit_rows: int | None
    start: Literal["filled", "direct"] | None
    max_world_size: int | None
    slots: int | None
    collate_workers: int | None
    timeout: float | None
