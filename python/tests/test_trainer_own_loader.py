"""transformers' Trainer with a get_train_dataloader of its own, in place of the mixin."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from shardfeed import errors  # noqa: E402
from shardfeed.torch import DataLoader  # noqa: E402


class Model(torch.nn.Module):
    """A model as the Trainer wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": (self.linear(x[:, None]) - 1).square().mean()}


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("prepared", [False, True])
def test_it_trains_and_its_resume_names_the_mixin(shards: Path, tmp_path: Path, prepared: bool) -> None:
    class Own(transformers.Trainer):
        def get_train_dataloader(self) -> DataLoader:
            loader = DataLoader(shards, batch_size=100, columns=["x"], seed=7, cache=False)
            return self.accelerator.prepare(loader) if prepared else loader

    def trainer(epochs: int) -> transformers.Trainer:
        given = {"num_train_epochs": epochs, "save_steps": 30, "report_to": [], "use_cpu": True, "disable_tqdm": True}
        return Own(Model(), transformers.TrainingArguments(output_dir=str(tmp_path), **given), train_dataset=[0])

    assert trainer(2).train().global_step == 80
    with pytest.raises(errors.OptionError, match=r"skip_first_batches.*Trainer resumes with.*TrainerMixin"):
        trainer(3).train(resume_from_checkpoint=str(tmp_path / "checkpoint-30"))
