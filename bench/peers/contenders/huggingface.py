"""Hugging Face datasets, streamed, shuffled by a buffer.

hf:arrow takes Arrow tables in this process, as cheap as can be; hf:torch follows its documentation: the torch format and torch's
DataLoader. It sleeps 5 s at the end of each pass, which costs no processor time.
"""

import datasets
from columns import collate_dicts
from datasets import load_dataset
from from_arrow import of_arrow
from torch.utils.data import DataLoader

datasets.disable_progress_bars()


def batches(task):
    stream = load_dataset("parquet", data_files=task.files, split="train", streaming=True, columns=task.wanted)
    stream = stream.shuffle(seed=task.seed, buffer_size=task.buffer)
    if task.contender.startswith("hf:arrow"):
        return map(of_arrow, stream.with_format("arrow").iter(task.batch))
    return DataLoader(stream.with_format("torch"), task.batch, num_workers=task.workers, collate_fn=collate_dicts)
