"""Processor time of photographs with masks or boxes, and of several crops of one, by a loader.

python bench/rivals/scenes.py mask|boxes|simclr|dino shardfeed|torchvision|albumentations DIRECTORY SEED EPOCHS

mask is a random crop to 512, boxes a letterbox of 640, simclr two crops of 224 and dino two of 224
and eight of 96. Rivals run in two workers of torch's DataLoader over rows in memory, and decode each
file once; ours reads parquet. Prints one line of JSON: rows, and the seconds that this process, its
workers and its engine took, without imports.
"""

import importlib
import json
import os
import pathlib
import resource
import sys

import numpy as np
import pyarrow.parquet as pq
import torch

BATCH, FILL = 16, 114
MODULES = {
    "shardfeed": ["shardfeed.torch"],
    "torchvision": ["torchvision.transforms.v2", "torchvision.io"],
    "albumentations": ["albumentations", "cv2"],
}
COLUMNS = {"mask": ["image", "mask"], "boxes": ["image", "boxes", "labels"], "simclr": ["image"], "dino": ["image"]}
GLOBAL, LOCAL = (224, (0.4, 1.0)), (96, (0.05, 0.4))
CROPS = {"simclr": {"global": (*GLOBAL, 2)}, "dino": {"global": (*GLOBAL, 2), "local": (*LOCAL, 8)}}  # name -> size, scale, views


def ours(what, directory, seed):
    from shardfeed import Boxes, Image
    from shardfeed.torch import DataLoader

    random, boxes = {"crop": "random_resized", "flip": 0.5}, {}
    if what == "mask":
        images = {"image": Image(512, **random), "mask": Image(like="image", channels=1, interpolation="nearest")}
    elif what == "boxes":
        images = {"image": Image(640, crop="letterbox", fill=FILL, flip=0.5)}
        boxes = {"boxes": Boxes("image", min_size=2, drop_with=["labels"])}
    else:
        images = {name: Image(size, of="image", scale=scale, views=n, **random) for name, (size, scale, n) in CROPS[what].items()}
    given = {"columns": COLUMNS[what], "images": images, "boxes": boxes}
    return DataLoader(directory, batch_size=BATCH, seed=seed, cache=False, collate_workers=2, **given)


class Rows(torch.utils.data.Dataset):
    """The rows in memory, decoded and augmented by a function."""

    def __init__(self, table, apply):
        self.table, self.apply = table, apply

    def __len__(self):
        return self.table.num_rows

    def __getitem__(self, i):
        return self.apply(*(column[i].as_py() for column in self.table.columns))


class Torchvision:
    def __init__(self, what):
        from torchvision.transforms import v2

        def random(size, **scale):
            return v2.Compose([v2.RandomResizedCrop(size, antialias=True, **scale), v2.RandomHorizontalFlip()])

        self.crop = random(512)
        self.crops = [(random(size, scale=scale), n) for size, scale, n in CROPS.get(what, {}).values()]
        self.rest = v2.Compose([v2.RandomHorizontalFlip(), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=2)])

    @staticmethod
    def decode(file):
        from torchvision.io import decode_image

        return decode_image(torch.frombuffer(bytearray(file), dtype=torch.uint8))

    def mask(self, image, mask):
        from torchvision import tv_tensors

        return self.crop(tv_tensors.Image(self.decode(image)), tv_tensors.Mask(self.decode(mask)))

    def boxes(self, image, boxes, labels):
        from torchvision import tv_tensors
        from torchvision.transforms.v2 import functional

        image = tv_tensors.Image(self.decode(image))
        h, w = image.shape[-2:]
        boxes = tv_tensors.BoundingBoxes(torch.tensor(boxes).reshape(-1, 4), format="XYXY", canvas_size=(h, w))
        r = min(640 / h, 640 / w)
        high, wide = round(h * r), round(w * r)
        left, top = (640 - wide) // 2, (640 - high) // 2
        pad = [left, top, 640 - wide - left, 640 - high - top]
        image, boxes = (functional.pad(functional.resize(t, [high, wide]), pad, fill=FILL) for t in (image, boxes))
        return tuple(self.rest({"image": image, "boxes": boxes, "labels": torch.tensor(labels)}).values())

    def views(self, image):
        decoded = self.decode(image)
        return tuple(torch.stack([crop(decoded) for _ in range(n)]) for crop, n in self.crops)

    simclr = dino = views


class Albumentations:
    def __init__(self, _):
        import albumentations as A

        kept = A.BboxParams("pascal_voc", label_fields=["labels"], clip=True, min_width=2, min_height=2)
        steps = [A.LongestMaxSize(640), A.PadIfNeeded(640, 640, border_mode=0, fill=FILL), A.HorizontalFlip()]
        self.crop = A.Compose([A.RandomResizedCrop((512, 512)), A.HorizontalFlip()])
        self.letterbox = A.Compose(steps, bbox_params=kept)

    @staticmethod
    def decode(file):
        import cv2

        return cv2.cvtColor(cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)

    @staticmethod
    def tensor(image):
        return torch.from_numpy(image.transpose(2, 0, 1).copy())

    def mask(self, image, mask):
        import cv2

        mask = cv2.imdecode(np.frombuffer(mask, np.uint8), cv2.IMREAD_UNCHANGED)
        out = self.crop(image=self.decode(image), mask=mask)
        return self.tensor(out["image"]), torch.from_numpy(out["mask"])

    def boxes(self, image, boxes, labels):
        out = self.letterbox(image=self.decode(image), bboxes=np.array(boxes).reshape(-1, 4), labels=labels)
        return self.tensor(out["image"]), torch.tensor(out["bboxes"]), torch.tensor(out["labels"])


def theirs(what, who, directory, seed):
    torch.manual_seed(seed)
    apply = getattr({"torchvision": Torchvision, "albumentations": Albumentations}[who](what), what)
    rows = Rows(pq.read_table(directory, columns=COLUMNS[what]), apply)
    return torch.utils.data.DataLoader(rows, BATCH, shuffle=True, num_workers=2, collate_fn=together, persistent_workers=True)


def together(rows):
    return torch.stack([row[0] for row in rows]), [row[1:] for row in rows]


def engines():
    """The seconds of the engines of this run's SHARDFEED_RUNTIME_DIR, in user mode and in the kernel."""
    found, mine = np.zeros(2), f"SHARDFEED_RUNTIME_DIR={os.environ.get('SHARDFEED_RUNTIME_DIR', '')}".encode()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            program = pathlib.Path(f"/proc/{process}/exe").readlink().name
            if program == "shardfeed" and mine in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                ticks = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
                found += [int(n) / os.sysconf("SC_CLK_TCK") for n in ticks[11:13]]
        except OSError:
            continue
    return found


def spent():
    """The seconds of this process and of children that ended, in user mode and in the kernel."""
    both = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(np.array([usage.ru_utime, usage.ru_stime]) for usage in both)


def measure(what, who, directory, seed, epochs):
    torch.set_num_threads(1)
    for module in MODULES[who]:
        importlib.import_module(module)
    begin = spent()
    loader = ours(what, directory, int(seed)) if who == "shardfeed" else theirs(what, who, directory, int(seed))
    rows = 0
    for _ in range(int(epochs)):
        for batch in loader:
            rows += len(batch[0] if isinstance(batch, tuple | list) else next(iter(batch.values())))
    engine = engines()
    del loader
    user, system = spent() - begin + engine
    print(json.dumps({"rows": rows, "user_seconds": user, "system_seconds": system}))


if __name__ == "__main__":
    measure(*sys.argv[1:])
