"""Lightning and Fabric: a run that resumes from any checkpoint sees the rows of a run without a
stop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning")

from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402

import shardfeed  # noqa: E402
from shardfeed.torch import DataLoader  # noqa: E402

ROWS, BATCH = 4000, 250
STEPS, EPOCHS = ROWS // BATCH, 4

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]


class Module(lightning.LightningModule):
    """Notes the rows of each step with the epoch."""

    def __init__(self, loader: Callable[[], Any], save: Callable[[Any, str, int], None] | None = None, estimated: bool = False) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)
        self.seen: list[tuple[int, list[int]]] = []
        self._loader, self._save, self._estimated = loader, save, estimated

    def train_dataloader(self) -> Any:
        return self._loader()

    def training_step(self, batch: Any, _: int) -> Any:
        self.seen.append((self.current_epoch, batch["id"].tolist()))
        return self.linear(batch["id"].float()[:, None]).mean() * 0

    def validation_step(self, batch: Any, _: int) -> None:
        pass

    def configure_optimizers(self) -> Any:
        if self._estimated:
            assert self.trainer.estimated_stepping_batches > 0
        return torch.optim.SGD(self.parameters(), lr=1e-9)

    def _at(self, hook: str) -> None:
        if self._save is not None and not self.trainer.sanity_checking:
            self._save(self.trainer, hook, self.trainer.global_step)

    def on_train_batch_end(self, *_: Any) -> None:
        self._at("batch end")

    def on_validation_end(self) -> None:
        self._at("validation end")

    def on_train_epoch_end(self) -> None:
        self._at("epoch end")


def trainer(directory: Path, callbacks: list[Any] | None = None, **given: Any) -> Any:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": bool(callbacks)}
    length = {} if "max_steps" in given else {"max_epochs": EPOCHS}
    return lightning.Trainer(accelerator="cpu", devices=1, default_root_dir=str(directory), callbacks=callbacks, **quiet, **length, **given)


@pytest.fixture(scope="module")
def loaders(runtime: Path, shards: Path) -> Iterator[dict[str, Callable[[], DataLoader[Any]]]]:
    options: dict[str, Any] = {"batch_size": BATCH, "columns": ["id"], "seed": 7, "cache": False}
    sources = {"a": shardfeed.Source(shards / "part-0.parquet", weight=3), "b": shardfeed.Source(shards / "part-1.parquet")}
    rows = shardfeed.MapDataset(shards, columns=["id"])
    engine = DataLoader(shards, **options)
    yield {
        "plain": lambda: DataLoader(shards, **options, shuffle_buffer=1000),
        "mixture": lambda: DataLoader(sources=sources, epoch_size=ROWS, **options),
        "by number": lambda: DataLoader(rows, batch_size=BATCH, shuffle=True, seed=7),
        "sampler": lambda: DataLoader(rows, batch_size=BATCH, sampler=torch.utils.data.DistributedSampler(range(ROWS), 1, 0)),
        "validation": lambda: DataLoader(shards, **{**options, "batch_size": 1000}, shuffle=False),
    }
    engine.close()


KINDS = ["plain", "mixture", "by number", "sampler"]
STOPS = {
    "within an epoch": ("batch end", STEPS + 5),
    "at the last batch": ("batch end", 2 * STEPS),
    "after an epoch": ("epoch end", STEPS),
    "after two epochs": ("epoch end", 2 * STEPS),
}


def run(
    loaders: Any, kind: str, directory: Path, stop: tuple[str, int] | None, *, estimated: bool = False, **given: Any
) -> tuple[Any, Any]:
    """The rows of a whole run, and of one that resumes from where it was saved."""
    saved: list[int] = []
    whole = Module(loaders[kind])

    def save(trainer: Any, hook: str, step: int) -> None:
        if (hook, step) == stop and not saved:
            saved.append(len(whole.seen))
            trainer.save_checkpoint(str(directory / "saved.ckpt"), weights_only=False)

    whole._save = save
    validation = given.pop("validation", None)
    trainer(directory, **given).fit(whole, val_dataloaders=validation and validation())
    again = Module(loaders[kind], estimated=estimated)
    path = str(directory / "saved.ckpt")
    trainer(directory, **given).fit(again, val_dataloaders=validation and validation(), ckpt_path=path, weights_only=False)
    return whole.seen[saved[0] :], again.seen


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_resume_sees_the_rows_of_a_run_without_a_stop(loaders, tmp_path, kind, stop):
    expected, seen = run(loaders, kind, tmp_path, STOPS[stop])
    assert seen == expected


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_scheduler_that_asks_for_the_number_of_steps(loaders, tmp_path, kind, stop):
    expected, seen = run(loaders, kind, tmp_path, STOPS[stop], estimated=True)
    assert seen == expected


OPTIONS: dict[str, dict[str, Any]] = {
    "steps": {"max_steps": 3 * STEPS + 2},
    "accumulated": {"accumulate_grad_batches": 2},
    "part of each epoch": {"limit_train_batches": 10},
    "reloaded": {"reload_dataloaders_every_n_epochs": 1},
}


@pytest.mark.parametrize(
    ("option", "stop"),
    [
        ("steps", ("batch end", STEPS + 5)),
        ("accumulated", ("batch end", 11)),
        ("accumulated", ("epoch end", STEPS // 2)),
        ("part of each epoch", ("batch end", 15)),
        ("part of each epoch", ("epoch end", 10)),
        ("reloaded", ("batch end", STEPS + 5)),
        ("reloaded", ("epoch end", STEPS)),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "mixture"])
def test_options_of_the_trainer(loaders, tmp_path, kind, option, stop):
    expected, seen = run(loaders, kind, tmp_path, stop, **OPTIONS[option])
    assert seen == expected


@pytest.mark.parametrize("stop", [("validation end", STEPS), ("validation end", STEPS // 2), ("epoch end", STEPS)])
def test_with_validation(loaders, tmp_path, stop):
    within = {"val_check_interval": 0.5} if stop[1] < STEPS else {}
    expected, seen = run(loaders, "plain", tmp_path, stop, validation=loaders["validation"], **within)
    assert seen == expected


@pytest.mark.parametrize("kind", KINDS)
def test_loaders_that_are_made_for_each_epoch_have_its_order(loaders, tmp_path, kind):
    kept, made = Module(loaders[kind]), Module(loaders[kind])
    trainer(tmp_path).fit(kept)
    trainer(tmp_path, reload_dataloaders_every_n_epochs=1).fit(made)
    assert made.seen == kept.seen
    assert len({tuple(rows) for _, rows in made.seen}) == EPOCHS * STEPS


def test_the_checkpoints_that_lightning_saves_by_itself(loaders, tmp_path):
    whole = Module(loaders["plain"])
    trainer(tmp_path, [ModelCheckpoint(tmp_path, save_top_k=-1)]).fit(whole)
    paths = sorted(tmp_path.glob("*.ckpt"))
    assert len(paths) == EPOCHS
    for n, path in enumerate(paths, 1):
        again = Module(loaders["plain"])
        trainer(tmp_path).fit(again, ckpt_path=str(path), weights_only=False)
        assert again.seen == whole.seen[n * STEPS :]


def test_a_sampler_is_that_of_the_loader(loaders):
    loader = loaders["by number"]()
    assert len(loader.sampler) == ROWS and loader.sampler.seed == 7
    loader.sampler.set_epoch(2)
    order = [batch["id"].tolist() for batch in loader]
    loader.set_epoch(2)
    assert order == [batch["id"].tolist() for batch in loader]
    with pytest.raises(TypeError, match="the engine decides the order of this loader"):
        len(loaders["plain"]().sampler)


def test_fabric_saves_and_loads_a_loader(loaders, tmp_path):
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    loader = loaders["plain"]()
    epochs = [[batch["id"].tolist() for batch in loader] for _ in range(2)]
    loader.set_epoch(1)
    assert [batch["id"].tolist() for batch in itertools.islice(loader, 5)] == epochs[1][:5]
    fabric.save(tmp_path / "saved.ckpt", {"loader": loader})
    again = loaders["plain"]()
    fabric.load(tmp_path / "saved.ckpt", {"loader": again}, weights_only=False)
    assert [batch["id"].tolist() for batch in again] == epochs[1][5:]


def test_fabric_sets_up_a_loader_of_torch(loaders, shards):
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    dataset = loaders["plain"]().dataset
    epochs = [[batch["id"].tolist() for batch in loaders["plain"]()]]
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(dataset, batch_size=None))
    assert [batch["id"].tolist() for batch in loader] == epochs[0]
    assert [batch["id"].tolist() for batch in loader] != epochs[0]
