"""One job, from its first attempt to its verdict."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chaos import attempt as attempts
from chaos import faults, leftovers, verify
from chaos.scenario import Scenario
from chaos.stores import Store

MOST_ATTEMPTS = 40
SMALL = "8M"  # the disk of a cache that is filled


@dataclass
class Verdict:
    """What a job showed."""

    scenario: Scenario
    rows: int = 0
    seconds: float = 0.0
    peak: float = 0.0  # of the memory that the engine may have
    faults: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    attempts: int = 0
    unfinished: bool = False  # the driver's time was up
    engine_killed: bool = False  # in the last attempt


def run(scenario: Scenario, store: Store, local: Path, directory: Path, until: float = math.inf) -> Verdict:
    """Runs a job in a directory of its own, and gives it up at a monotonic time."""
    began, verdict = time.monotonic(), Verdict(scenario)
    directory.mkdir(parents=True)
    (directory / "scenario.json").write_text(json.dumps(scenario.as_dict()))
    with _cache(directory, scenario.small_disk) as cache:
        environment = attempts.environment(directory, cache, store, scenario.number)
        try:
            started, epochs = verify.order(scenario, str(local))
            (directory / "started.json").write_text(json.dumps(started))
            verdict.complaints += verify.check_order(scenario, epochs)
            _attempt_all(scenario, store, directory, environment, epochs, verdict, until)
        except attempts.TimeIsUp:
            verdict.unfinished = True
        except attempts.Hang as hang:
            verdict.complaints.append(f"hang: {hang}")
        except Exception:
            verdict.complaints.append(traceback.format_exc()[-2000:])
        verdict.complaints += leftovers.after(
            directory / "run", cache, environment["SHARDFEED_JOB"], verdict.engine_killed or verdict.unfinished
        )
    verdict.seconds = time.monotonic() - began
    return verdict


def _attempt_all(
    scenario: Scenario,
    store: Store,
    directory: Path,
    environment: dict[str, str],
    epochs: list[list[int]],
    verdict: Verdict,
    until: float,
) -> None:
    for number in range(MOST_ATTEMPTS):
        attempt = attempts.Attempt(scenario, number, directory, store, environment, _state(directory, number), until)
        try:
            ended = attempt.run()
        finally:
            _judge(attempt, epochs, verdict)
        if ended or verdict.complaints:
            return
        _rest(attempt, Path(environment["SHARDFEED_CACHE_DIR"]), verdict)
    verdict.complaints.append(f"the job has not ended after {MOST_ATTEMPTS} attempts")


def _state(directory: Path, attempt: int) -> Path | None:
    """The state that an attempt starts from: the last that was saved, as it is now."""
    if attempt == 0:
        return None
    saved = directory / "state.json"
    kept = directory / f"state-{attempt}.json"
    shutil.copy(saved if saved.exists() else directory / "started.json", kept)
    return kept


def _judge(attempt: attempts.Attempt, epochs: list[list[int]], verdict: Verdict) -> None:
    verdict.attempts += 1
    verdict.engine_killed = attempt.engines_killed > 0
    verdict.faults += attempt.met
    verdict.complaints += attempt.complaints()
    verdict.complaints += verify.check(attempt, epochs)
    for rank in range(attempt.world):
        verdict.rows += sum(len(line["rows"]) for line in attempt.lines(rank) if line["kind"] == "batch")
    verdict.peak = max(verdict.peak, attempt.peak / leftovers.limit(attempt.world))
    if verdict.peak > 1:
        verdict.complaints.append(
            f"attempt {attempt.number}: the engine had {attempt.peak:,} bytes, {leftovers.limit(attempt.world):,} are allowed"
        )


def _rest(attempt: attempts.Attempt, cache: Path, verdict: Verdict) -> None:
    """Damages files between two attempts, some of the time while no engine has them open."""
    seed = attempt.scenario.number * 1000 + attempt.number
    if seed % 2:
        deadline = time.monotonic() + leftovers.GRACE
        while attempt.engines() and time.monotonic() < deadline:
            time.sleep(0.05)
        verdict.faults += faults.at_rest(cache, seed)


@contextlib.contextmanager
def _cache(directory: Path, small: bool) -> Iterator[Path]:
    """The directory of a job's cache; a small one is a disk of its own."""
    cache = directory / "cache"
    cache.mkdir(mode=0o700)
    if not small:
        yield cache
        return
    _mount(cache)
    try:
        yield cache
    finally:
        subprocess.run(["umount", "-l", str(cache)], check=True)


def _mount(directory: Path) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=700", "tmpfs", str(directory)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def has_disks(directory: Path) -> bool:
    """Whether this process may mount disks, for caches that are filled."""
    directory.mkdir(mode=0o700)
    try:
        with _cache(directory, small=True):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def clear(directory: Path) -> None:
    """Removes the directory of a job that went well."""
    shutil.rmtree(directory, ignore_errors=True)
