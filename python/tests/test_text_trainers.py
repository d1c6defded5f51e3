"""Raw text under the Trainer of transformers and TRL's SFTTrainer: the recipes of docs/trainers.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
trl = pytest.importorskip("trl")

import tokenizers  # noqa: E402
from tokenizers import models, pre_tokenizers, processors  # noqa: E402

import shardfeed.torch.huggingface  # noqa: E402
from shardfeed import Pack  # noqa: E402
from shardfeed.torch.huggingface import packed  # noqa: E402

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore")]

BLOCK, STEPS = 64, 4
TEXTS = [f"{i} it's a text, naïve {'日本語 ' * (i % 9)}" for i in range(200)]


class Seen:
    """Keeps the batches that a Trainer computes losses of."""

    seen: list[dict[str, Any]]

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append({name: inputs[name].clone() for name in ("input_ids", "labels", "position_ids")})
        return super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]


class Plain(Seen, shardfeed.torch.huggingface.TrainerMixin, transformers.Trainer):
    pass


class SFT(Seen, shardfeed.torch.huggingface.SFTMixin, trl.SFTTrainer):
    pass


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("texts")
    pq.write_table(pa.table({"text": TEXTS}), directory / "part-0.parquet", row_group_size=50)
    return directory


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A tokenizer of transformers, whose template adds the first token to each text."""
    made = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="</s>")


@pytest.mark.parametrize("kind", ["transformers", "trl"])
def test_trains_on_raw_text(table: Path, tokenizer: Any, kind: str, tmp_path: Path) -> None:
    config = transformers.LlamaConfig(vocab_size=258, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    given = {
        "output_dir": str(tmp_path),
        "max_steps": STEPS,
        "use_cpu": True,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    train = packed(table, pack=Pack({"text": BLOCK}, eos=tokenizer.eos_token), tokenize={"text": tokenizer}, batch_size=3, shuffle=False)
    model = transformers.LlamaForCausalLM(config)
    if kind == "trl":
        trainer: Any = SFT(model=model, args=trl.SFTConfig(bf16=False, **given), train_dataset=train, processing_class=tokenizer)
    else:
        trainer = Plain(model=model, args=transformers.TrainingArguments(**given), train_dataset=train)
    trainer.seen = []
    trainer.train()

    stream = [t for text in TEXTS for t in [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]]
    assert len(trainer.seen) == STEPS
    size = 3 * BLOCK
    for step, batch in enumerate(trainer.seen):
        want = stream[step * size : (step + 1) * size]
        assert batch["input_ids"].tolist() == [want]
        starts = batch["position_ids"][0] == 0
        assert batch["labels"][0].tolist() == [-100 if start else token for token, start in zip(want, starts.tolist())]
        after_end = torch.tensor([False] + [token == tokenizer.eos_token_id for token in want[:-1]])
        assert bool(starts[after_end].all())


def test_trains_on_completions(tokenizer: Any, tmp_path: Path) -> None:
    prompts, completions = [f"what is {i} and {i}?" for i in range(60)], [f" {2 * i}" for i in range(60)]
    pq.write_table(pa.table({"prompt": prompts, "completion": completions}), tmp_path / "part-0.parquet")
    tokens = shardfeed.Tokenizer(tokenizer, join=["prompt", "completion"], labels=["completion"])
    pack = Pack({"input_ids": BLOCK}, strategy="bfd", eos=tokenizer.eos_token)
    train = packed(tmp_path, pack=pack, tokenize={"input_ids": tokens}, batch_size=2, shuffle=False)
    config = transformers.LlamaConfig(vocab_size=258, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    args = trl.SFTConfig(
        output_dir=str(tmp_path / "out"),
        num_train_epochs=1,
        use_cpu=True,
        bf16=False,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = SFT(model=transformers.LlamaForCausalLM(config), args=args, train_dataset=train, processing_class=tokenizer)
    trainer.seen = []
    trainer.train()

    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    found = []
    for batch in trainer.seen:
        starts = (batch["position_ids"][0] == 0).nonzero().flatten().tolist()
        for start, end in zip(starts, [*starts[1:], batch["position_ids"].shape[1]]):
            found.append((batch["input_ids"][0, start:end].tolist(), batch["labels"][0, start:end].tolist()))
    wanted = []
    for prompt, completion in zip(prompts, completions):
        masked, trained = ids(prompt), [*ids(completion), tokenizer.eos_token_id]
        wanted.append((masked + trained, [-100] * len(masked) + trained))
    assert sorted(d for d in found if set(d[1]) != {-100}) == sorted(wanted)  # the others are padding
