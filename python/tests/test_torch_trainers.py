"""Other trainers on one rank:

Accelerate, Hugging Face's Trainer, Lightning, and distributed checkpoints.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from shardfeed import errors  # noqa: E402
from shardfeed.torch import DataLoader, RankStates, StreamingDataset  # noqa: E402

ROWS, STEPS = 4000, 20

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def open_shards(shards, batch_size=200, **given):
    return StreamingDataset(
        shards, batch_size=batch_size, **({"cache": False, "seed": 7, "shuffle_buffer": 1000, "columns": ["id", "x"]} | given)
    )


@pytest.fixture(scope="module")
def epochs(one_engine, shards):
    dataset = open_shards(shards)
    return [[batch["id"].tolist() for batch in dataset] for _ in range(4)]


# Accelerate


@pytest.fixture
def accelerator():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState, GradientState, PartialState

    yield lambda **given: Accelerator(cpu=True, **given)
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()


def test_accelerate_leaves_the_own_loader_whole(shards, epochs, accelerator, tmp_path):
    accelerate = accelerator()
    loader = accelerate.prepare(DataLoader(open_shards(shards), device=accelerate.device))
    assert isinstance(loader, DataLoader) and len(loader) == STEPS
    accelerate.register_for_checkpointing(loader)
    batches = iter(loader)
    assert [next(batches)["id"].tolist() for _ in range(5)] == epochs[0][:5]
    accelerate.save_state(str(tmp_path))
    assert [batch["id"].tolist() for batch in batches] == epochs[0][5:]
    accelerate.load_state(str(tmp_path))
    assert [batch["id"].tolist() for batch in loader] == epochs[0][5:]


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate_prepared(shards, epochs, accelerator, workers, stateful, tmp_path):
    from accelerate import DataLoaderConfiguration, skip_first_batches

    from shardfeed.torch.huggingface import prepare

    accelerate = accelerator(gradient_accumulation_steps=3, dataloader_config=DataLoaderConfiguration(use_stateful_dataloader=stateful))
    loader = prepare(accelerate, open_shards(shards), num_workers=workers)
    assert accelerate.prepare(loader) is loader and len(loader) == STEPS
    model = accelerate.prepare(nn.Linear(1, 1))
    for epoch in range(2):
        seen, synced = [], 0
        for batch in loader:
            with accelerate.accumulate(model):
                synced += accelerate.sync_gradients
            seen.append(batch["id"].tolist())
        assert seen == epochs[epoch] and synced == 7, "the last, shorter accumulation ends with the epoch"
    loader.set_epoch(1)
    assert [batch["id"].tolist() for batch in skip_first_batches(loader, 4)] == epochs[1][4:]
    if not stateful:
        return
    loader.set_epoch(2)
    for n, batch in enumerate(loader):
        if n == 5:
            assert batch["id"].tolist() == epochs[2][5]
            accelerate.save_state(str(tmp_path))
            break
    accelerate.load_state(str(tmp_path))
    assert [batch["id"].tolist() for batch in loader] == epochs[2][6:]


def test_accelerate_may_not_split_again(shards, accelerator):
    from accelerate.data_loader import prepare_data_loader

    accelerator()
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(open_shards(shards, rank=0, world_size=2), batch_size=None, num_workers=workers)
        split = prepare_data_loader(loader, num_processes=2, process_index=0, dispatch_batches=False)
        split.dataset.batch_size = 1  # it has none to count with
        with pytest.raises(errors.OptionError, match="IterableDatasetShard would split"):
            next(iter(split))


def test_accelerate_may_not_batch_to_skip(shards, accelerator):
    from accelerate import skip_first_batches

    accelerator()
    loader = DataLoader(open_shards(shards))
    with pytest.raises(errors.OptionError, match=r"skip_first_batches makes a loader of torch.*register_for_checkpointing"):
        next(iter(skip_first_batches(loader, 2)))


def test_what_prepare_refuses(shards, accelerator):
    from shardfeed.torch.huggingface import prepare

    accelerate = accelerator()
    with pytest.raises(errors.OptionError, match="drop_last is an argument of the data set"):
        prepare(accelerate, open_shards(shards), drop_last=True)
    with pytest.raises(errors.OptionError, match=r"prepare needs a shardfeed\.torch\.StreamingDataset, got a list"):
        prepare(accelerate, [])


# Hugging Face's Trainer


class Model(nn.Module):
    """A model as the Trainer wants it, which notes what it sees."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 1)
        self.seen: list[list[int]] = []

    def forward(self, id, x, labels=None):
        if self.training:
            self.seen.append(id.tolist())
        out = self.linear(x[:, None])
        return {"loss": (out - 1).square().mean(), "logits": out}


