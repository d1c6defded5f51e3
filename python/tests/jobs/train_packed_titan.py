"""A training with torchtitan's trainer and its checkpoints on a packed stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import packed
import titan_on_cpu  # noqa: F401 - before the rest of torchtitan
import torchtitan.trainer
from rank import WORLD_SIZE, Report, arguments
from torchtitan.components.tokenizer import BaseTokenizer
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.llama3.config_registry import llama3_debugmodel

import shardfeed.torchtitan


class Tokenizer(BaseTokenizer):
    """Of data that has tokens already."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config: Config, *, tokenizer_path: str) -> None:
        super().__init__()

    def encode(self, *args: Any, **kwargs: Any) -> list[int]:
        raise NotImplementedError

    def decode(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError

    def get_vocab_size(self) -> int:
        return packed.WORDS


def configuration(given: Any) -> Any:
    config = llama3_debugmodel()
    model = config.model_spec.model
    model.layers = model.layers[:1]
    model.layers[0].attention.inner_attention = ScaledDotProductAttention.Config()  # flex attention trains on accelerators alone
    config.training.local_batch_size = packed.BLOCKS // WORLD_SIZE
    config.training.seq_len = packed.TOKENS
    config.training.steps = STEPS
    config.training.disable_cuda_graphs = True
    config.training.mixed_precision_param = "float32"
    config.parallelism.spmd_backend = "partial_dtensor"
    config.parallelism.data_parallel_replicate_degree = WORLD_SIZE  # gloo lacks a reduction that sharded models need
    config.parallelism.data_parallel_shard_degree = 1
    config.activation_checkpoint = None
    config.tokenizer = Tokenizer.Config()
    config.dump_folder = str(given.checkpoint)
    config.checkpoint.enable = True
    config.checkpoint.interval = given.every
    config.validator.enable = False
    config.dataloader = shardfeed.torchtitan.DataLoader.Config(dataset_path=given.uri, seed=given.seed)
    return config


class Trainer(torchtitan.trainer.Trainer):
    blocks: packed.Blocks | None = None

    def post_dataloading_process(self, input_dict: Any, labels: Any) -> Any:
        if self.blocks is None:
            self.blocks = packed.Blocks(Report(), self.step - 1, given.pause)
        self.blocks(input_dict["input"])
        return super().post_dataloading_process(input_dict, labels)


STEPS = 22
given = arguments()

if __name__ == "__main__":
    trainer = Trainer(configuration(given))
    trainer.train()
    trainer.close()
