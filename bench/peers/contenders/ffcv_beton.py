"""FFCV: the set converted to one beton file, read by its Loader in random order.

Texts and lists of any length only fit its BytesField, which pads them to the longest of the set.
"""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ffcv.fields import BytesField, FloatField, IntField
from ffcv.loader import Loader, OrderOption
from ffcv.writer import DatasetWriter
from from_arrow import is_bytes, is_list, is_text, parts


def convert(task):
    pathlib.Path(task.own).mkdir(parents=True, exist_ok=True)
    table = pa.concat_tables([pq.read_table(path, memory_map=True) for path in task.files]).combine_chunks()
    fields = {name: field(column) for name, column in zip(table.column_names, table.columns)}
    DatasetWriter(beton(task), fields, num_workers=task.workers).from_indexed_dataset(Rows(table))


def beton(task):
    return f"{task.own}/set.beton"


def field(column):
    """Numbers with nulls become NaN, as in the other contenders."""
    kind = column.type
    if is_text(kind) or is_bytes(kind) or is_list(kind):
        return BytesField()
    return IntField() if pa.types.is_integer(kind) and not column.null_count else FloatField()


class Rows:
    """A row is a tuple of numbers, and of bytes as arrays."""

    def __init__(self, table):
        self.rows, self.columns = len(table), [parts(column) for column in table.columns]

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return tuple(
            values[i] if offsets is None else values[offsets[i] : offsets[i + 1]].view(np.uint8) for values, offsets in self.columns
        )


def batches(task):
    loader = Loader(
        beton(task), task.batch, num_workers=task.workers, os_cache=True, order=OrderOption.RANDOM, seed=task.seed, drop_last=False
    )
    names = list(loader.pipeline_specs)
    return (dict(zip(names, columns)) for columns in loader)
