"""Ray Train: a training loop over our shard against the same loop over Ray Data's."""

import delivery
import process
from delivery import entries, run

OURS = entries.Contender("shardfeed.ray", "ray_train", "ray_train", workers=2)
THEIRS = entries.Contender("iter_torch_batches of Ray Data", "ray_train", "ray_train", workers=2)
KEY = "steady_rows_per_cpu_second"  # of ours from the start of the loops on, of theirs from the first batches on
EPOCHS = 3
CAP = 30  # processor seconds from then on when a slow contender is stopped
TIMEOUT = 600  # seconds, of a run


def checks(directory):
    for name in ("shop", "tabular"):
        source = f"{name}, {EPOCHS} epochs in a loop of TorchTrainer on two workers: rows per CPU-s of all processes, over {THEIRS.name}"
        yield from delivery.checks(directory, f"ray, train, {name}", delivery.set_of(name), source, 6, 12, against, at_most=False)


def against(case, rounds):
    """Rows per CPU-second in the loops. Every row of ours must come."""
    rows = EPOCHS * case.rows()
    task = {"rows": rows, "buffer": max(2, case.rows() // 10), "timeout": TIMEOUT}
    ours, theirs = delivery.alternate(
        rounds,
        lambda: run(case, OURS, "epoch", way="ours", **task),
        lambda: run(case, THEIRS, "epoch", "--cap-cpu", CAP, way="theirs", **task),
    )
    if found := {r["rows"] for r in ours} - {rows}:
        raise process.Failed(f"{found} of {rows:,} rows came")
    more = f"{delivery.median(ours, KEY):,.0f} rows per CPU-s against {delivery.median(theirs, KEY):,.0f}{_stopped(theirs)}"
    return delivery.ratios(ours, theirs, KEY), more


def _stopped(results):
    """How far runs came that were stopped."""
    early = [r for r in results if not r["whole"]]
    return f", which was stopped after {delivery.median(early, 'rows'):,.0f} rows" if early else ""
