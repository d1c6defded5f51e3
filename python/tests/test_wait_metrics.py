"""The wait of a loop as metrics, by itself and in the loggers of trainers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardfeed
from shardfeed import WaitMetrics, _wait_metrics, errors
from shardfeed._wait_metrics import waiting

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]


class Source:
    """What a loader reports, report after report."""

    def __init__(self, *reports: Any) -> None:
        self._reports = iter(reports)

    def stats(self) -> dict[str, Any]:
        report = next(self._reports)
        if isinstance(report, Exception):
            raise report
        return {"rows": 1} if report is None else {"wait": {"seconds": sum(report[1].values()), "of": report[0], "parts": report[1]}}


def test_each_call_is_about_the_time_since_the_last_one() -> None:
    waits = WaitMetrics(
        Source(
            (0.0, {}),
            (10.0, {"storage": 2.0}),
            (10.0, {"storage": 2.0}),
            (20.0, {"storage": 3.0, "decode": 4.0}),
            (24.0, {"storage": 3.0, "decode": 4.0}),
        )
    )
    assert waits() == {}  # before the first batch
    assert waits() == {"data/wait_share": 0.2, "data/wait_share/storage": 0.2}
    assert waits() == {}  # no time has passed
    assert waits() == {"data/wait_share": 0.5, "data/wait_share/decode": 0.4, "data/wait_share/storage": 0.1}
    assert waits() == {"data/wait_share": 0.0, "data/wait_share/decode": 0.0, "data/wait_share/storage": 0.0}


def test_several_loaders_of_one_loop() -> None:
    waits = WaitMetrics(Source((10.0, {"storage": 2.0})), Source((9.0, {"storage": 1.0, "map": 1.0})), Source(None))
    assert waits() == {"data/wait_share": 0.4, "data/wait_share/map": 0.1, "data/wait_share/storage": 0.3}


def test_an_engine_that_is_gone_and_one_that_counts_from_0() -> None:
    waits = WaitMetrics(Source((100.0, {"decode": 50.0}), errors.EngineGone("gone"), (10.0, {"decode": 1.0})))
    assert waits()["data/wait_share"] == 0.5
    assert waits() == {}
    assert waits()["data/wait_share"] == 0.1


def test_nothing_of_this_package() -> None:
    assert WaitMetrics()() == {}
    assert list(waiting([1, {"a": object()}, None, "s3://bucket"])) == []


def test_loaders_are_found_in_those_of_others(runtime: Path, shards: Path) -> None:
    torch = pytest.importorskip("torch")
    from shardfeed.torch import DataLoader, StreamingDataset

    own, arrays = StreamingDataset(shards, batch_size=10), shardfeed.StreamingDataset(shards, batch_size=10)
    loader = DataLoader(own)
    theirs = torch.utils.data.DataLoader(own, batch_size=None)
    assert list(waiting({"a": loader, "b": [theirs, arrays]})) == [loader, own, arrays]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at a loader finds 10 s more of its loop, in which it waited 4 s."""
    looks: dict[Any, int] = {}

    def wait(data: Any) -> dict[str, Any]:
        n = looks[data] = looks.get(data, 0) + 1
        return {"seconds": 4.0 * n, "of": 10.0 * n, "parts": {"storage": 3.0 * n, "map": 1.0 * n}}

    monkeypatch.setattr(_wait_metrics, "_wait", wait)


SLOW = {"data/wait_share": 0.4, "data/wait_share/map": 0.1, "data/wait_share/storage": 0.3}


def waits(logs: Any) -> list[dict[str, float]]:
    """The metrics of those logs that have any."""
    found = [{name: round(float(value), 6) for name, value in log.items() if name.startswith("data/") and value != ""} for log in logs]
    return [metrics for metrics in found if metrics]


@pytest.mark.parametrize("wrap", [False, True])
def test_lightning(runtime: Path, shards: Path, tmp_path: Path, slow: None, wrap: bool) -> None:
    torch = pytest.importorskip("torch")
    lightning = pytest.importorskip("lightning")
    from lightning.pytorch.loggers import CSVLogger

    import shardfeed.lightning
    from shardfeed.torch import DataLoader, StreamingDataset

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            return self.linear(batch["x"][:, None]).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-9)

    dataset = StreamingDataset(shards, batch_size=200, columns=["x"], cache=False)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None) if wrap else {"a": DataLoader(dataset)}
    if not wrap:
        Module.training_step = lambda self, batch, _: self.linear(batch["a"]["x"][:, None]).mean()
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        logger=CSVLogger(tmp_path),
        log_every_n_steps=5,
        callbacks=[shardfeed.lightning.WaitMonitor()],
        **quiet,
    )
    trainer.fit(Module(), loader)
    with (tmp_path / "lightning_logs/version_0/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert waits(rows) == [SLOW] * 4 and [row["step"] for row in rows] == ["5", "10", "15", "20"]


@pytest.fixture
def one_process() -> Iterator[None]:
    pytest.importorskip("accelerate")
    from accelerate.state import AcceleratorState, GradientState, PartialState

    yield
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()


@pytest.mark.parametrize("whole", [True, False])
def test_transformers(runtime: Path, shards: Path, tmp_path: Path, slow: None, one_process: None, whole: bool) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from shardfeed.torch import StreamingDataset
    from shardfeed.torch.huggingface import TrainerMixin, WaitMixin

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, x: Any) -> Any:
            return {"loss": self.linear(x[:, None].float()).square().mean()}

    kind = type("Trainer", (TrainerMixin if whole else WaitMixin, transformers.Trainer), {})
    seen: list[dict[str, float]] = []

    class Logger(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            seen.append(dict(logs))

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=10,
        logging_steps=5,
        per_device_train_batch_size=200,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    dataset = StreamingDataset(shards, batch_size=200 if whole else None, columns=["x"], cache=False)
    trainer = kind(model=Model(), args=arguments, train_dataset=dataset, callbacks=[Logger])
    trainer.train()
    assert waits(seen) == [SLOW] * 2 and waits(trainer.state.log_history) == [SLOW] * 2
    assert "loss" in seen[0] and "data/wait_share" not in seen[-1]  # of the whole training


def test_torchtitan(runtime: Path, shards: Path, slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torchtitan")
    from torchtitan.components.metrics import MetricsProcessor

    import shardfeed.torchtitan

    logged: list[Any] = []
    monkeypatch.setattr(MetricsProcessor, "__init__", lambda self, config, **_: None)
    monkeypatch.setattr(MetricsProcessor, "log", lambda self, *step, extra_metrics=None: logged.append((step, extra_metrics)))

    def loader(**given: Any) -> Any:
        config = shardfeed.torchtitan.DataLoader.Config(dataset_path=str(shards), tokens="tokens", **given)
        return config.build(dp_world_size=1, dp_rank=0, tokenizer=None, seq_len=16, local_batch_size=1)

    metrics = shardfeed.torchtitan.MetricsProcessor.Config(log_freq=5).build(parallel_dims=None)
    assert isinstance(metrics, shardfeed.torchtitan.MetricsProcessor)
    metrics.log(1, 0.5, 0.5)
    train = loader()
    loader(infinite=False)  # of a validation
    metrics.log(2, 0.5, 0.5, extra_metrics={"lr": 1.0})
    assert logged == [((1, 0.5, 0.5), {}), ((2, 0.5, 0.5), {**SLOW, "lr": 1.0})]
    assert metrics._waits is not None and metrics._waits._data == (train,)
