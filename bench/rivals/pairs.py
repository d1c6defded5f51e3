"""Processor time of pictures with masks at 512, and with boxes in a letterbox of 640, beside rivals.

python bench/rivals/pairs.py make DIRECTORY
python bench/rivals/pairs.py mask|boxes shardfeed|torchvision|albumentations DIRECTORY

Rivals run in two workers of torch's DataLoader over rows in memory; ours reads parquet. Prints one
line of JSON: milliseconds of processor time a row of all processes, and rows a second.
"""

import io
import json
import os
import pathlib
import resource
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image as Picture

ROWS, BATCH, EPOCHS, FILL = 480, 16, 3, 114


def make(directory):
    """Photographs with masks of 21 classes, and 1 to 14 boxes each."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    import photos

    rows = []
    for i in range(ROWS):
        jpeg, r, out = photos.photo(i), np.random.default_rng(i), io.BytesIO()
        w, h = Picture.open(io.BytesIO(jpeg)).size
        Picture.fromarray(r.integers(0, 21, (h // 40 + 1, w // 40 + 1), np.uint8)).resize((w, h), Picture.Resampling.NEAREST).save(
            out, "PNG"
        )
        k = int(r.integers(1, 15))
        x, y = r.uniform(0, w - 20, k), r.uniform(0, h - 20, k)
        boxes = np.stack([x, y, x + r.uniform(5, 200, k), y + r.uniform(5, 200, k)], 1).clip(0, [w, h, w, h])
        rows.append({"image": jpeg, "mask": out.getvalue(), "boxes": boxes.tolist(), "labels": r.integers(0, 80, k).tolist()})
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), f"{directory}/0.parquet", row_group_size=120, compression="none")


def ours(what, directory):
    from shardfeed import Boxes, Image
    from shardfeed.torch import DataLoader

    if what == "mask":
        mask = Image(like="image", channels=1, interpolation="nearest")
        given = {"columns": ["image", "mask"], "images": {"image": Image(512, crop="random_resized", flip=0.5), "mask": mask}}
    else:
        boxes = {"boxes": Boxes("image", min_size=2, drop_with=["labels"])}
        given = {
            "columns": ["image", "boxes", "labels"],
            "images": {"image": Image(640, crop="letterbox", fill=FILL, flip=0.5)},
            "boxes": boxes,
        }
    return DataLoader(directory, batch_size=BATCH, cache=False, collate_workers=2, **given)


class Rows(torch.utils.data.Dataset):
    """The rows in memory, decoded and augmented by a function."""

    def __init__(self, what, apply, directory):
        self.columns = ["image", "mask"] if what == "mask" else ["image", "boxes", "labels"]
        self.table, self.apply = pq.read_table(f"{directory}/0.parquet", columns=self.columns), apply

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return self.apply(*(self.table.column(name)[i].as_py() for name in self.columns))


class Torchvision:
    def mask(self, image, mask):
        from torchvision import tv_tensors
        from torchvision.io import decode_image
        from torchvision.transforms import v2

        read = [decode_image(torch.frombuffer(bytearray(file), dtype=torch.uint8)) for file in (image, mask)]
        self.crop = getattr(self, "crop", None) or v2.Compose([v2.RandomResizedCrop(512, antialias=True), v2.RandomHorizontalFlip()])
        return self.crop(tv_tensors.Image(read[0]), tv_tensors.Mask(read[1]))

    def boxes(self, image, boxes, labels):
        from torchvision import tv_tensors
        from torchvision.io import decode_image
        from torchvision.transforms import v2

        image = tv_tensors.Image(decode_image(torch.frombuffer(bytearray(image), dtype=torch.uint8)))
        h, w = image.shape[-2:]
        boxes = tv_tensors.BoundingBoxes(torch.tensor(boxes).reshape(-1, 4), format="XYXY", canvas_size=(h, w))
        r = min(640 / h, 640 / w)
        high, wide = round(h * r), round(w * r)
        left, top = (640 - wide) // 2, (640 - high) // 2
        pad = [left, top, 640 - wide - left, 640 - high - top]
        image, boxes = (v2.functional.pad(v2.functional.resize(t, [high, wide]), pad, fill=FILL) for t in (image, boxes))
        steps = [v2.RandomHorizontalFlip(), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(min_size=2)]
        self.rest = getattr(self, "rest", None) or v2.Compose(steps)
        return tuple(self.rest({"image": image, "boxes": boxes, "labels": torch.tensor(labels)}).values())


class Albumentations:
    def mask(self, image, mask):
        import albumentations as A
        import cv2

        image = cv2.cvtColor(cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        mask = cv2.imdecode(np.frombuffer(mask, np.uint8), cv2.IMREAD_UNCHANGED)
        self.crop = getattr(self, "crop", None) or A.Compose([A.RandomResizedCrop((512, 512)), A.HorizontalFlip()])
        out = self.crop(image=image, mask=mask)
        return torch.from_numpy(out["image"].transpose(2, 0, 1).copy()), torch.from_numpy(out["mask"])

    def boxes(self, image, boxes, labels):
        import albumentations as A
        import cv2

        image = cv2.cvtColor(cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        kept = A.BboxParams("pascal_voc", label_fields=["labels"], clip=True, min_width=2, min_height=2)
        steps = [A.LongestMaxSize(640), A.PadIfNeeded(640, 640, border_mode=0, fill=FILL), A.HorizontalFlip()]
        self.crop = getattr(self, "crop", None) or A.Compose(steps, bbox_params=kept)
        out = self.crop(image=image, bboxes=np.array(boxes).reshape(-1, 4), labels=labels)
        return torch.from_numpy(out["image"].transpose(2, 0, 1).copy()), torch.tensor(out["bboxes"]), torch.tensor(out["labels"])


def together(rows):
    return torch.stack([row[0] for row in rows]), [row[1:] for row in rows]


def engines():
    """The processor time of the engines of this run's SHARDFEED_RUNTIME_DIR."""
    total, mine = 0.0, f"SHARDFEED_RUNTIME_DIR={os.environ.get('SHARDFEED_RUNTIME_DIR', '')}".encode()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            program = pathlib.Path(f"/proc/{process}/exe").readlink().name
            if program == "shardfeed" and mine in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                ticks = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
                total += (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return total


def opened(what, who, directory):
    if who == "shardfeed":
        return ours(what, directory)
    apply = getattr({"torchvision": Torchvision, "albumentations": Albumentations}[who](), what)
    return torch.utils.data.DataLoader(
        Rows(what, apply, directory), BATCH, shuffle=True, num_workers=2, collate_fn=together, persistent_workers=True
    )


def measure(opened, what, who, directory):
    """Reads all epochs of a loader, and prints what they took."""
    torch.set_num_threads(1)
    loader = opened(what, who, directory)
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        for _ in loader:
            pass
    seconds = time.perf_counter() - begin
    spent = engines() if who == "shardfeed" else 0.0
    del loader
    for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(of)
        spent += usage.ru_utime + usage.ru_stime
    rows = EPOCHS * ROWS
    print(json.dumps({"who": who, "what": what, "cpu_ms_per_row": round(1000 * spent / rows, 2), "rows_per_second": round(rows / seconds)}))


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else measure(opened, *sys.argv[1:])
