"""Images: the cost of decoding, cropping and flipping, from memory and from parquet to torch."""

import dataclasses
import functools
import pathlib
import statistics
import subprocess
import tempfile

import pyarrow.parquet as pq

import check
import delivery
import process
import servers
import table
from delivery import entries, run

KEY = "rows_per_cpu_second"
BATCH = 100
PRODUCTS = entries.Set("products", "id", BATCH, 8, 1_000, 2, 150_528)
PHOTOS = entries.Set("photos", "id", BATCH, 8, 400, 2, 150_528)
SMALL, STEP = 32, 0.1  # images and seconds of a step, which ResNet-18 takes 4.7 s for on such a core
COUNT = 400  # images of a run without parquet


def rival(name, module, way="torchvision", requirements="images", workers=2):
    return entries.Contender(name, module, requirements, workers, note=way)


OURS = rival("shardfeed", "image_ours")
MAP = rival("torchvision in torch's workers over our rows", "image_map")
PIL = rival("PIL in torch's workers over our rows", "image_map", "PIL")
ALBUMENTATIONS = rival("albumentations in torch's workers over our rows", "image_map", "albumentations")
TORCH = rival("torch's DataLoader with torchvision", "image_rows")
BLOG = rival("fastparquet, torch's DataLoader, albumentations", "image_blog", "albumentations")
PETASTORM = rival("Petastorm with albumentations", "image_petastorm", "albumentations", "image_petastorm")
DALI = rival("DALI on the CPU", "image_dali", requirements="dali")
SPDL = rival("SPDL with FFmpeg", "image_spdl", "FFmpeg")
RAY = rival("Ray Data with torchvision", "image_ray", requirements="image_ray")


def without(contender):
    """The same loader, which leaves decoding and augmentation out."""
    return dataclasses.replace(contender, name=f"{contender.name}, the bytes alone", note="bytes")


BYTES = dataclasses.replace(without(OURS), name="the bytes alone")

# rival -> must and aim of the processor time that ours saves; others are only said
GOALS = {
    "products": {MAP: (1.8, 2.5), PIL: (3, 4), DALI: (2, 3), BLOG: (1.4, 2), ALBUMENTATIONS: (1.35, 2)},
    "photos": {DALI: (1.5, 2), TORCH: (1.9, 2), ALBUMENTATIONS: (1.35, 3), PIL: (2.4, 4)},
}
CONTENDERS = (BYTES, MAP, PIL, DALI, BLOG, ALBUMENTATIONS, TORCH, PETASTORM, SPDL, RAY)
SHARES = (OURS, PETASTORM, BLOG, TORCH, RAY)
RECIPES = (  # of docs/images.md
    rival("albumentations in our workers", "image_own", "albumentations"),
    rival("torchvision in our workers", "image_own"),
    rival("kornia in our workers, on images that the engine decoded", "image_own", "kornia"),
    rival("torchvision in our threads", "image_own"),
)
ALONE = {  # what is done, by whom -> must and aim
    "decode": {"simplejpeg": (0.9, 1), "torchvision": None, "opencv": None, "pil": None},
    "float32": {"torchvision": (1.7, 2.5), "ffcv": (1.7, 2.5), "albumentations": (1.7, 2.5), "pil": None},
    "uint8": {"torchvision": None, "ffcv": None, "albumentations": None, "pil": None},
}


def checks(directory):
    for data in (PRODUCTS, PHOTOS):
        for pixels in ("uint8", "float32"):
            yield from _delivered(directory, data, pixels)
            yield from _recipes(directory, data, pixels)
        yield from _shares(directory, data)
        yield from _engine(directory / data.name, data)
        for do, rivals in ALONE.items():
            for who, goal in rivals.items():
                what = f"images, {data.name}, {do} alone, {who}"
                source = f"{data.name}: images per CPU-s over {who}, one thread, files in memory"
                yield _check(what, data, source, goal, lambda _, n, d=data, o=do, w=who: _alone(directory / d.name, o, w, n))


