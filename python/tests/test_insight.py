"""The figures name what slows a training down. ``python -m insight`` draws more of these cases."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import servers

pytest.importorskip("torch")

from insight import case, disk, faults, judge, tables, volume

SECONDS = 3.0  # of a training in each run of the tests
ONE = {"slow": None, "world": 1}
SAMPLE = [
    faults.Case(1, (faults.Fault("slow store", 0.1),), **ONE),
    faults.Case(2, (faults.Fault("slow store", 0.1),), world=2, slow=1),
    faults.Case(3, (faults.Fault("cold cache", 0.1),), **ONE),
    faults.Case(4, (faults.Fault("small cache", 0.1),), **ONE),
    faults.Case(5, (faults.Fault("slow collate", 0.1),), **ONE),
    faults.Case(6, (faults.Fault("slow map", 0.1),), world=2, slow=0),
    faults.Case(7, (faults.Fault("slow map", 0.2), faults.Fault("slow store", 0.02)), **ONE),
    faults.Case(8, (faults.Fault("slow store", 0.2), faults.Fault("slow map", 0.02)), **ONE),
    faults.Case(9, (faults.Fault("slow trainer", 0.1),), world=2, slow=None),
    faults.Case(10, (faults.Fault("slow disk", 0.1),), world=2, slow=None),
    faults.Case(11, (faults.Fault("slow disk of the cache", 0.1),), **ONE),
    faults.Case(12, (faults.Fault("slow map in a worker", 0.1),), **ONE),
]


@pytest.fixture(scope="module")
def hosts(runtime: Path) -> Iterator[case.Hosts]:
    with contextlib.closing(case.Hosts()) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def store() -> Iterator[servers.S3]:
    with servers.s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, store: servers.S3, runtime: Path) -> case.Sources:
    directory = tmp_path_factory.mktemp("insight")
    tables.make(directory)
    store.put(directory / "plain")
    store.put(directory / "small")
    return case.Sources(directory, store, volume.of(directory / "volume", store.environment))


@pytest.mark.parametrize("given", SAMPLE, ids=str)
def test_a_fault_is_named(given: faults.Case, sources: case.Sources, runtime: Path, hosts: case.Hosts) -> None:
    if "slow disk" in given.kinds and not disk.available():
        pytest.skip("this process may not mount a disk")
    if "slow disk of the cache" in given.kinds and sources.volume is None:
        pytest.skip("this process may not mount a file system on a slow disk")
    found = case.run(given, sources, runtime.parent / f"insight-{os.getpid()}-{given.number}", hosts, SECONDS)
    assert found.after is not None and not found.wrong, found


@pytest.mark.long
@pytest.mark.timeout(1700)
def test_nearly_all_faults_are_named(sources: case.Sources, runtime: Path, hosts: case.Hosts) -> None:
    without = (
        {"slow copy"}
        | ({"slow disk"} if not disk.available() else set())
        | ({"slow disk of the cache"} if sources.volume is None else set())
    )
    kinds = tuple(kind for kind in faults.CAUSES if kind not in without)
    cases = [faults.draw(number, kinds) for number in range(60)]
    found = [case.run(each, sources, runtime.parent / f"insight-{os.getpid()}-long-{each.number}", hosts) for each in cases]
    missed = [str(each) for each in found if each.after is None or each.wrong]
    assert len(missed) <= 0.05 * len(found), "\n".join(missed)


def line(at: float, steps: int, of: float, **parts: float) -> dict[str, Any]:
    wait = {"seconds": sum(parts.values()), "of": of, "parts": parts}
    return {"at": at, "steps": steps, "stopwatch": sum(parts.values()), "wait": wait}


def test_reports_name_a_cause() -> None:
    """The start of a loop counts only while there is nothing else."""
    slow = [line(1, 1, 3, storage=3), line(2, 5, 4, storage=3, map=0.5), line(3, 9, 5, storage=3, map=1)]
    quick = [line(1, 1, 3, storage=3), line(2, 5, 4, storage=3), line(3, 9, 5, storage=3, handover=0.001)]
    given = faults.Case(1, (faults.Fault("slow map", 0.1),), world=2, slow=1)
    assert str(judge.named([quick, slow], 1)).startswith("storage")
    assert str(judge.named([quick, slow], 3)).startswith("map, rank 1")
    assert str(judge.named([quick], 3)).startswith("trainer")
    assert judge.after(given, [quick, slow], 3) == 3 and judge.after(given, [slow, quick], 3) is None
    assert not judge.sums([slow]) and judge.sums([[{**slow[0], "stopwatch": 3.1}]])
