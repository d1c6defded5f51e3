"""LitData on its own format: chunks of 64 MB without compression, read by its DataLoader.

Its defaults shuffle chunks, and the items of a chunk in blocks of 256.
"""

import litdata
import pyarrow.parquet as pq
from columns import collate_dicts
from from_arrow import as_rows

CHUNK = 64 << 20
WORKERS = 2  # that convert


def convert(task):
    litdata.optimize(
        rows_of, task.files, task.own, chunk_bytes=CHUNK, num_workers=WORKERS, reorder_files=False, start_method="spawn", verbose=False
    )


def rows_of(path):
    """The rows of a file as dicts of types that LitData has formats for."""
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        columns = [c.tolist() if hasattr(c, "tolist") else c for c in as_rows(table)]
        for row in zip(*columns):
            yield dict(zip(table.column_names, row))


def batches(task):
    stream = litdata.StreamingDataset(task.own, shuffle=True, seed=task.seed)
    ahead = {"prefetch_factor": 4} if task.workers else {}
    return litdata.StreamingDataLoader(stream, batch_size=task.batch, num_workers=task.workers, collate_fn=collate, **ahead)


def collate(rows):
    return collate_dicts([{name: plain(value) for name, value in row.items()} for row in rows])


def plain(value):
    """Bytes come as views of a chunk, which no worker can hand over."""
    return bytes(value) if isinstance(value, memoryview) else value
