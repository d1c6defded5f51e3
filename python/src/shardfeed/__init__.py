"""Training batches from parquet: shuffled, resumable, without a copy between engine and trainer."""

from . import errors
from ._batch import Batch
from ._bucket import Bucket
from ._columns import Bytes, Ragged
from ._dataset import StreamingDataset
from ._image import Image
from ._map import MapDataset
from ._nulls import NullWarning
from ._pack import Pack
from ._schema import Field, Schema
from ._select import Selected, select
from ._sources import Source
from ._version import __version__
from ._warn import MixingWarning, PaddingWarning, ShardfeedWarning, name_log
from .errors import ShardfeedError

name_log()

__all__ = [
    "Batch",
    "Bucket",
    "Bytes",
    "Field",
    "Image",
    "MapDataset",
    "MixingWarning",
    "NullWarning",
    "Pack",
    "PaddingWarning",
    "Ragged",
    "Schema",
    "Selected",
    "ShardfeedError",
    "ShardfeedWarning",
    "Source",
    "StreamingDataset",
    "__version__",
    "errors",
    "select",
]
