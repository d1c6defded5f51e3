"""The jobs of the tests of JPEGs on the GPU, as those of cuda.py."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cuda
import torch
from jpegs import Rows, furthest

import shardfeed
from shardfeed import Image, MapDataset
from shardfeed.torch import DataLoader, StreamingDataset
from shardfeed.torch._epoch import Local
from shardfeed.torch._jpeg import _cubins, _decoder, _kernels, _worker
from shardfeed.torch._jpeg._cubins import Cubins
from shardfeed.torch._jpeg._decoder import Decoder
from shardfeed.torch._jpeg._rows import Format

DEVICE = torch.device("cuda:0")


def left() -> int:
    """Libraries and states of nvJPEG that were not closed."""
    fake = ctypes.CDLL(None)
    return int(fake.fakenvjpeg_left()) if hasattr(fake, "fakenvjpeg_left") else 0


def decoder_here() -> Decoder:
    return Decoder(DEVICE, Cubins(None))


def started(decoder: Decoder, rows: Rows, form: Format) -> torch.Tensor:
    """The tensor of rows, none of which is refused."""
    found, refused = decoder.decode(rows.values, rows.offsets, rows.rows, form)
    assert not len(refused)
    return found


def read(paths: list[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


def batches(paths: list[str], count: int, given: dict[str, Any], finished: list[int], lost: list[int]) -> dict[str, Any]:
    """Batches of random sizes, each in memory of its own, compared when all have been started."""
    form, files = Format(**{"height": 20, "width": 24} | given), read(paths)
    decoder = decoder_here()
    all_rows = []
    for i in range(count):
        some: list[bytes | None] = [None if k in lost else file for k, file in enumerate(files[: len(files) - i % 3])]
        rows = Rows.of(some, form, seed=i, finished=finished)
        all_rows.append((rows, started(decoder, rows, form)))
    decoder.close()
    worst = max(furthest(found, rows.want) for rows, found in all_rows)
    return {"worst": worst, "left": left(), "hardware": decoder.hardware}


def small_memory(paths: list[str]) -> dict[str, Any]:
    """Decoded images of a batch do not fit into memory together."""
    _decoder._PLANES = 30_000
    return batches(paths, 4, {}, [1], [2])


def subsampled(paths: list[str]) -> dict[str, Any]:
    """Images that are subsampled as the hardware does not take them, in the second batch."""
    form, decoder, worst = Format(20, 24), decoder_here(), 0
    for samplings in ({}, {1: 0x41, 3: 0x42}, {}):
        rows = Rows.of(read(paths), form, samplings=samplings)
        found = started(decoder, rows, form)
        decoder.stream.synchronize()
        worst = max(worst, furthest(found, rows.want))
    decoder.close()
    return {"worst": worst, "left": left()}


def normalised(paths: list[str]) -> float:
    """The largest difference of values of 0 to 255 that are normalised to halves."""
    form = Format(20, 24, torch.float16, True, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
    plain = Format(20, 24, channels_last=True)
    rows = Rows.of(read(paths), plain)
    decoder = decoder_here()
    found = started(decoder, rows, form)
    decoder.close()
    values = (found.cpu().float() * torch.tensor(form.std) + torch.tensor(form.mean)) * 255
    return float((values - rows.want.float()).abs().max())


def refused(paths: list[str], count: int) -> dict[str, Any]:
    """Images that nvJPEG refuses have zeros, and other rows are right."""
    form, files = Format(20, 24), read(paths)
    decoder, answers, worst = decoder_here(), [], 0
    for i in range(count):
        rows = Rows.of(files, form, seed=i, finished=[0])
        found, which = decoder.decode(rows.values, rows.offsets, rows.rows, form)
        decoder.stream.synchronize()
        rows.want[which] = 0
        worst = max(worst, furthest(found, rows.want))
        answers.append(which.tolist())
    decoder.close()
    return {"refused": answers, "worst": worst, "left": left()}


def failing(paths: list[str], count: int) -> dict[str, Any]:
    """A call fails; later batches are whole."""
    form, files = Format(20, 24), read(paths)
    decoder, errors, worst = decoder_here(), [], 0
    for i in range(count):
        rows = Rows.of(files, form, seed=i)
        try:
            found = started(decoder, rows, form)
            decoder.stream.synchronize()
            worst = max(worst, furthest(found, rows.want))
        except RuntimeError as e:
            errors.append(str(e))
    decoder.close()
    return {"errors": errors, "worst": worst, "left": left()}


def steady(paths: list[str]) -> dict[str, Any]:
    """Many batches, whose memory the first ones have taken."""
    form, files = Format(20, 24, jitter=True), read(paths)
    decoder = decoder_here()
    rows = [Rows.of(files[: len(files) - i % 3], form, seed=i, finished=[2]) for i in range(6)]
    for i in range(300):
        column = rows[i % len(rows)]
        decoder.decode(column.values, column.offsets, column.rows, form)
    decoder.close()
    return {"left": left()}


def overwritten(paths: list[str]) -> None:
    """A planted fault: the slot is used again at once."""
    form = Format(20, 24)
    rows = Rows.of(read(paths), form)
    decoder = decoder_here()
    decoder.decode(rows.values, rows.offsets, rows.rows, form)
    rows.values.zero_()
    decoder.close()


def not_waited_for(paths: list[str]) -> None:
    """A planted fault: a state is used again while it works."""
    _decoder._Lane.wait = lambda lane, memory: None  # type: ignore[method-assign]
    batches(paths, 6, {}, [], [])


def loaded(data: str, given: dict[str, Any], images: dict[str, Any], epochs: int = 1) -> dict[str, Any]:
    """Epochs of a loader that decodes on the device, compared with those of one that does not."""
    given = {"batch_size": 6, "images": {"img": Image(**images)}, "image_decoder": "go", "cache": False, "seed": 3} | given
    plain = {name: value for name, value in given.items() if name not in ("image_device", "image_cpu_share")}
    said = cuda.warnings()
    dataset = StreamingDataset(data, **plain)
    want = [batch for _ in range(epochs) for batch in dataset]
    loader = DataLoader(data, device=DEVICE, **given)
    found = [batch for _ in range(epochs) for batch in loader]
    worst = max(furthest(f["img"], w["img"]) for f, w in zip(found, want))
    mean = float(torch.cat([(f["img"].cpu().float() - w["img"].float()).abs().flatten() for f, w in zip(found, want)]).mean())
    on_device = loader.stats()["images_on_device"]
    same = all(f["id"].tolist() == w["id"].tolist() and list(f) == list(w) for f, w in zip(found, want)) and len(found) == len(want)
    state, count = loader.state_dict(), loader.stats()["images_refused"]
    loader.close()
    soon = time.monotonic() + 20  # the worker's thread closes nvJPEG
    while left() and time.monotonic() < soon:
        time.sleep(0.01)
    here = loader.stats()["image_device"]
    assert here["device"] == "cuda:0" and here["why"] == "" and here["columns"] == {"img": ""}, here
    kept, how_far = len(json.dumps(state)) < 4000, {"worst": worst, "mean": mean, "same": same}
    return {**how_far, "on_device": on_device, "refused": count, "said": said, "left": left(), "state": kept}


def opened(data: str, **given: Any) -> DataLoader[Any]:
    images = {"img": Image(20, crop="random_resized", flip=0.5, reducing_gap=None)}
    own = {"batch_size": 6, "images": images, "image_decoder": "go", "cache": False, "seed": 3, "device": DEVICE}
    return DataLoader(data, **(own | given))


def left_early(data: str, how: str) -> dict[str, Any]:
    """An epoch that is left while images are decoded; then a whole one."""
    loader = opened(data, image_device="cuda")
    want = list(opened(data, device=None))
    cuda.late(20_000)
    cuda.leave(loader, how)
    cuda.late(0)
    gc.collect()
    loader.set_epoch(0)
    found = list(loader)
    worst = max(furthest(f["img"], w["img"]) for f, w in zip(found, want))
    del loader
    gc.collect()
    return {"worst": worst, "batches": len(found) == len(want)}


def late_training(data: str) -> int:
    """The training reads batches that were dropped."""
    want = list(opened(data, device=None))
    results = []
    for batch in opened(data, image_device="cuda", image_cpu_share=0.3):
        torch.cuda._sleep(1)
        results.append(batch["img"].clone())
        del batch
    return max(furthest(found, batch["img"]) for found, batch in zip(results, want, strict=True))


def resumed(data: str) -> int:
    want = list(opened(data, device=None))
    first = opened(data, image_device="cuda")
    batches = iter(first)
    found = [next(batches) for _ in range(3)]
    second = opened(data, image_device="cuda")
    second.load_state_dict(first.state_dict())
    found += list(second)
    return max(furthest(f["img"], w["img"]) for f, w in zip(found, want, strict=True))


def raised(data: str, given: dict[str, Any]) -> dict[str, Any]:
    """What comes of a loader that may not start, or that fails."""
    said = cuda.warnings()
    try:
        given = {name: torch.device("cpu") if value == "cpu" and name == "device" else value for name, value in given.items()}
        loader = opened(data, **given)
        count = sum(len(batch["id"]) for batch in loader)
        here = loader.stats().get("image_device")
        assert here is None or (here["why"] and here["device"] == ""), here
    except (shardfeed.errors.ShardfeedError, RuntimeError) as e:
        return {"error": type(e).__name__, "text": str(e), "said": said}
    return {"rows": count, "said": said}


def lost(data: str, how: dict[str, Any]) -> dict[str, Any]:
    """Damaged files: the batches, figures and errors of both ways."""
    ways = []
    for more in ({"device": None}, {"image_device": "cuda"}):
        loader, batches, text = opened(data, **{"max_lost": 1} | how | more), [], ""
        try:
            batches.extend(loader)
        except shardfeed.errors.DataError as e:
            text = f"{e} | {e.shard} {e.row_group} {e.column} {e.hint}"
        stats = loader.stats()
        audit = stats["audit"] or {}
        ways.append((batches, text, {name: stats[name] for name in ("rows", "lost_rows", "lost")}, audit.get("proved")))
        loader.close()
    (want, error, figures, proved), (found, other_error, other_figures, other_proved) = ways
    worst = 0
    for f, w in zip(found, want):
        assert list(f) == list(w), (f, w)
        assert all(f[name].tolist() == w[name].tolist() for name in w if name != "img"), (f["id"], w["id"])
        worst = max(worst, furthest(f["img"], w["img"]) if len(f["id"]) else 0)
    valid = [f["_row_valid"].tolist() for f in found if "_row_valid" in f]
    return {
        "worst": worst, "batches": [len(found), len(want)], "errors": [error, other_error], "figures": [figures, other_figures],
        "proved": [proved, other_proved], "masked": sum(row.count(False) for row in valid),
    }  # fmt: skip


def by_number(data: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Two epochs of rows by number, the second one resumed, compared with the processors' rows."""
    images = {"img": Image(20, crop="random_resized", flip=0.5, reducing_gap=None)}
    dataset = MapDataset(data, images=images, image_decoder="go", cache=False, **options)

    def loader(**more: Any) -> Any:
        return DataLoader(dataset, batch_size=6, shuffle=True, seed=1, **more)

    said, reference = cuda.warnings(), loader()
    want = [batch for _ in range(2) for batch in reference]
    first = loader(device=DEVICE, **given)
    found, batches = list(first), iter(first)
    found += [next(batches) for _ in range(3)]
    second = loader(device=DEVICE, **given)
    second.load_state_dict(first.state_dict())
    first.close()
    found += list(second)
    second.close()
    worst = 0
    for f, w in zip(found, want, strict=True):
        assert list(f) == list(w) and all(f[name].tolist() == w[name].tolist() for name in w if name != "img"), (f, w)
        worst = max(worst, furthest(f["img"], w["img"]))
    return {"worst": worst, "said": said, "rows": sum(len(f["id"]) for f in found)}


