"""What the trainings on packed streams share: the stream, a tiny model, and their reports."""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from rank import WORLD_SIZE, Report
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = 32  # of a block
BLOCKS = 6  # of a step, over all ranks
WORDS = 50


def stream_arguments(given: argparse.Namespace) -> dict[str, Any]:
    return {"pack": {"input_ids": TOKENS}, "batch_size": BLOCKS // WORLD_SIZE, "seed": given.seed, "drop_last": True}


def model() -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, use_cache=False
    )
    return LlamaForCausalLM(config)


class Blocks:
    """Reports the blocks of each step of a training that is killed and goes on."""

    def __init__(self, report: Report, step: int, pause: float) -> None:
        self.step = step
        self._report, self._pause = report, pause
        report("resumed", step=step)

    def __call__(self, tokens: torch.Tensor) -> None:
        self._report("step", step=self.step, ids=tokens.reshape(-1, TOKENS).tolist())
        self.step += 1
        time.sleep(self._pause)
