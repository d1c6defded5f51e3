"""The whole table in memory as a pandas frame, a map-style Dataset over it, and torch's DataLoader shuffling. Its loading counts."""

import pandas as pd
import torch
from columns import collate
from torch.utils.data import DataLoader, Dataset


class Frame(Dataset):
    def __init__(self, frame):
        self.names = list(frame.columns)
        self.columns = [frame[name].to_numpy() for name in self.names]

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, i):
        return tuple(column[i] for column in self.columns)

    def collate(self, rows):
        return collate(rows, self.names)


def batches(task):
    frame = Frame(pd.concat([pd.read_parquet(path, columns=task.wanted) for path in task.files], ignore_index=True))
    order = torch.Generator().manual_seed(task.seed)
    return DataLoader(frame, task.batch, shuffle=True, generator=order, num_workers=task.workers, collate_fn=frame.collate)
