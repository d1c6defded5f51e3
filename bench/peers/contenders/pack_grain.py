"""Grain's best-fit packer over take_once's row groups, a document at a time.

Documents that are too long come in pieces.
"""

import grain
import numpy as np
import pyarrow as pa
import torch
from from_arrow import parts
from grain.experimental import BestFitPackIterDataset
from take_once import tables

BINS = 64


class Documents(grain.IterDataset):
    def __init__(self, task):
        super().__init__()
        self.task = task

    def __iter__(self):
        return Reader(self.task)


class Reader(grain.DatasetIterator):
    def __init__(self, task):
        super().__init__()
        self.pieces = pieces(task)

    def __next__(self):
        return next(self.pieces)

    def get_state(self):
        return 0

    def set_state(self, state):
        raise NotImplementedError


def pieces(task):
    rng = np.random.default_rng(task.seed)
    for table in tables(task):
        values, offsets = parts(table.column("token_ids").take(pa.array(rng.permutation(len(table)))))
        for start, end in zip(offsets.tolist(), offsets[1:].tolist()):
            for at in range(start, end, task.tokens):
                yield {"token_ids": values[at : min(at + task.tokens, end)]}


def batches(task):
    packed = BestFitPackIterDataset(Documents(task), length_struct={"token_ids": task.tokens}, num_packing_bins=BINS, seed=task.seed)
    for blocks in packed.batch(task.batch, drop_remainder=False):
        yield {"token_ids": torch.from_numpy(blocks["token_ids"]), "segment_ids": torch.from_numpy(blocks["token_ids_segment_ids"])}
