"""One job, from its first attempt to its verdict."""

from __future__ import annotations

import json
import re
import shutil
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos import attempt as attempts
from chaos import faults, leftovers, nodes, verify
from chaos.scenario import Scenario
from chaos.stores import Store

MOST_ATTEMPTS = 40


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
    killed_at: list[int] = field(default_factory=list)  # nodes whose last engine was killed


def run(scenario: Scenario, store: Store, local: Path, directory: Path, limits: attempts.Limits = attempts.NO_LIMITS) -> Verdict:
    """Runs a job in a directory of its own."""
    began, verdict = time.monotonic(), Verdict(scenario)
    directory.mkdir(parents=True)
    (directory / "scenario.json").write_text(json.dumps(scenario.as_dict()))
    with nodes.made(directory, scenario.nodes, scenario.small_disk) as places:
        environment = attempts.environment(store, scenario.number)
        try:
            started, epochs = verify.order(scenario, str(local))
            (directory / "started.json").write_text(json.dumps(started))
            verdict.complaints += verify.check_order(scenario, epochs)
            _attempt_all(scenario, store, directory, environment, places, epochs, verdict, limits)
        except attempts.TimeIsUp:
            verdict.unfinished = True
        except attempts.Hang as hang:
            verdict.complaints.append(f"hang: {hang}")
        except Exception:
            verdict.complaints.append(traceback.format_exc()[-2000:])
        for k, node in enumerate(places):
            killed = k in verdict.killed_at or verdict.unfinished
            verdict.complaints += leftovers.after(node.runtime, node.cache, environment["SHARDFEED_JOB"], killed, limits.grace)
    verdict.seconds = time.monotonic() - began
    return verdict


def _attempt_all(
    scenario: Scenario,
    store: Store,
    directory: Path,
    environment: dict[str, str],
    places: Sequence[nodes.Node],
    epochs: list[list[int]],
    verdict: Verdict,
    limits: attempts.Limits,
) -> None:
    for number in range(MOST_ATTEMPTS):
        attempt = attempts.Attempt(scenario, number, directory, store, environment, places, _state(directory, number), limits)
        try:
            ended = attempt.run()
        finally:
            _judge(attempt, epochs, verdict)
        if ended or verdict.complaints:
            return
        _rest(attempt, verdict)
    verdict.complaints.append(f"the job has not ended after {MOST_ATTEMPTS} attempts")


def _state(directory: Path, attempt: int) -> Path | None:
    """What an attempt starts from: the last checkpoint, else the last saved state."""
    if attempt == 0:
        return None
    if (checkpoint := _checkpoint(directory / "checkpoints")) is not None:
        return checkpoint
    saved = directory / "state.json"
    kept = directory / f"state-{attempt}.json"
    shutil.copy(saved if saved.exists() else directory / "started.json", kept)
    return kept


def _checkpoint(directory: Path) -> Path | None:
    """The last whole checkpoint of a framework, by the steps in its name.

    Lightning renames a file when it is whole; the Trainer writes trainer_state.json last.
    """
    found = [*directory.glob("*.ckpt"), *filter(_is_whole, directory.glob("checkpoint-*"))]
    return max(found, key=lambda path: int(re.findall(r"\d+", path.name)[0]), default=None)


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / "trainer_state.json").read_text())
    except (OSError, ValueError):
        return False
    return True


def _judge(attempt: attempts.Attempt, epochs: list[list[int]], verdict: Verdict) -> None:
    verdict.attempts += 1
    unused = set(verdict.killed_at) - {attempt.node(rank) for rank in range(attempt.world)}
    verdict.killed_at = sorted(unused | attempt.killed_at)
    verdict.faults += attempt.met
    verdict.complaints += attempt.complaints()
    verdict.complaints += verify.check(attempt, epochs)
    for rank in range(attempt.world):
        verdict.rows += sum(len(line["rows"]) for line in attempt.lines(rank) if line["kind"] == "batch")
    for node, peak in enumerate(attempt.peaks):
        allowed = leftovers.limit(sum(attempt.node(rank) == node for rank in range(attempt.world)))
        verdict.peak = max(verdict.peak, peak / allowed)
        if peak > allowed:
            verdict.complaints.append(f"attempt {attempt.number}: the engine of node {node} had {peak:,} bytes, {allowed:,} are allowed")


def _rest(attempt: attempts.Attempt, verdict: Verdict) -> None:
    """Damages files between two attempts, some of the time while no engine has them open."""
    seed = attempt.scenario.number * 1000 + attempt.number
    if seed % 2:
        deadline = time.monotonic() + attempt.limits.grace
        while attempt.engines() and time.monotonic() < deadline:
            time.sleep(0.05)
        for node in attempt.nodes:
            verdict.faults += faults.at_rest(node.cache, seed)


def clear(directory: Path) -> None:
    """Removes the directory of a job that went well."""
    shutil.rmtree(directory, ignore_errors=True)
