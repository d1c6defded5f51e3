"""shardfeed: batches of rows of about the same length, padded to their longest."""

from shardfeed.torch import StreamingDataset

COLUMN = "prompt_ids"


def batches(task):
    rows = StreamingDataset(
        task.directory,
        batch_size=1,
        columns=[COLUMN],
        bucket={COLUMN: task.tokens},
        pad={COLUMN: 0},
        shuffle_buffer=task.buffer,
        seed=task.seed,
    )
    for batch in rows:
        yield {"token_ids": batch[COLUMN], "seq_lengths": batch[f"{COLUMN}_lengths"]}
