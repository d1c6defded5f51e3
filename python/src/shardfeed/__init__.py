"""Training batches from parquet: shuffled, resumable, without a copy between engine and trainer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import errors
from ._version import __version__
from ._warn import MixingWarning, PaddingWarning, ShardfeedWarning, name_log
from .errors import ShardfeedError

if TYPE_CHECKING:
    from ._batch import Batch
    from ._boxes import Boxes, Keypoints
    from ._bucket import Bucket
    from ._columns._columns import Bytes, Ragged
    from ._columns._field import Field
    from ._columns._nulls import NullWarning
    from ._columns._schema import Schema
    from ._dataset import StreamingDataset
    from ._fim import FillInTheMiddle
    from ._image import Image
    from ._map import MapDataset
    from ._npy import Npy
    from ._pack import Pack
    from ._select import Selected, select
    from ._sources import Source
    from ._stats import Stats
    from ._tokenizer import Tokenizer
    from ._verdict import Headspace, Verdict
    from ._wait_metrics import WaitMetrics

name_log()

__all__ = [
    "Batch",
    "Boxes",
    "Bucket",
    "Bytes",
    "Field",
    "FillInTheMiddle",
    "Headspace",
    "Image",
    "Keypoints",
    "MapDataset",
    "MixingWarning",
    "Npy",
    "NullWarning",
    "Pack",
    "PaddingWarning",
    "Ragged",
    "Schema",
    "Selected",
    "ShardfeedError",
    "ShardfeedWarning",
    "Source",
    "Stats",
    "StreamingDataset",
    "Tokenizer",
    "Verdict",
    "WaitMetrics",
    "__version__",
    "errors",
    "select",
]

# Where the names are that need numpy. They are imported when they are first used, so that the
# shardfeed command starts without it.
_MODULES = {
    "Batch": "_batch",
    "Boxes": "_boxes",
    "Bucket": "_bucket",
    "Bytes": "_columns._columns",
    "Field": "_columns._field",
    "FillInTheMiddle": "_fim",
    "Headspace": "_verdict",
    "Image": "_image",
    "Keypoints": "_boxes",
    "Npy": "_npy",
    "MapDataset": "_map",
    "NullWarning": "_columns._nulls",
    "Pack": "_pack",
    "Ragged": "_columns._columns",
    "Schema": "_columns._schema",
    "Selected": "_select",
    "Source": "_sources",
    "Stats": "_stats",
    "StreamingDataset": "_dataset",
    "Tokenizer": "_tokenizer",
    "Verdict": "_verdict",
    "WaitMetrics": "_wait_metrics",
    "select": "_select",
}


def __getattr__(name: str) -> Any:
    if (module := _MODULES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
