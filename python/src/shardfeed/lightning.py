"""Lightning: the wait for data in the trainer's own loggers.

::

    trainer = lightning.Trainer(callbacks=[shardfeed.lightning.WaitMonitor()])
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback

from ._documented import documented
from ._wait_metrics import WaitMetrics, waiting

__all__ = ["WaitMonitor"]


@documented
class WaitMonitor(Callback):
    """Logs how much of the training's time is spent waiting for data, every ``log_every_n_steps`` steps.

    See :class:`shardfeed.WaitMetrics` for the metrics, over all loaders and data sets of this package
    that the trainer has. On several ranks they are of the rank that the logger runs on, the first.
    """

    def __init__(self) -> None:
        self._waits: WaitMetrics | None = None

    def on_train_start(self, trainer: Any, *_: Any) -> None:
        self._waits = None

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if trainer.global_step % trainer.log_every_n_steps or not trainer.loggers:
            return
        if self._waits is None:
            self._waits = WaitMetrics(*waiting(trainer.train_dataloader))
        if metrics := self._waits():
            for logger in trainer.loggers:
                logger.log_metrics(metrics, step=trainer.global_step)
