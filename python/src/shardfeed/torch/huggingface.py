"""Hugging Face: data sets of this package under Accelerate and the Trainer, which split and batch what they are given by themselves.

A data set here is one rank's part already, and yields whole batches. So both are told that there is nothing to split: by Accelerate's own
``prepare_data_loader`` with one process, and by the methods of the Trainer that are there to be overridden.
"""

from __future__ import annotations

from typing import Any

import torch.utils.data

from ..errors import OptionError
from ._dataset import StreamingDataset


def prepare(accelerator: Any, dataset: StreamingDataset, **loader: Any) -> Any:
    """Returns a loader that Accelerate knows, and leaves whole: batches on its device, gradient accumulation up to the epoch's end.

    loader are arguments of torch's DataLoader, as num_workers. Its epochs are those of ``set_epoch``, or counted from 0. With
    ``DataLoaderConfiguration(use_stateful_dataloader=True)`` its state is saved and loaded by the accelerator; without, give a
    :class:`shardfeed.torch.DataLoader` to ``accelerator.prepare`` and to ``accelerator.register_for_checkpointing``.
    """
    from accelerate.data_loader import prepare_data_loader

    _refuse_batching(dataset, loader)
    prepared = prepare_data_loader(
        torch.utils.data.DataLoader(dataset, batch_size=None, **loader),
        accelerator.device,
        num_processes=1,
        process_index=0,
        put_on_device=accelerator.device_placement,
        dispatch_batches=False,
        non_blocking=accelerator.non_blocking,
        use_stateful_dataloader=accelerator.use_stateful_dataloader,
    )
    prepared._is_accelerate_prepared = True
    return accelerator.prepare_data_loader(prepared)


class TrainerMixin:
    """Makes transformers' Trainer take data sets of this package as they are: ``class Trainer(TrainerMixin, transformers.Trainer)``.

    Batches come as the data set makes them: its batch_size counts, per_device_train_batch_size does not, and no data_collator is called.
    What the model wants to be given is made by ``dataset.map``. A run that is resumed goes on where it was.
    """

    accelerator: Any
    args: Any
    train_dataset: Any
    eval_dataset: Any

    def get_train_dataloader(self) -> Any:
        if isinstance(self.train_dataset, StreamingDataset):
            return self._loader(self.train_dataset)
        return super().get_train_dataloader()  # type: ignore[misc]

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(dataset, str):
            dataset = self.eval_dataset[dataset]
        if isinstance(dataset, StreamingDataset):
            return self._loader(dataset)
        return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc]

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        if isinstance(test_dataset, StreamingDataset):
            return self._loader(test_dataset)
        return super().get_test_dataloader(test_dataset)  # type: ignore[misc]

    def num_examples(self, dataloader: Any) -> int:
        dataset = getattr(dataloader, "dataset", None)
        if isinstance(dataset, StreamingDataset):
            return dataset.size
        return int(super().num_examples(dataloader))  # type: ignore[misc]

    def _loader(self, dataset: StreamingDataset) -> Any:
        args = self.args
        workers = args.dataloader_num_workers
        given = {"persistent_workers": args.dataloader_persistent_workers, "prefetch_factor": args.dataloader_prefetch_factor}
        pin = args.dataloader_pin_memory and torch.cuda.is_available()
        return prepare(self.accelerator, dataset, num_workers=workers, pin_memory=pin, **(given if workers else {}))


def _refuse_batching(dataset: StreamingDataset, loader: dict[str, Any]) -> None:
    if not isinstance(dataset, StreamingDataset):
        raise OptionError(f"this is a {type(dataset).__name__}: give a shardfeed.torch.StreamingDataset")
    for name in ("batch_size", "drop_last", "shuffle", "sampler", "batch_sampler"):
        if name in loader:
            raise OptionError(f"{name} is decided by the data set, which yields whole batches in their order: leave it out here")
