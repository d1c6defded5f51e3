"""Training batches from parquet: shuffled, resumable, and without a copy between the engine and the trainer."""

from ._version import __version__
from .errors import ShardfeedError

__all__ = ["ShardfeedError", "__version__"]
