"""shardfeed: texts in parquet, tokenized and packed by the engine."""

from shardfeed import Pack
from shardfeed.torch import StreamingDataset


def batches(task):
    return StreamingDataset(
        task.directory,
        batch_size=task.batch,
        columns=["text"],
        tokenize={"text": task.tokenizer},
        pack=Pack({"text": task.block}, with_columns=["seq_lengths"]),
        shuffle_buffer=task.buffer,
        seed=task.seed,
    )