def trainer(dataset, directory, **given):
    import transformers

    from shardfeed.torch.huggingface import TrainerMixin

    class Trainer(TrainerMixin, transformers.Trainer):
        pass

    arguments = transformers.TrainingArguments(
        output_dir=str(directory),
        num_train_epochs=2,
        per_device_train_batch_size=3,
        save_strategy="steps",
        save_steps=7,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        **given,
    )
    return Trainer(model=Model(), args=arguments, train_dataset=dataset, eval_dataset=dataset)


@pytest.mark.parametrize("workers, accumulate", [(0, 1), (0, 3), (2, 3)])
def test_the_trainer_of_transformers(shards, epochs, tmp_path, workers, accumulate, accelerator):
    given = {"dataloader_num_workers": workers, "gradient_accumulation_steps": accumulate}
    first = trainer(open_shards(shards), tmp_path, **given)
    first.train()
    assert first.model.seen == epochs[0] + epochs[1]
    assert first.num_examples(first.get_train_dataloader()) == ROWS
    again = trainer(open_shards(shards), tmp_path, **given)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-7"))
    assert again.model.seen == (epochs[0] + epochs[1])[7 if accumulate == 1 else STEPS :], "seven updates of three are an epoch here"
    assert "eval_runtime" in again.evaluate(open_shards(shards, shuffle=False, shuffle_buffer=None, seed=0))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_trainer_resumes_on_another_number_of_ranks(shards, tmp_path, workers, accelerator):
    """The order is that of the ranks that began, and not a new one. Without workers the resume seeks."""
    given = {"shuffle_buffer": 64, "drop_last": True}
    begun = open_shards(shards, 10, rank=0, world_size=20, **given).state_dict()
    alone = open_shards(shards, rank=0, world_size=1, **given)
    fresh = [batch["id"].tolist() for batch in alone]
    alone.load_state_dict(begun)
    order = [[batch["id"].tolist() for batch in alone] for _ in range(2)]
    assert order[0] != fresh

    first = trainer(open_shards(shards, 10, rank=0, world_size=20, **given), tmp_path, dataloader_num_workers=workers)
    first.train()
    again = trainer(open_shards(shards, rank=0, world_size=1, **given), tmp_path, dataloader_num_workers=workers)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-28"))
    assert again.model.seen == order[1][8:]
    assert [set(step) <= set(whole) for step, whole in zip(first.model.seen, order[0] + order[1])] == [True] * 2 * STEPS
    again = trainer(open_shards(shards, rank=0, world_size=1, **given), tmp_path, dataloader_num_workers=workers)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-14"))
    assert again.model.seen == order[0][14:] + order[1]


def test_the_trainer_seeks(shards, tmp_path, accelerator):
    trainer(open_shards(shards), tmp_path).train()
    dataset = open_shards(shards)
    trainer(dataset, tmp_path, max_steps=16).train(resume_from_checkpoint=str(tmp_path / "checkpoint-14"))
    assert 2 * 200 <= dataset.stats()["rows"] < 14 * 200, "the rows before the checkpoint were read"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore:shardfeed. skip")
def test_the_trainer_resumes_within_a_window(shards, epochs, tmp_path, workers, accelerator):
    def window():
        return open_shards(shards).skip(3).take(9)

    first = trainer(window(), tmp_path, dataloader_num_workers=workers)
    first.train()
    assert first.model.seen == epochs[0][3:12] + epochs[1][3:12]
    for steps in (7, 14):
        again = trainer(window(), tmp_path, dataloader_num_workers=workers)
        again.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{steps}"))
        assert again.model.seen == first.model.seen[steps:]
    with pytest.raises(
        errors.OptionError, match=r"at row 1600 of epoch 1, .* at row 2800 of epoch 0, .*: give the data set the arg.* skip and"
    ):
        trainer(open_shards(shards), tmp_path).train(resume_from_checkpoint=str(tmp_path / "checkpoint-14"))


def test_the_trainer_resumes_with_the_data_set_of_a_loader(shards, epochs, tmp_path, accelerator):
    """Its len() is its rows."""
    trainer(DataLoader(open_shards(shards)).dataset, tmp_path).train()
    again = trainer(DataLoader(open_shards(shards)).dataset, tmp_path)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-28"))
    assert again.model.seen == (epochs[0] + epochs[1])[28:]


def test_an_update_must_have_as_many_rows_after_a_resume(shards, tmp_path, accelerator):
    trainer(open_shards(shards), tmp_path).train()
    with pytest.raises(errors.OptionError, match=r"at row 1400 of epoch 0, with 200 rows.*with 100 .* at row 700 of epoch 0"):
        trainer(open_shards(shards, 100), tmp_path).train(resume_from_checkpoint=str(tmp_path / "checkpoint-7"))
    again = trainer(open_shards(shards, 100), tmp_path, gradient_accumulation_steps=2)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-7"))
    dataset = open_shards(shards, 100)
    halves = [batch["id"].tolist() for _ in range(2) for batch in dataset]
    assert again.model.seen == halves[14:]


