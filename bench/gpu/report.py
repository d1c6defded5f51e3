"""Tables of the records of a run."""

import platform
import statistics

import torch

FAKE = "fake"  # the tests' device, whose figures mean nothing
FASTEST, MOST_IDLE = 0.95, 1 / 3  # what must be reached: of torch's bandwidth, of torch's idle share


def machine(device):
    has = torch.cuda.get_device_properties(device)
    what = f"{has.name}, {has.total_memory >> 30} GiB; torch {torch.__version__}, CUDA {torch.version.cuda}; {platform.platform()}\n"
    return what if has.name != FAKE else f"{what}\nThe device is the tests' fake one: everything runs, and nothing is measured.\n"


def table(part, records):
    """The table of a part in Markdown."""
    if records[0]["device"] == FAKE:
        return f"{part}: ran on the fake device, no figures\n"
    lines = {"copies": copies, "locking": locking, "training": training, "overlap": overlap}[part](records)
    head, *rows = [" | ".join(["", *map(str, line), ""]).strip() for line in lines]
    return "\n".join([head, "| " + " | ".join(["---"] * len(lines[0])) + " |", *rows, ""])


def quartiles(values):
    """The median, and the quartiles if there are enough values."""
    values = sorted(values)
    if len(values) < 3:
        return statistics.median(values), values[0], values[-1]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def in_rounds(records, what, of, value):
    """What one has of another's, round by round."""
    by_round = {}
    for record in records:
        by_round.setdefault(record["round"], {})[record["what"]] = value(record)
    return quartiles([found[what] / found[of] if found[of] else float("inf") for found in by_round.values()])


def each(records, key):
    groups = {}
    for record in records:
        groups.setdefault(record[key], []).append(record)
    return groups.items()


def copies(records):
    rows = [("MiB a copy", "memory", "GB/s (quartiles)", "of torch-pinned", "must")]
    for size, of_size in each(records, "size"):
        for what, found in each(of_size, "what"):
            speed = "{:.2f} ({:.2f}-{:.2f})".format(*quartiles([r["bytes_per_second"] / 1e9 for r in found]))
            ratio = in_rounds(of_size, what, "torch-pinned", lambda r: r["bytes_per_second"])
            must = (">= 0.95x, met" if ratio[0] >= FASTEST else ">= 0.95x, MISSED") if what == "ring" else ""
            rows.append((size >> 20, what, speed, "{:.3f}x ({:.3f}-{:.3f})".format(*ratio), must))
    return rows


def locking(records):
    rows = [("what", "ms for each GiB (quartiles)")]
    for what, found in each(records, "what"):
        rows.append((what, "{:.1f} ({:.1f}-{:.1f})".format(*quartiles([1e3 * r["seconds"] * (1 << 30) / r["size"] for r in found]))))
    return rows


def training(records):
    rows = [("loader", "step alone, ms", "steps", "steps/s", "device idle (quartiles)", "of the best rival's", "must")]
    rivals = {what: statistics.median(r["idle"] for r in found) for what, found in each(records, "what") if what != "shardfeed"}
    rival = min(rivals, key=rivals.get)
    for what, found in each(records, "what"):
        share = "{:.1%} ({:.1%}-{:.1%})".format(*quartiles([r["idle"] for r in found]))
        speed = statistics.median(1e3 * r["steps"] / r["wall_ms"] for r in found)
        ratio = in_rounds(records, what, rival, lambda r: r["idle"])
        must = ("<= 1/3, met" if ratio[0] <= MOST_IDLE else "<= 1/3, MISSED") if what == "shardfeed" else ""
        step = statistics.median(r["step_ms"] for r in found)
        rows.append((what, f"{step:.2f}", found[0]["steps"], f"{speed:.0f}", share, "{:.2f}x ({:.2f}-{:.2f})".format(*ratio), must))
    return rows


def overlap(records):
    rows = [("what", "wall, ms", "kernels, ms", "longer than the longer one alone")]
    for what, found in each(records, "what"):
        beyond = "{:.1%} ({:.1%}-{:.1%})".format(*quartiles([r["beyond"] for r in found])) if what == "both" else ""
        rows.append((what, *(f"{statistics.median(r[key] for r in found):.0f}" for key in ("wall_ms", "busy_ms")), beyond))
    return rows
