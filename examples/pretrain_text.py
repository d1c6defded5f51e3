"""Trains a small GPT from raw text on any number of ranks. Kill it at any moment and start it again, on as many ranks as you like: it goes
on behind its last checkpoint, and each step has the same blocks of tokens as without the kill, which the number behind them shows.

    torchrun --nproc-per-node 2 examples/pretrain_text.py testdata/shop --column title
"""

import argparse
import time
import zlib
from pathlib import Path

import shardfeed.torch
import tokenizers
import torch
import torch.distributed as dist
from shardfeed import Pack
from tokenizers import models, pre_tokenizers
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

TOKENS, BLOCKS = 128, 12  # of a block, and of a step over all ranks
END = "<|end|>"


class Layer(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(2, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, 2))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(torch.nn.Module):
    def __init__(self, words: int, width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(TOKENS, width)
        self.layers = torch.nn.ModuleList(Layer(width, heads=4) for _ in range(layers))
        self.head = torch.nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        documents = (places == 0).cumsum(1)  # a token sees the tokens before it in its document
        mask = (documents[:, :, None] == documents[:, None, :]).tril()[:, None]
        x = self.words(tokens) + self.places(places)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def byte_tokenizer() -> tokenizers.Tokenizer:
    """A token for each byte. A real training has the tokenizer.json of its model."""
    made = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([END])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uri", help="where the table lies")
    parser.add_argument("--column", default="text", help="of the documents")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--checkpoint", type=Path, default=Path("gpt.pt"))
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds of rest after a step, so that there is time to kill it")
    given = parser.parse_args()

    dist.init_process_group()
    torch.manual_seed(7)
    tokenizer = byte_tokenizer()
    loader = shardfeed.torch.DataLoader(
        given.uri,
        batch_size=BLOCKS // dist.get_world_size(),
        columns=[given.column],
        tokenize={given.column: tokenizer},
        pack=Pack({given.column: TOKENS}, eos=END, labels="next", with_columns=["position_ids"]),
        drop_last=True,
        seed=7,
    )
    model = DistributedDataParallel(GPT(tokenizer.get_vocab_size()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    if given.checkpoint.exists():
        saved = torch.load(given.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]
        say(f"goes on behind step {step}, on {dist.get_world_size()} ranks")

    for batch in epoch_after_epoch(loader):
        tokens = batch[given.column].long()
        logits = model(tokens, batch["position_ids"].long())
        loss = functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        seen = torch.tensor(sum(zlib.crc32(block.numpy().tobytes()) for block in tokens))
        dist.all_reduce(seen)
        say(f"step {step}: loss {loss.item():.3f}, blocks {int(seen)}")
        if step % given.every == 0 and dist.get_rank() == 0:  # the loader's state is the same on all ranks
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "step": step}
            torch.save(state, given.checkpoint.with_suffix(".new"))
            given.checkpoint.with_suffix(".new").replace(given.checkpoint)
        if step >= given.steps:
            break
        time.sleep(given.pause)
    dist.barrier()  # no rank leaves while another one still needs it
    dist.destroy_process_group()


def epoch_after_epoch(loader: shardfeed.torch.DataLoader):
    while True:
        yield from loader


def say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    main()
