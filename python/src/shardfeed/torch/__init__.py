"""shardfeed for PyTorch: batches as dicts of tensors, a loader, and helpers for other loaders and
trainers.
"""

from ._batch import Batch
from ._dataset import StreamingDataset
from ._loader import DataLoader
from ._map_loader import MapLoader
from ._mix import Mix
from ._padding import drop_padding
from ._rank_states import RankStates
from ._tensors import Bytes, Ragged

__all__ = ["Batch", "Bytes", "DataLoader", "MapLoader", "Mix", "Ragged", "RankStates", "StreamingDataset", "drop_padding"]
