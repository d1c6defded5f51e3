"""The table of the figures of models.py, with the goals."""

SHARES = {("resnet18", 16): 0.9, ("resnet50", 8): 0.98, ("resnet50", 4): 0.95}  # case, cores -> of the ceiling
FASTER = 4  # than torch, photographs without a model on 8 cores
NVJPEG = 0.8  # of its speed, photographs without a model on 8 cores
FIRST = 0.6  # seconds to the first batch

HEAD = ("case", "cores", "loader", "rows/s", "of the ceiling", "waits", "cores busy", "first batch, s", "goal")


def table(records):
    """In Markdown."""
    by_case = {}
    for record in records:
        by_case.setdefault((record["case"], record["cores"]), []).append(record)
    lines = [HEAD, ("---",) * len(HEAD)]
    for (case, cores), found in by_case.items():
        for record in found:
            judge = record["loader"] == "shardfeed" and record["size"] == "large"
            goal = goals(case, cores, record, found) if judge else ""
            lines.append((case, cores, record["loader"], *figures(record), goal))
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def figures(record):
    ways = {"rows_per_second": "{:,.0f}", "of_ceiling": "{:.3f}", "waits": "{:.1%}", "cores_busy": "{:.1f}", "first_seconds": "{:.2f}"}
    return [way.format(record[name]) if name in record else "" for name, way in ways.items()]


def goals(case, cores, ours, found):
    """The goals of our loader, and whether they were met."""
    if case == "first":
        return judged(f"<= {FIRST} s", ours["first_seconds"] <= FIRST)
    if case == "loader":
        speeds = {record["loader"]: ours["rows_per_second"] / record["rows_per_second"] for record in found}
        return "; ".join(
            judged(f"{ratio:.2f}x of {name}, >= {must}x", ratio >= must)
            for name, ratio in speeds.items()
            if name != "shardfeed"
            for must in [NVJPEG if "nvJPEG" in name else FASTER]
        )
    must = SHARES.get((case, cores))
    return judged(f">= {must}", ours["of_ceiling"] >= must) if must else ""


def judged(goal, met):
    return f"{goal}, {'met' if met else 'MISSED'}"