def test_the_trainer_without_the_adapter_is_refused(shards, tmp_path, accelerator):
    import transformers

    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), max_steps=2, report_to=[], use_cpu=True, disable_tqdm=True)
    with pytest.raises(errors.OptionError, match=r"batch_size=None.*shardfeed\.torch\.huggingface\.TrainerMixin"):
        transformers.Trainer(model=Model(), args=arguments, train_dataset=open_shards(shards)).train()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_plain_trainer_makes_batches_of_rows(shards, tmp_path, workers, accelerator):
    """Each of K workers makes batches of each K-th row.

    A resume takes the next batch, an evaluation counts rows.
    """
    import transformers

    alone = open_shards(shards, None)
    order = [[int(row["id"]) for row in alone] for _ in range(2)]
    parts = max(workers, 1)
    batches = [epoch[w::parts][k : k + 200] for epoch in order for k in range(0, ROWS // parts, 200) for w in range(parts)]

    def plain() -> transformers.Trainer:
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            per_device_train_batch_size=200,
            per_device_eval_batch_size=200,
            save_strategy="steps",
            save_steps=27,
            dataloader_num_workers=workers,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        return transformers.Trainer(
            model=Model(), args=arguments, train_dataset=open_shards(shards, None), eval_dataset=open_shards(shards, None)
        )

    first = plain()
    first.train()
    assert first.model.seen == batches
    found = first.evaluate()
    assert round(found["eval_samples_per_second"] * found["eval_runtime"], -2) == ROWS
    again = plain()
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-27"))
    assert again.model.seen == batches[27:]


def test_what_the_adapter_refuses(shards, tmp_path, accelerator):
    with pytest.raises(errors.OptionError, match="TrainerMixin takes whole batches, got a data set with batch_size=None"):
        trainer(open_shards(shards, None), tmp_path).train()
    with pytest.raises(errors.OptionError, match='TrainerMixin takes a tail of "drop", "pad" or "short", got "carry"'):
        trainer(open_shards(shards, tail="carry"), tmp_path).train()


# Lightning


def fit(loader, directory, *, save_after=None, checkpoint=None):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(1, 1)
            self.seen: list[list[int]] = []

        def training_step(self, batch, _):
            self.seen.append(batch["id"].tolist())
            return (self.linear(batch["x"][:, None]) - 1).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-9)

        def on_train_batch_end(self, *_):
            if self.global_step == save_after:
                self.trainer.save_checkpoint(str(directory / "saved.ckpt"), weights_only=False)

    module = Module()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    run = lightning.Trainer(max_epochs=3, accelerator="cpu", devices=1, default_root_dir=str(directory), **quiet)
    run.fit(module, loader, ckpt_path=checkpoint, weights_only=False)
    return module.seen


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("after", [27, 2 * STEPS])
def test_lightning(shards, epochs, tmp_path, workers, after):
    sequence = epochs[0] + epochs[1] + epochs[2]
    assert fit(DataLoader(open_shards(shards), num_workers=workers), tmp_path, save_after=after) == sequence
    again = DataLoader(open_shards(shards), num_workers=workers)
    assert fit(again, tmp_path, checkpoint=str(tmp_path / "saved.ckpt")) == sequence[after:]


def test_lightning_with_torch_loaders(shards, epochs, tmp_path):
    loader = torch.utils.data.DataLoader(open_shards(shards), batch_size=None)
    assert fit(loader, tmp_path) == epochs[0] + epochs[1] + epochs[2]


# Distributed checkpoints


@pytest.mark.parametrize("after", [0, 6, STEPS])
def test_rank_states(shards, tmp_path, after):
    """Of one process. Those of several ranks are in test_nodes."""
    import torch.distributed.checkpoint as dcp

    loader = DataLoader(open_shards(shards))
    batches = iter(loader)
    for _ in range(after):
        next(batches)
    again = DataLoader(open_shards(shards))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"loader": RankStates(loader)}, checkpoint_id=str(tmp_path))
        dcp.load({"loader": RankStates(again)}, checkpoint_id=str(tmp_path))
    assert again.state_dict() == loader.state_dict()
    with pytest.raises(errors.OptionError, match="needs a loader"):
        RankStates(7)


@pytest.mark.parametrize("after", [0, 6, STEPS])
def test_distributed_checkpoints(shards, epochs, tmp_path, after):
    import torch.distributed.checkpoint as dcp

    loader = DataLoader(open_shards(shards))
    batches = iter(loader)
    for _ in range(after):
        next(batches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": nn.Linear(1, 1).state_dict(), "loader": loader}, checkpoint_id=str(tmp_path))
        again = DataLoader(open_shards(shards))
        dcp.load({"model": nn.Linear(1, 1).state_dict(), "loader": again}, checkpoint_id=str(tmp_path))
    saved = loader.state_dict()
    saved.pop("audit", None)  # torch loads only what the state of a new loader has too
    assert again.state_dict() == saved
    seen = [batch["id"].tolist() for _ in range(2) for batch in again]
    assert seen == [batch for epoch in epochs for batch in epoch][after:][: len(seen)]
