"""Hugging Face: data sets of this package under Accelerate, the Trainer and TRL.

They split and batch their data sets. A data set of this package is one rank's part already and
yields whole batches, so prepare calls Accelerate's ``prepare_data_loader`` for one process, and
TrainerMixin overrides the Trainer's methods that make loaders. packed makes data sets of packed
batches in the form that models of transformers take.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.utils.data

from .._args._checks import type_name
from .._wait_metrics import WaitMetrics, waiting
from ..errors import OptionError
from . import _trainer_state
from ._batch import each
from ._dataset import StreamingDataset
from ._flatten import IGNORED, Flatten, packed
from ._layout import ROW_VALID
from ._padding import drop_padding
from ._sft import SFTData

__all__ = ["Flatten", "SFTMixin", "TrainerMixin", "WaitMixin", "packed", "prepare"]


def prepare(accelerator: Any, dataset: StreamingDataset, **loader: Any) -> Any:
    """Returns a loader of Accelerate's that does not split the data set: batches come on its
    device, and gradient accumulation ends with the epoch.

    loader are arguments of torch's DataLoader, such as num_workers. Epochs follow ``set_epoch``, or
    count from 0. With ``DataLoaderConfiguration(use_stateful_dataloader=True)`` the accelerator
    saves and loads its state. Otherwise give a :class:`shardfeed.torch.DataLoader` to
    ``accelerator.prepare`` and to ``accelerator.register_for_checkpointing``.
    """
    _refuse_batching(dataset, loader)
    return _prepared(accelerator, dataset, loader)


def _prepared(accelerator: Any, dataset: Any, loader: dict[str, Any]) -> Any:
    from accelerate.data_loader import prepare_data_loader

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


class WaitMixin:
    """Adds the wait for data to what transformers' Trainer logs of the training.

    Use it as ``class Trainer(WaitMixin, transformers.Trainer)``; a :class:`TrainerMixin` is one. See
    :class:`shardfeed.WaitMetrics` for the metrics. The training's data set or loader must be of this
    package. On several ranks they are of the first, which the Trainer logs.
    """

    callback_handler: Any
    _waits: tuple[Any, WaitMetrics] | None = None  # of a loader

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs:  # of the training, and not of an evaluation
            logs.update(self._wait_metrics())
        super().log(logs, *args, **kwargs)  # type: ignore[misc]

    def _wait_metrics(self) -> dict[str, float]:
        loader = self.callback_handler.train_dataloader
        if self._waits is None or self._waits[0] is not loader:
            self._waits = loader, WaitMetrics(*waiting(loader))
        return self._waits[1]()


class TrainerMixin(WaitMixin):
    """Lets transformers' Trainer take data sets of this package.

    Use it as ``class Trainer(TrainerMixin, transformers.Trainer)``. Batches come as the data set
    makes them: its batch_size counts, per_device_train_batch_size and per_device_eval_batch_size do
    not, and no data_collator is called. ``dataset.map`` makes what the model takes.

    Checkpoints hold the data set's position. A resumed run continues with the next batch, on any
    number of ranks if an update has as many rows over all ranks as before, because the Trainer
    counts updates. With ``dataloader_num_workers=0`` it seeks there.

    On several ranks give ``drop_last=True`` to the data set for training, and
    ``with_row_valid=True`` to the one for evaluation: then loss, predictions and metrics count each
    row once. The model never gets the mask.
    """

    accelerator: Any
    args: Any
    state: Any
    train_dataset: Any
    eval_dataset: Any
    gather_function: Any
    _step: _Step | None = None  # of an evaluation
    _resumed: Any = None  # the training's data set at the place of a checkpoint

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint and isinstance(self.train_dataset, StreamingDataset) and not self.args.ignore_data_skip:
            self._resumed = self._at_checkpoint(resume_from_checkpoint)
        try:
            return super().train(resume_from_checkpoint, *args, **kwargs)  # type: ignore[misc]
        finally:
            self._resumed = None

    def _at_checkpoint(self, checkpoint: Any) -> Any:
        from transformers.trainer_utils import get_last_checkpoint

        if checkpoint is True and (checkpoint := get_last_checkpoint(self.args.output_dir)) is None:
            return None  # the Trainer raises the error
        args = self.args
        return _trainer_state.load(
            Path(checkpoint), self.train_dataset, args.gradient_accumulation_steps, seek=args.dataloader_num_workers == 0
        )

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        if self.args.should_save and isinstance(self.train_dataset, StreamingDataset):
            step, args = self.state.global_step, self.args
            directory = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{step}"  # type: ignore[attr-defined]
            workers = args.dataloader_num_workers > 0
            _trainer_state.save(directory, self.train_dataset, step, args.gradient_accumulation_steps, workers=workers)
        super()._save_checkpoint(model, trial)  # type: ignore[misc]

    def get_train_dataloader(self) -> Any:
        if isinstance(self.train_dataset, StreamingDataset):
            return self._loader(self.train_dataset, self._resumed)
        return super().get_train_dataloader()  # type: ignore[misc]

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        dataset = self._eval_dataset(eval_dataset)
        if isinstance(dataset, StreamingDataset):
            return self._loader(dataset)
        return super().get_eval_dataloader(eval_dataset)  # type: ignore[misc]

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        if isinstance(test_dataset, StreamingDataset):
            return self._loader(test_dataset)
        return super().get_test_dataloader(test_dataset)  # type: ignore[misc]

    def num_examples(self, dataloader: Any) -> int:
        dataset = getattr(dataloader, "dataset", None)
        dataset = getattr(dataset, "stream", dataset)
        if isinstance(dataset, StreamingDataset):
            return dataset.size
        return int(super().num_examples(dataloader))  # type: ignore[misc]

    def training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return super().training_step(model, _real(inputs), *args, **kwargs)  # type: ignore[misc]

    def evaluate(self, eval_dataset: Any = None, *args: Any, **kwargs: Any) -> Any:
        with self._batch_size_of(self._eval_dataset(eval_dataset)):
            return super().evaluate(eval_dataset, *args, **kwargs)  # type: ignore[misc]

    def predict(self, test_dataset: Any, *args: Any, **kwargs: Any) -> Any:
        with self._batch_size_of(test_dataset):
            return super().predict(test_dataset, *args, **kwargs)  # type: ignore[misc]

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        dataset = getattr(dataloader, "dataset", None)
        if not isinstance(dataset, StreamingDataset):
            return super().evaluation_loop(dataloader, *args, **kwargs)  # type: ignore[misc]
        gather = self.gather_function
        self.gather_function = lambda value: gather(value) if self._step is None else self._step.gathered(value, gather)
        try:
            output = super().evaluation_loop(dataloader, *args, **kwargs)  # type: ignore[misc]
        finally:
            self.gather_function, self._step = gather, None
        return output._replace(num_samples=dataset.size)  # the Trainer takes len(dataset), which counts batches

    def prediction_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        from accelerate.utils import find_batch_size

        mask, rows = inputs.get(ROW_VALID), find_batch_size(inputs)
        if "cu_seq_lens_q" in inputs:  # a packed batch without labels fills up the last step, and has no loss
            mask = (inputs["labels"] != IGNORED).any(dim=1)
        loss, *outputs = super().prediction_step(model, _real(inputs), *args, **kwargs)  # type: ignore[misc]
        self._step = _Step(rows, mask, loss is not None)
        return loss, *(self._step.whole(output) for output in outputs)

    def _eval_dataset(self, dataset: Any) -> Any:
        """The data set to evaluate: the given one, or the Trainer's, which may have a name."""
        dataset = self.eval_dataset if dataset is None else dataset
        return self.eval_dataset[dataset] if isinstance(dataset, str) else dataset

    @contextlib.contextmanager
    def _batch_size_of(self, dataset: Any) -> Iterator[None]:
        """Sets the batch size by which the Trainer counts the steps of an evaluation."""
        args = self.args
        before = args.per_device_eval_batch_size
        if isinstance(dataset, StreamingDataset):
            args.per_device_eval_batch_size = dataset._spec["batch_size"]
        try:
            yield
        finally:
            args.per_device_eval_batch_size = before

    def _loader(self, dataset: StreamingDataset, resumed: Any = None) -> Any:
        if dataset._spec["tail"] == "carry":
            raise OptionError(
                'TrainerMixin takes a tail of "drop", "pad" or "short", got "carry": the Trainer runs epochs of equal length, and with it '
                "they differ by a step"
            )
        if dataset._rows_wanted:
            raise OptionError(
                "TrainerMixin takes whole batches, got a data set with batch_size=None, which yields single rows: give it a batch_size, "
                "or use transformers.Trainer without the mixin, which makes batches of rows on one rank"
            )
        args = self.args
        workers = args.dataloader_num_workers
        given = {"persistent_workers": args.dataloader_persistent_workers, "prefetch_factor": args.dataloader_prefetch_factor}
        pin = args.dataloader_pin_memory and torch.cuda.is_available()
        return _prepared(self.accelerator, resumed or dataset, {"num_workers": workers, "pin_memory": pin, **(given if workers else {})})


