"""shardfeed: the engine decodes, crops and flips into the memory that the trainer reads."""

from image_transforms import MEAN, SIZE, STD
from shardfeed import Image
from shardfeed.torch import StreamingDataset

COLUMNS = ["img_jpg", "id"]


def batches(task):
    if task.way == "bytes":  # what reading, shuffling and handing over cost
        return stream(task)
    floats = {"dtype": "float32", "mean": MEAN, "std": STD} if task.pixels == "float32" else {}
    image = Image(size=SIZE, crop="random_resized", flip=0.5, **floats)
    return stream(task, images={"img_jpg": image})


def stream(task, **options):
    return StreamingDataset(
        task.directory, batch_size=task.batch, columns=COLUMNS, shuffle_buffer=task.buffer, seed=task.seed, cache=False, **options
    )
