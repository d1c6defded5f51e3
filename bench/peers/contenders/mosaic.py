"""MosaicML streaming: the set converted to MDS shards of 64 MB without compression, read by StreamingDataset and torch's DataLoader."""

import pyarrow as pa
import pyarrow.parquet as pq
from columns import collate_dicts
from from_arrow import as_rows, is_bytes, is_list, is_text
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from torch.utils.data import DataLoader

SHARD = 64 << 20


def convert(task):
    schema = pq.ParquetFile(task.files[0]).schema_arrow
    first = pq.ParquetFile(task.files[0]).read_row_group(0)
    encodings = {name: encoding(schema.field(name).type, first[name].null_count) for name in schema.names}
    with MDSWriter(out=task.own, columns=encodings, size_limit=SHARD) as out:
        for path in task.files:
            for table in pq.ParquetFile(path).iter_batches(1024):
                for row in zip(*as_rows(table)):
                    out.write(dict(zip(encodings, row)))


def encoding(kind, nulls):
    """Numbers with nulls become NaN, as in the other contenders."""
    if is_text(kind):
        return "str"
    if is_bytes(kind):
        return "bytes"
    if is_list(kind):
        return f"ndarray:{kind.value_type}"
    if pa.types.is_integer(kind) and not nulls:
        return str(kind)
    return "float32" if pa.types.is_float32(kind) else "float64"


def batches(task):
    clean_stale_shared_memory()
    stream = StreamingDataset(
        local=task.own,
        shuffle=True,
        shuffle_algo="py1e",
        shuffle_seed=task.seed,
        shuffle_block_size=task.buffer,
        batch_size=task.batch,
    )
    ahead = {"prefetch_factor": 4} if task.workers else {}
    return DataLoader(stream, task.batch, num_workers=task.workers, collate_fn=collate_dicts, **ahead)
