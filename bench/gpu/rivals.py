"""Torch's own DataLoader over parquet, as an expert writes it.

Workers divide the row groups, mix a few of them, and make whole batches in shared memory. The rows
are endless, so epochs have no end at which the workers are idle.
"""

import importlib.util
import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from sets import CATEGORIES, NUMBERS
from torch.utils.data import IterableDataset, get_worker_info
from training import on_a_stream

DECODER = "torchvision" if importlib.util.find_spec("torchvision") else "PIL"
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def shared(shape, dtype):
    """A tensor in shared memory, which goes to the trainer without a copy."""
    storage = torch.UntypedStorage._new_shared(int(np.prod(shape)) * dtype.itemsize)
    return torch.empty(0, dtype=dtype).set_(storage, 0, shape)


class Rows(IterableDataset):
    """Tables of a few row groups in random order, each with a random order of its rows."""

    mixed = 4  # row groups

    def __init__(self, directory, batch):
        self.files, self.batch = sorted(directory.glob("*.parquet")), batch

    def tables(self):
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        worker = get_worker_info()
        files = [pq.ParquetFile(path, memory_map=True) for path in self.files]
        groups = [(file, k) for file in files for k in range(file.num_row_groups)]
        draw = random.Random(1)  # the same order in each worker
        while True:
            draw.shuffle(groups)
            mine = groups[worker.id :: worker.num_workers]
            for at in range(0, len(mine), self.mixed):
                some = [file.read_row_group(k, columns=self.columns, use_threads=False) for file, k in mine[at : at + self.mixed]]
                table = pa.concat_tables(some).combine_chunks()
                yield table, np.random.permutation(len(table))


class Photos(Rows):
    columns = ["jpeg", "label"]

    def __init__(self, directory, batch, side):
        super().__init__(directory, batch)
        self.side = side

    def __iter__(self):
        change = {"torchvision": by_torchvision, "PIL": by_pil}[DECODER](self.side)
        made = 0
        for table, order in self.tables():
            jpegs, labels = table["jpeg"].chunk(0), table["label"].to_numpy()
            for row in order:
                if not made:
                    pixels = shared((self.batch, 3, self.side, self.side), torch.uint8)
                    label = shared((self.batch,), torch.int64)
                pixels[made] = change(bytearray(jpegs[int(row)].as_buffer()))
                label[made] = int(labels[row])
                made = (made + 1) % self.batch
                if not made:
                    yield {"jpeg": pixels, "label": label}


def by_torchvision(side):
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    change = v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()])
    return lambda jpeg: change(decode_jpeg(torch.frombuffer(jpeg, dtype=torch.uint8), mode=ImageReadMode.RGB))


def by_pil(side):
    from PIL import Image, ImageOps

    def change(jpeg):
        image = Image.open(io.BytesIO(jpeg)).convert("RGB")
        image = image.resize((side, side), Image.Resampling.BILINEAR, box=crop(*image.size))
        image = ImageOps.mirror(image) if random.random() < 0.5 else image
        return torch.from_numpy(np.array(image)).permute(2, 0, 1)

    return change


def crop(width, height):
    """The box that torchvision's RandomResizedCrop draws."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


class Tokens(Rows):
    """Documents in blocks of equal length, without padding."""

    columns = ["token_ids"]

    def __init__(self, directory, batch, tokens):
        super().__init__(directory, batch)
        self.tokens = tokens

    def __iter__(self):
        held, have, need = [], 0, self.batch * self.tokens
        for table, order in self.tables():
            lists = table["token_ids"].chunk(0)
            values, offsets = lists.values.to_numpy(), lists.offsets.to_numpy()
            for row in order:
                held.append(values[offsets[row] : offsets[row + 1]])
                have += len(held[-1])
                if have >= need:
                    flat = np.concatenate(held)
                    whole = have // need * need
                    for at in range(0, whole, need):
                        block = shared((self.batch, self.tokens), torch.int32)
                        block.numpy().reshape(-1)[:] = flat[at : at + need]
                        yield {"token_ids": block}
                    held = [flat[whole:]]
                    have -= whole


class Features(Rows):
    """Numbers and hashed categories as two matrices."""

    columns = [*NUMBERS, *CATEGORIES, "label"]

    def __init__(self, directory, batch, buckets):
        super().__init__(directory, batch)
        self.buckets = np.uint64(buckets)

    def __iter__(self):
        for table, order in self.tables():
            numbers = np.stack([table[name].to_numpy() for name in NUMBERS], 1)
            ids = np.stack([self.hashed(table[name].to_numpy()) for name in CATEGORIES], 1)
            label = table["label"].to_numpy().copy()
            for at in range(0, len(table) - self.batch + 1, self.batch):
                rows, batch = order[at : at + self.batch], {}
                for name, values in {"numbers": numbers, "ids": ids, "label": label}.items():
                    batch[name] = shared((self.batch, *values.shape[1:]), torch.from_numpy(values).dtype)
                    np.take(values, rows, 0, out=batch[name].numpy(), mode="clip")
                yield batch

    def hashed(self, values):
        return ((values.astype(np.uint64) * GOLDEN >> np.uint64(33)) % self.buckets).astype(np.int32)


def batches(rows, workers, prefetch, device):
    """Batches on the device, each copied on a stream while the one before is in use."""
    cuda = device.type == "cuda"
    given = {"num_workers": workers, "prefetch_factor": prefetch, "pin_memory": cuda, "in_order": False}
    loader = torch.utils.data.DataLoader(rows, batch_size=None, **given)
    return on_a_stream(loader, device) if cuda else iter(loader)
