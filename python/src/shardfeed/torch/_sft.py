"""TRL's SFTTrainer over packed data sets."""

from __future__ import annotations

import inspect
from typing import Any

from ._dataset import StreamingDataset


class SFTData:
    """An SFTTrainer's handling of data sets, which leaves this package's data sets as they are.

    SFTTrainer takes only data sets of the library datasets, and tokenizes and packs them. It gets
    one of a single row for a data set of this package, which comes as packed batches already.
    """

    _stand_in: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes the arguments of the SFTTrainer."""
        bound = inspect.signature(super().__init__).bind(*args, **kwargs)
        train = bound.arguments.get("train_dataset")
        if isinstance(train, StreamingDataset):
            from datasets import Dataset

            self._stand_in = bound.arguments["train_dataset"] = Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})
        super().__init__(*bound.args, **bound.kwargs)
        if self._stand_in is not None:
            self.train_dataset = train

    def _prepare_dataset(self, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        if dataset is self._stand_in or isinstance(dataset, StreamingDataset):
            return dataset
        return super()._prepare_dataset(dataset, *args, **kwargs)  # type: ignore[misc]