class SFTMixin(SFTData, TrainerMixin):
    """Lets TRL's SFTTrainer take packed data sets, see :func:`packed`.

    Use it as ``class Trainer(SFTMixin, trl.SFTTrainer)``. It is a :class:`TrainerMixin`, and leaves
    the preparation of the data out: TRL's ``packing``, ``max_length`` and ``dataset_text_field`` do
    not apply to data sets of this package.
    """


class _Step:
    """A step of an evaluation.

    Ranks gather whole batches, which are equally long, and drop padding after that.
    """

    def __init__(self, rows: int, mask: torch.Tensor | None, has_loss: bool) -> None:
        self._rows = rows
        self._mask = mask
        self._gathered_mask: torch.Tensor | None = None
        self._loss_comes = has_loss  # the Trainer gathers it first

    def whole(self, value: Any) -> Any:
        """A whole batch with real rows at their places, and zeros for padding."""
        mask = self._mask
        if mask is None or bool(mask.all()) or not bool(mask.any()):
            return value
        places = mask.nonzero()[:, 0]

        def spread(t: torch.Tensor) -> torch.Tensor:
            if not _has(t, len(places)):
                return t
            return t.new_zeros((len(mask), *t.shape[1:])).index_copy_(0, places.to(t.device), t)

        return each(value, spread)

    def gathered(self, value: Any, gather: Callable[[Any], Any]) -> Any:
        """The real rows of all ranks."""
        if self._loss_comes:
            self._loss_comes = False
            value = value[:1].repeat(self._rows)  # once for each row; the Trainer repeats it for a full batch
        found = gather(value)
        if self._mask is None:
            return found
        if self._gathered_mask is None:
            self._gathered_mask = gather(self._mask)
        mask = self._gathered_mask
        return each(found, lambda t: t[mask.to(t.device)] if _has(t, len(mask)) else t)


def _has(t: torch.Tensor, rows: int) -> bool:
    return t.ndim > 0 and len(t) == rows


def _real(inputs: Any) -> Any:
    """The real rows of a batch, without the mask; all rows if it has only padding, so that the rank
    takes part.
    """
    if ROW_VALID not in inputs:
        return inputs
    real = drop_padding(inputs)
    return {name: column for name, column in inputs.items() if name != ROW_VALID} if real is None else real


def _refuse_batching(dataset: StreamingDataset, loader: dict[str, Any]) -> None:
    if not isinstance(dataset, StreamingDataset):
        raise OptionError(f"prepare needs a shardfeed.torch.StreamingDataset, got {type_name(dataset)}")
    for name in ("batch_size", "drop_last", "shuffle", "sampler", "batch_sampler"):
        if name in loader:
            raise OptionError(f"{name} is an argument of the data set, which yields whole batches in their order: leave it out here")
