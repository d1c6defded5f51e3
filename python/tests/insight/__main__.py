"""python -m insight: faults that are injected into training, and what the figures name."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import servers

from insight import case, disk, faults, tables, volume


def main() -> int:
    given = arguments()
    root = Path(tempfile.mkdtemp(prefix="insight-"))
    os.environ.update({"SHARDFEED_BIN": str(Path(given.program).absolute()), "SHARDFEED_GRACE": "1s", "XDG_CACHE_HOME": str(root / "home")})
    tables.make(root / "data")
    numbers = [given.case] if given.case is not None else range(given.seed * 1000, given.seed * 1000 + given.faults)
    found: list[case.Found] = []
    with servers.s3_server() as store, contextlib.closing(case.Hosts()) as hosts:
        for name in ("plain", "small"):
            store.put(root / "data" / name)
        sources = case.Sources(root / "data", store, volume.of(root / "volume", store.environment))
        without = lacking(sources)
        kinds = tuple(kind for kind in given.kind if kind not in without)
        with ThreadPoolExecutor(given.at_once) as pool:
            cases = [faults.draw(number, kinds) for number in numbers]
            running = [pool.submit(case.run, each, sources, root / str(each.number), hosts) for each in cases]
            for done in as_completed(running):
                found.append(done.result())
                print(found[-1], *found[-1].wrong, *found[-1].verdicts, sep="\n     ", flush=True)
    return summary(found, root)


def lacking(sources: case.Sources) -> list[str]:
    """The kinds of faults that this process cannot make."""
    kinds = [] if disk.available() else ["slow disk"]
    if sources.volume is None:
        kinds.append("slow disk of the cache")
    for kind in kinds:
        print(f"insight: NO {kind}: this process may not mount a file system", file=sys.stderr)
    return kinds


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="insight", description="Faults that are injected into training, and what the figures name.")
    parser.add_argument("program", nargs="?", default=servers.ROOT / "bin" / "shardfeed", help="the engine (default %(default)s)")
    parser.add_argument("--faults", type=int, default=24, help="how many cases (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the cases (default %(default)s)")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--at-once", type=int, default=2, help="how many run at the same time (default %(default)s)")
    parser.add_argument("--kind", nargs="+", choices=list(faults.CAUSES), default=list(faults.CAUSES), help="of faults (default all)")
    return parser.parse_args()


def summary(found: list[case.Found], root: Path) -> int:
    print("named alone       in pairs")
    for kind in dict.fromkeys(each.case.kinds[0] for each in found):
        alone, pairs = (
            [each.after is not None for each in found if each.case.kinds[0] == kind and len(each.case.kinds) == n] for n in (1, 2)
        )
        print(f"{sum(alone):6} of {len(alone):3} {sum(pairs):6} of {len(pairs):3}  {kind}")
    named = sum(each.after is not None for each in found)
    print(
        "the worst wait: {:.3f} ms a step from the stopwatch; the worst parts: {:.4%} from it".format(
            *map(max, zip(*(e.figures for e in found)))
        )
    )
    sums, verdicts = (sum(bool(wrong) for wrong in each) for each in zip(*((each.wrong, each.verdicts) for each in found)))
    print(f"{named} of {len(found)} named; {sums} with wrong sums, {verdicts} with a wrong verdict; reports of the others: {root}")
    return 1 if named < 0.95 * len(found) or sums else 0


if __name__ == "__main__":
    sys.exit(main())