def number_errors(data: str, given: dict[str, Any]) -> str:
    try:
        list(DataLoader(MapDataset(data, images={"img": Image(20)}, cache=False), **{"batch_size": 6, "device": DEVICE} | given))
    except (TypeError, shardfeed.errors.ShardfeedError) as e:
        return f"{type(e).__name__}: {e}"
    return ""


def compared(found: list[Any], want: list[Any]) -> int:
    assert [f["id"].tolist() for f in found] == [w["id"].tolist() for w in want]
    return max(furthest(f["img"], w["img"]) for f, w in zip(found, want, strict=True))


def resumed_at_each_step(data: str) -> int:
    """On two ranks, with images that nvJPEG refuses."""
    worst = 0
    for rank in range(2):
        ranks = {"rank": rank, "world_size": 2, "image_cpu_share": 0.3}
        want = list(opened(data, device=None, **{**ranks, "image_cpu_share": None}))
        for step in range(1, len(want)):
            first = opened(data, image_device="cuda", **ranks)
            batches = iter(first)
            found = [next(batches) for _ in range(step)]
            second = opened(data, image_device="cuda", **ranks)
            second.load_state_dict(first.state_dict())
            first.close()
            found += list(second)
            second.close()
            worst = max(worst, compared(found, want))
    return worst


