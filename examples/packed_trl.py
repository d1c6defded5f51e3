"""Trains a small language model on packed documents with TRL's SFTTrainer, on any number of ranks. Start it again and it goes on behind its
last checkpoint, on as many ranks as you like:

    torchrun --nproc-per-node 2 examples/packed_trl.py testdata/shop
"""

import argparse
import os

import tokenizers
import torch
import trl
from shardfeed.torch.huggingface import SFTMixin, packed
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.trainer_utils import get_last_checkpoint

RANKS = int(os.environ.get("WORLD_SIZE", "1"))
BLOCKS = 12  # of a step, over all ranks


class Trainer(SFTMixin, trl.SFTTrainer):
    pass


def tokenizer() -> PreTrainedTokenizerFast:
    """The trainer saves one beside the model. The documents of the shop have tokens already."""
    empty = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<end>": 0}, unk_token="<end>"))
    return PreTrainedTokenizerFast(tokenizer_object=empty, eos_token="<end>", pad_token="<end>")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="where the shop lies")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--checkpoints", default="checkpoints")
    given = parser.parse_args()

    options = trl.SFTConfig(
        output_dir=given.checkpoints,
        num_train_epochs=given.epochs,
        per_device_train_batch_size=BLOCKS // RANKS,
        learning_rate=3e-3,
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        save_steps=5,
        logging_steps=5,
        report_to="none",
        disable_tqdm=True,
    )
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=32_000, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
    )
    dataset = packed(given.uri, pack={"token_ids": 64}, batch_size=BLOCKS // RANKS, drop_last=True)
    trainer = Trainer(model=model, args=options, train_dataset=dataset, processing_class=tokenizer())
    last = get_last_checkpoint(given.checkpoints) if os.path.isdir(given.checkpoints) else None
    trainer.train(resume_from_checkpoint=last)


if __name__ == "__main__":
    main()
