"""torchtitan's way: Hugging Face datasets, streamed, its tokenizer, and blocks cut from a list.

text_titan encodes batches of documents, which is faster than torchtitan's one by one, and joins
their tokens by numpy. With workers, torch's DataLoader runs it.
"""

import datasets
import numpy as np
import torch
from datasets import load_dataset
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, IterableDataset

datasets.disable_progress_bars()
AT_ONCE = 64  # documents


class Blocks(IterableDataset):
    def __init__(self, task):
        self.task = task

    def __iter__(self):
        task, tokenizer = self.task, Tokenizer.from_file(self.task.tokenizer)
        stream = load_dataset("parquet", data_files=task.files, split="train", streaming=True, columns=["text"])
        stream = stream.shuffle(seed=task.seed, buffer_size=task.buffer)
        buffer, size = np.empty(0, np.int32), task.batch * task.block
        for some in stream.with_format("arrow").iter(AT_ONCE):
            encoded = tokenizer.encode_batch_fast(some.column("text").to_pylist(), add_special_tokens=False)
            buffer = np.concatenate([buffer, *(np.array(e.ids, np.int32) for e in encoded)])
            for i in range(len(buffer) // size):
                yield {"text": torch.from_numpy(buffer[i * size : (i + 1) * size].reshape(task.batch, task.block))}
            buffer = buffer[len(buffer) // size * size :]


def batches(task):
    blocks = Blocks(task)
    return DataLoader(blocks, batch_size=None, num_workers=task.workers) if task.workers else blocks