def shared(data: str, given: dict[str, Any]) -> int:
    """Two loaders of one data set's batches at once, and the data set itself afterwards."""
    images = {"img": Image(20, crop="random_resized", flip=0.5, reducing_gap=None)}
    own = {"images": images, "image_decoder": "go", "cache": False, "seed": 3, "batch_size": 6} | given
    want = list(StreamingDataset(data, **own))
    one, two = (DataLoader(StreamingDataset(data, **own), device=DEVICE, image_device="cuda") for _ in range(2))
    pairs = list(zip(one, two, strict=True))
    worst = max(compared([pair[k] for pair in pairs], want) for k in range(2))
    dataset = one.dataset
    one.close()
    dataset.set_epoch(0)
    return max(worst, compared(list(dataset), want))


def functions(data: str) -> dict[str, Any]:
    return raised(data, {"image_device": "cuda", "collate_fn": len})


def nested(data: str) -> int:
    """Images that are members of structs, as Hugging Face's library writes them."""
    images = {"image.bytes": Image(20, crop="random_resized", reducing_gap=None)}
    want, found = (list(opened(data, images=images, **more)) for more in ({"device": None}, {"image_device": "cuda"}))
    assert list(found[0]["image"]) == list(want[0]["image"])
    return max(furthest(f["image"]["bytes"], w["image"]["bytes"]) for f, w in zip(found, want, strict=True))


