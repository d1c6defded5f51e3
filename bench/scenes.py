"""Images: photographs with masks or boxes, and several crops of one, beside torch's workers."""

import functools
import statistics
import tempfile

import check
import delivery
import process
import table
from delivery import entries

SET = entries.Set("scenes", "id", 16, 4, 240, 2, 786_432)
EPOCHS = 3
WAYS = {
    "mask": ("picture and mask, random crop to 512", {"torchvision": (2, 3), "albumentations": (1.5, 2)}),
    "boxes": ("picture and boxes, letterbox of 640", {"torchvision": (2, 3), "albumentations": (1.5, 2)}),
    "simclr": ("two crops of 224 of a picture", {"torchvision": (None, None)}),
    "dino": ("two crops of 224 and eight of 96 of a picture", {"torchvision": (None, None)}),
}


def checks(directory):
    for way, (what, rivals) in WAYS.items():
        for rival, (must, aim) in rivals.items():
            source = f"scenes, {what}, flipped, uint8: rows per CPU-s to torch tensors, over {rival} in two workers"
            yield from delivery.checks(
                directory,
                f"images, {way}, {rival}",
                SET,
                source,
                must,
                aim,
                lambda c, n, w=way, r=rival: against(c, w, r, n),
                busy=False,
                at_most=False,
            )


def against(case, way, rival, rounds):
    found = runs(case, way, rounds)
    ours, theirs = ([1e3 * r["cpu_seconds"] / r["rows"] for r in found[who]] for who in ("shardfeed", rival))
    more = f"{statistics.median(ours):.2f} ms of CPU a row against {statistics.median(theirs):.2f}"
    return check.quartiles([b / a for a, b in zip(ours, theirs)]), more


@functools.cache
def runs(case, way, rounds):
    """Ours and the rivals in turn, each with every row of its epochs."""
    whole = ("shardfeed", *WAYS[way][1])
    return dict(zip(whole, delivery.alternate(rounds, *(functools.partial(run, case, way, who) for who in whole))))


def run(case, way, who):
    python = f"{check.environment('bench/peers/requirements/images.txt', check.environment(check.BASE))}/bin/python"
    script = str(check.HERE / "rivals" / "scenes.py")
    contender = table.Contender(who, (python, script, way, who, str(case.directory), str(case.seed), str(EPOCHS)))
    with tempfile.TemporaryDirectory(prefix="sfbench-scenes-") as scratch:
        surroundings = {
            "PYTHONPATH": str(check.HERE.parent / "python" / "src"),
            "SHARDFEED_BIN": str(table.BIN / "shardfeed"),
            "SHARDFEED_RUNTIME_DIR": scratch,
        }
        done = process.run(contender, set(check.cores()[: delivery.CORES]), surroundings)
    if done["rows"] != EPOCHS * case.rows():
        raise process.Failed(f"{who}: {done['rows']:,} of {EPOCHS * case.rows():,} rows came")
    return done
