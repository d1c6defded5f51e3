"""shardfeed, packed: dense blocks of tokens with the lengths of their documents."""

from shardfeed import Pack
from shardfeed.torch import StreamingDataset


def batches(task):
    return StreamingDataset(
        task.directory,
        batch_size=task.batch,
        columns=["token_ids"],
        pack=Pack({"token_ids": task.tokens}, strategy=task.strategy, with_columns=["seq_lengths"]),
        shuffle_buffer=task.buffer,
        seed=task.seed,
    )
