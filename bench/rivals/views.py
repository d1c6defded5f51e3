"""Processor time of several crops of a photograph, beside torchvision.

python bench/rivals/views.py make DIRECTORY
python bench/rivals/views.py simclr|dino shardfeed|torchvision DIRECTORY

simclr is two crops of 224 without color jitter, dino two of 224 and eight of 96. The rival runs in
two workers of torch's DataLoader over rows in memory, and decodes each file once; ours reads
parquet. Prints one line of JSON: milliseconds of processor time a row of all processes, and rows a
second.
"""

import pathlib
import sys

import pairs
import pyarrow as pa
import pyarrow.parquet as pq
import torch

GLOBAL, LOCAL = (224, (0.4, 1.0)), (96, (0.05, 0.4))
CROPS = {"simclr": {"global": (*GLOBAL, 2)}, "dino": {"global": (*GLOBAL, 2), "local": (*LOCAL, 8)}}


def make(directory):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    import photos

    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    rows = pa.table({"image": pa.array([photos.photo(i) for i in range(pairs.ROWS)], pa.binary())})
    pq.write_table(rows, f"{directory}/0.parquet", row_group_size=120, compression="none")


def ours(what, directory):
    from shardfeed import Image
    from shardfeed.torch import DataLoader

    crop = {"of": "image", "crop": "random_resized", "flip": 0.5}
    images = {name: Image(size, scale=scale, views=views, **crop) for name, (size, scale, views) in CROPS[what].items()}
    return DataLoader(directory, batch_size=pairs.BATCH, cache=False, collate_workers=2, columns=["image"], images=images)


class Rows(torch.utils.data.Dataset):
    """The rows in memory, decoded once and cropped by torchvision."""

    def __init__(self, what, directory):
        self.what, self.table = what, pq.read_table(f"{directory}/0.parquet")

    def __len__(self):
        return pairs.ROWS

    def __getitem__(self, i):
        from torchvision.io import decode_image
        from torchvision.transforms import v2

        if not hasattr(self, "crops"):
            self.crops = {
                name: (v2.Compose([v2.RandomResizedCrop(size, scale, antialias=True), v2.RandomHorizontalFlip()]), views)
                for name, (size, scale, views) in CROPS[self.what].items()
            }
        image = decode_image(torch.frombuffer(bytearray(self.table["image"][i].as_py()), dtype=torch.uint8))
        return {name: torch.stack([crop(image) for _ in range(views)]) for name, (crop, views) in self.crops.items()}


def opened(what, who, directory):
    if who == "shardfeed":
        return ours(what, directory)
    return torch.utils.data.DataLoader(Rows(what, directory), pairs.BATCH, shuffle=True, num_workers=2, persistent_workers=True)


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else pairs.measure(opened, *sys.argv[1:])
