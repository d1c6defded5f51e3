"""A training with TRL's SFTTrainer on a packed stream, and checkpoints within an epoch."""

from __future__ import annotations

from typing import Any

import packed
import tokenizers
import transformers
import trl
from rank import WORLD_SIZE, Report, arguments

from shardfeed.torch.huggingface import SFTMixin
from shardfeed.torch.huggingface import packed as open_packed


class Trainer(SFTMixin, trl.SFTTrainer):
    blocks: packed.Blocks

    def training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self.blocks(inputs["input_ids"])
        return super().training_step(model, inputs, *args, **kwargs)


class Begun(transformers.TrainerCallback):
    """Says where the training begins."""

    def __init__(self, trainer: Trainer, report: Report, pause: float) -> None:
        self.trainer, self.report, self.pause = trainer, report, pause

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.trainer.blocks = packed.Blocks(self.report, state.global_step, self.pause)


def tokenizer() -> Any:
    words = {"<end>": 0, **{f"w{n}": n for n in range(1, packed.WORDS)}}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<end>"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<end>")


def main() -> None:
    given = arguments()
    report = Report()
    options = trl.SFTConfig(
        output_dir=str(given.checkpoint),
        use_cpu=True,
        bf16=False,
        num_train_epochs=2,
        per_device_train_batch_size=packed.BLOCKS // WORLD_SIZE,
        save_steps=given.every,
        save_strategy="steps",
        report_to="none",
        disable_tqdm=True,
        gradient_checkpointing=False,
    )
    dataset = open_packed(given.uri, **packed.stream_arguments(given))
    dataset = open_packed(given.uri, **packed.stream_arguments(given))
    whole = open_packed(given.uri, **{**packed.stream_arguments(given), "drop_last": False, "shuffle": False, "seed": 0})
    trainer = Trainer(model=packed.model(), args=options, train_dataset=dataset, eval_dataset=whole, processing_class=tokenizer())
    trainer.add_callback(Begun(trainer, report, given.pause))
    complete = given.checkpoint.glob("checkpoint-*/trainer_state.json")  # what is written last
    last = max((path.parent for path in complete), key=lambda path: int(path.name.partition("-")[2]), default=None)
    trainer.train(resume_from_checkpoint=last and str(last))
    report("done", loss=trainer.evaluate()["eval_loss"])


if __name__ == "__main__":
    main()