def _engine(folder, data):
    """What two cores make of it, and how long a training step waits for it."""
    way = f"{data.name}, random crop to 224 px and flip, uint8"
    source = f"{way}: images per second of bench on two cores over one"
    yield _check(f"images, {data.name}, two cores", data, source, (1.85, 2), lambda _, n: _scaling(folder, n))
    source = f"{way}: share of a step of {STEP * 1e3:.0f} ms, on one thread, for {SMALL} images"
    measure = functools.partial(_waiting, delivery.Case(data, folder))
    yield check.Check(f"images, {data.name}, waiting", (data.name,), source, 3, 1, lambda _, n: measure(n), unit=" %", digits=2)


def _delivered(directory, data, pixels):
    plain = delivery.Case(data, directory / data.name)
    for contender in CONTENDERS:
        goal = GOALS[data.name].get(contender)
        what = f"images, {data.name}, {pixels}, {contender.name}"
        source = f"{data.name}, random crop to 224 px and flip, {pixels}: images per CPU-s to torch tensors, over {contender.name}"
        yield _check(what, data, source, goal, lambda _, n, c=contender: _against(plain, pixels, c, n))
        if goal and pixels == "uint8":
            again = f"{source}; the same rows in another order, written by DuckDB, another seed"
            yield _check(
                f"{what}, second writer",
                data,
                again,
                goal,
                lambda _, n, c=contender: _against(delivery.Case(data, check.by_duckdb(directory, data.name), 2), pixels, c, n),
            )


def _recipes(directory, data, pixels):
    case = delivery.Case(data, directory / data.name)
    for recipe in RECIPES:
        what = f"images, own transforms, {data.name}, {pixels}, {recipe.name}"
        source = f"{data.name}, random crop to 224 px and flip, {pixels}: images per CPU-s of images= over {recipe.name}"
        yield _check(what, data, source, None, lambda _, n, c=recipe: _against(case, pixels, c, n, RECIPES))


def _shares(directory, data):
    """The shares of a loader's time: reading, measured on bytes without decoding, and images."""
    case = delivery.Case(data, directory / data.name)
    for contender in SHARES:
        what = f"images, shares, {data.name}, {contender.name}"
        source = f"{data.name}, random crop to 224 px and flip, uint8: CPU-s of the bytes alone, of CPU-s of all"
        measure = functools.partial(_share, case, contender)
        yield check.Check(what, (data.name,), source, None, None, lambda _, n, m=measure: m(n), unit=" %", digits=0)


def _check(what, data, source, goal, measure):
    must, aim = goal or (None, None)
    return check.Check(what, (data.name,), source, must, aim, measure, at_most=False)


def _against(case, pixels, contender, rounds, among=CONTENDERS):
    found = _epochs(case, pixels, rounds, among)
    ours, theirs = found[OURS], found[contender]
    if isinstance(theirs, Exception):
        raise servers.Missing(theirs)
    more = f"{_milliseconds(ours):.2f} ms of CPU an image against {_milliseconds(theirs):.2f}"
    return delivery.ratios(ours, theirs, KEY), more


def _share(case, contender, rounds):
    try:
        both = delivery.alternate(rounds, *(lambda c=c: _epoch(case, "uint8", c) for c in (contender, without(contender))))
    except process.Failed as e:
        raise servers.Missing(e) from e
    whole, read = map(_milliseconds, both)
    more = f"{whole:.2f} ms of CPU an image: {read:.2f} for reading, {whole - read:.2f} for decoding and augmentation"
    return [100 * share for share in delivery.ratios(*both, KEY)], more


def _milliseconds(epochs):
    return 1e3 / delivery.median(epochs, KEY)


@functools.cache
def _epochs(case, pixels, rounds, among):
    """The epochs of ours and of these, in turn; or why one is missing."""
    found = {c: [] for c in (OURS, *among)}
    for _ in range(rounds):
        for contender, epochs in found.items():
            if isinstance(epochs, Exception):
                continue
            try:
                epochs.append(_epoch(case, pixels, contender))
            except (servers.Missing, process.Failed) as e:
                if contender is OURS:
                    raise
                found[contender] = e
    return found


