"""Training batches from parquet: shuffled, resumable, and without a copy between the engine and the trainer."""

from . import errors
from ._batch import Batch
from ._columns import Bytes, Ragged
from ._dataset import StreamingDataset
from ._nulls import NullWarning
from ._schema import Field, Schema
from ._version import __version__
from .errors import ShardfeedError

__all__ = [
    "Batch",
    "Bytes",
    "Field",
    "NullWarning",
    "Ragged",
    "Schema",
    "ShardfeedError",
    "StreamingDataset",
    "__version__",
    "errors",
]
