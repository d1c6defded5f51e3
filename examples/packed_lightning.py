"""Trains a small language model on packed documents with Lightning, on any number of ranks. Start it again and it goes on behind its last
checkpoint, on as many ranks as you like:

    torchrun --nproc-per-node 2 examples/packed_lightning.py testdata/shop
"""

import argparse
import os
from pathlib import Path

import lightning
import shardfeed.torch
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from shardfeed.torch.huggingface import packed
from transformers import LlamaConfig, LlamaForCausalLM

RANKS = int(os.environ.get("WORLD_SIZE", "1"))
BLOCKS = 12  # of a step, over all ranks


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        config = LlamaConfig(vocab_size=32_000, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
        config.use_cache = False  # with a cache, documents of a block would see each other
        self.model = LlamaForCausalLM(config)

    def training_step(self, batch: dict, _: int) -> torch.Tensor:
        loss = self.model(**batch).loss
        if self.global_rank == 0 and self.global_step % 5 == 0:
            print(f"epoch {self.current_epoch}, step {self.global_step}: loss {loss.item():.3f}", flush=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="where the shop lies")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    given = parser.parse_args()

    dataset = packed(given.uri, pack={"token_ids": 64}, batch_size=BLOCKS // RANKS, drop_last=True)
    trainer = lightning.Trainer(
        accelerator="auto",
        devices=RANKS,
        strategy="ddp" if RANKS > 1 else "auto",
        max_epochs=given.epochs,
        callbacks=[ModelCheckpoint(given.checkpoints, filename="{step}", every_n_train_steps=5, save_last=True)],
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(Module(), shardfeed.torch.DataLoader(dataset), ckpt_path="last", weights_only=False)


if __name__ == "__main__":
    main()