def early(data: str) -> list[bool]:
    """The data set is not opened before the decoder is made, and the first batch does not come before
    the decoder is ready for it: neither waits for the other.
    """
    torch.cuda.init()
    made, ready, waits = threading.Event(), threading.Event(), []

    class Watched(Decoder):
        def __init__(self, device: torch.device, cubins: Cubins) -> None:
            super().__init__(device, cubins)
            made.set()

        def warm(self, count: int) -> None:
            super().warm(count)
            ready.set()

    def after(event: threading.Event, call: Any) -> Any:
        def wait(*arguments: Any) -> Any:
            waits.append(event.wait(60))
            return call(*arguments)

        return wait

    _worker.Decoder = Watched  # type: ignore[misc]
    StreamingDataset._open_by = after(made, StreamingDataset._open_by)  # type: ignore[method-assign]
    Local.__next__ = after(ready, Local.__next__)  # type: ignore[method-assign]
    loader = opened(data, image_device="cuda")
    next(iter(loader))
    loader.close()
    return waits[:2]


def kept(data: str, what: str) -> dict[str, Any]:
    """A first batch after the kernels were kept by a process before, and what comes of their file."""
    directory = Path(data).parent / "kept"
    calls, make = [], _cubins.compiled

    def compiled(*of: Any) -> bytes:
        calls.append(of)
        return make(*of)

    _cubins.compiled = compiled  # type: ignore[assignment]
    for file in (directory / "kernels").glob("*"):
        if what == "damaged":
            file.write_bytes(file.read_bytes()[:-1])
        elif what == "refused":
            file.write_bytes(_cubins._content(file.name, b"from another world"))
    next(iter(opened(data, image_device="cuda", cache_dir=directory)))
    return {"compiled": len(calls), "files": len(list((directory / "kernels").glob("*")))}


def automatic(data: str) -> dict[str, Any]:
    """The share that the engine is sent, with measurements that are made up."""
    from shardfeed.torch import _balance

    _balance._WINDOW = 2
    shares = iter([0.75, 0.5, 0.25, 0.0])

    def window(self: Any, seconds: float, waited: float, batches: int) -> bool:
        self.share = next(shares, 0.0)
        return True

    _balance.Balance.window = window  # type: ignore[method-assign]
    loader = opened(data, image_device="auto")
    want = list(opened(data, device=None))
    found = [batch for _ in range(3) for batch in loader]
    return {"worst": max(furthest(f["img"], w["img"]) for f, w in zip(found, want)), "batches": len(found)}


if __name__ == "__main__":
    _cubins.compiled(_kernels.text(), 9, 0)  # once for all jobs
    cuda.serve(globals())
