"""shardfeed for PyTorch: batches as dicts of tensors, a loader, and what other loaders and trainers need."""

from ._dataset import StreamingDataset
from ._loader import DataLoader
from ._tensors import Bytes, Ragged

__all__ = ["Bytes", "DataLoader", "Ragged", "StreamingDataset"]