def _epoch(case, pixels, contender):
    task = {"batch": BATCH, "id": "id", "way": contender.note, "pixels": pixels, "workers": contender.workers}
    epoch = run(case, contender, "epoch", **task)
    if not epoch["whole"]:
        raise process.Failed(f"{contender.name}: {epoch['rows']:,} of {case.rows():,} rows came")
    return epoch


def _waiting(case, rounds):
    runs = [run(case, OURS, "step", batch=SMALL, step=STEP, id="id", pixels="uint8", workers=OURS.workers) for _ in range(rounds)]
    steps = statistics.median(r["step_seconds"] for r in runs)
    return check.quartiles([100 * r["wait_share"] for r in runs]), f"steps of {steps * 1e3:.0f} ms"


def _scaling(directory, rounds):
    """Images per second of the Go stream on two cores over one; two programs on a core each show the machine's limit."""
    images = "img_jpg=crop=random_resized,size=224,flip=0.5"
    rows = ("--epochs", "2", "--batch-size", str(BATCH), "--columns", "id,img_jpg")
    stream = table.stream(directory, "--shuffle", *rows, "--images", images)
    surroundings = {"SHARDFEED_LIBTURBOJPEG": _library()}
    first, second = ({core} for core in check.cores()[:2])

    def apart():
        both = [process.start(stream, core, surroundings) for core in (first, second)]
        return {"speed": sum(_speed(process.finish(stream, one)) for one in both)}

    def on(cores):
        return {"speed": _speed(process.run(stream, cores, surroundings))}

    one, two, programs = delivery.alternate(rounds, lambda: on(first), lambda: on(first | second), apart)
    slow, fast, ceiling = (delivery.median(runs, "speed") for runs in (one, two, programs))
    more = f"{fast:,.0f} images per second against {slow:,.0f}; two programs on a core each: {ceiling / slow:.2f}x"
    return delivery.ratios(two, one, "speed"), more


def _speed(result):
    return result["rows"] / result["seconds"]


@functools.cache
def _files(directory):
    """A directory of the first images of a set, which ends with this process."""
    place = tempfile.TemporaryDirectory(prefix="sfbench-images-")
    first = pq.ParquetFile(sorted(directory.glob("*.parquet"))[0]).read_row_group(0, columns=["img_jpg"])["img_jpg"]
    for number, data in enumerate(first.slice(0, 100)):
        pathlib.Path(place.name, f"{number:03d}.jpg").write_bytes(data.as_py())
    return place


def _alone(directory, do, who, rounds):
    files = _files(directory).name
    python = f"{check.environment('bench/peers/requirements/images.txt', check.environment(check.BASE))}/bin/python"
    script = str(check.HERE / "rivals" / "pixels.py")
    contenders = (
        table.Contender("shardfeed", (str(table.BIN / "pixels"), "--files", files, "--do", do, "--count", str(COUNT))),
        table.Contender(who, (python, script, files, do, who, str(COUNT))),
    )
    surroundings = {"SHARDFEED_LIBTURBOJPEG": _library()}
    cores = set(check.cores()[:1])
    ours, theirs = delivery.alternate(rounds, *(lambda c=c: process.run(c, cores, surroundings) for c in contenders))

    def each(results):
        return [1e3 * r["cpu_seconds"] / r["rows"] for r in results]

    ratios = check.quartiles([b / a for a, b in zip(each(ours), each(theirs))])
    return ratios, f"{statistics.median(each(ours)):.2f} ms of CPU an image against {statistics.median(each(theirs)):.2f}"


@functools.cache
def _library():
    """Our build of libjpeg-turbo."""
    return subprocess.run(
        [str(check.HERE.parent / "tools" / "turbojpeg" / "build")], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
