"""Ray Train: a training loop over our shard against the same loop over Ray Data's."""

import process
from delivery import (
    CAP,
    alternate,
    entries,
    median,
    ratios,
    run,
    set_of,
)
from delivery import (
    checks as of_writers,
)

OURS = entries.Contender("shardfeed.ray", "ray_train", "ray_train", workers=2)
THEIRS = entries.Contender("iter_torch_batches of Ray Data", "ray_train", "ray_train", workers=2)
KEY = "steady_rows_per_cpu_second"  # from the first batch on: Ray's own start is not counted
EPOCHS = 3


def checks(directory):
    for name in ("shop", "tabular"):
        data = set_of(name)
        source = f"{name}, {EPOCHS} epochs in a loop of TorchTrainer on two workers: rows per CPU-s of all processes, over {THEIRS.name}"
        yield from of_writers(
            directory,
            f"ray, train, {name}",
            data,
            source,
            6,
            12,
            against,
            at_most=False,
        )


def against(case, rounds):
    rows = EPOCHS * case.rows()
    task = {"rows": rows, "buffer": rows // EPOCHS // 10}
    ours, theirs = alternate(
        rounds,
        lambda: run(case, OURS, "epoch", "--cap", 1000, way="ours", **task),
        lambda: run(case, THEIRS, "epoch", "--cap", CAP, way="theirs", **task),
    )
    if found := {r["rows"] for r in ours} - {rows}:
        raise process.Failed(f"{found} of {rows:,} rows came")
    capped = "" if theirs[-1]["whole"] else ", which was capped"
    return (
        ratios(ours, theirs, KEY),
        f"{median(ours, KEY):,.0f} rows per CPU-s against {median(theirs, KEY):,.0f}{capped}",
    )
