"""The benchmarks of GPUs without a GPU: on the fake device, and models on the host."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import fakecuda
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "gpu"

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.timeout(900)


def bench(*arguments: str, program: str = "run.py", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH / program), "--smoke", *arguments],
        env=dict(os.environ) | env,
        capture_output=True,
        text=True,
        timeout=600,
    )


def module(name: str) -> ModuleType:
    if str(BENCH) not in sys.path:
        sys.path.append(str(BENCH))  # modules import each other
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.skipif(torch.cuda.is_available(), reason="this is for machines without CUDA")
@pytest.mark.parametrize("program", ["run.py", "models.py", "jpeg.py"])
def test_without_a_device(program: str, tmp_path: Path) -> None:
    done = bench("--out", str(tmp_path / "records"), program=program)
    assert done.returncode == 1 and done.stderr.startswith("no CUDA device: ") and "Traceback" not in done.stderr
    assert not done.stdout and not (tmp_path / "records").exists()


def test_on_the_fake(runtime: Path, job: str, tmp_path: Path) -> None:
    try:
        library = fakecuda.library()
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    out, journal = tmp_path / "records", tmp_path / "journal"
    fake = {"LD_PRELOAD": str(library), "FAKECUDART_JOURNAL": str(journal), "FAKECUDART_KERNEL_US": "100"}
    done = bench("--out", str(out), **fake)
    assert done.returncode == 0, done.stderr
    fakecuda.Journal.read(journal).clean()
    assert done.stdout.startswith("fake, ") and "nothing is measured" in done.stdout
    assert "|" not in done.stdout and done.stdout.count("ran on the fake device, no figures") == 4

    # What the tables of a device would look like.
    report = module("report")
    records = [{**json.loads(line), "device": "other"} for line in out.read_text().splitlines()]
    for part, rows in {"copies": 6, "locking": 4, "training": 4, "overlap": 3}.items():
        head, rule, *lines = report.table(part, [r for r in records if r["part"] == part]).strip().splitlines()
        assert len(lines) == rows and {line.count("|") for line in [head, rule, *lines]} == {head.count("|")}
    assert done.returncode == 0 and bench("--device", "cuda:7", **fake).stderr.startswith("no CUDA device cuda:7: there are 1")


def test_models_on_the_host(runtime: Path, tmp_path: Path) -> None:
    out = tmp_path / "records"
    done = bench("--device", "cpu", "--out", str(out), program="models.py", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in out.read_text().splitlines()]
    kept, records = records, [r for r in records if "case" in r]
    models, both = ("resnet50", "resnet18", "gpt", "dlrm"), ["shardfeed", "torch, 2 workers"]
    measured = {case: [r["loader"] for r in records if r["case"] == case] for case in ("first", *models, "loader")}
    assert measured == {"first": ["shardfeed"] * 3, "loader": both, **{model: ["the same batch", *both] for model in models}}
    assert all(r["rows_per_second"] > 0 for r in records if r["case"] != "first")
    assert "these figures mean nothing" in done.stdout and "MISSED" not in done.stdout and "| met" not in done.stdout

    verdicts = [r for r in kept if "goal" in r]
    assert len(verdicts) == 6 and {r["verdict"] for r in verdicts} <= {"not judged", "not measured"}


def test_goals_of_models() -> None:
    """What the table of a device would look like."""
    goals, models = module("goals"), module("models")
    at = {"size": "large", "cores": 8}
    ours = {"loader": "shardfeed", "rows_per_second": 4000.0, **at}
    records = [
        {"case": "resnet50", "of_ceiling": 0.985, **ours},
        {"case": "resnet50", "of_ceiling": 0.9, **ours, "cores": 4},
        {"case": "loader", **ours},
        {"case": "loader", "loader": "torch, 8 workers", "rows_per_second": 500.0, **at},
        {"case": "loader", "loader": "nvJPEG alone, without crops", "rows_per_second": 16000.0, **at},
        {"case": "first", "loader": "shardfeed", "first_seconds": 0.2, **at},
        {"case": "first", "loader": "shardfeed", "first_seconds": 0.61, **at},
    ]
    verdicts = list(goals.judged(models.GOALS, records))
    found = [v["found"] for v in verdicts]
    assert found == [8.0, 0.25, 0.985, 0.9, None, 0.61]
    assert [v["verdict"] for v in verdicts] == ["met, and the aim", "MISSED", "met", "MISSED", "not measured", "MISSED"]
    for text, rows in [(goals.table(verdicts), 6), (goals.figures(records), 7)]:
        lines = text.splitlines()
        assert len(lines) == rows + 2 and len({line.count("|") for line in lines}) == 1
    assert "| first batch of 512 | <= 0.6 s | <= 0.4 s | 0.61 s | MISSED |" in goals.table(verdicts)


PROGRAM = """
import os, sys, time
sys.path.insert(0, {bench!r})
import parts


def measure(given, part):
    yield {{"part": part["name"], "cores": len(os.sched_getaffinity(0))}}
    if part["name"] == "fails":
        raise ValueError("no such thing\\nat all")
    if part["name"] == "crashes":
        os.kill(os.getpid(), 11)
    if part["name"] == "hangs":
        time.sleep(600)
    print("a library says something")
    yield {{"part": part["name"], "whole": True}}


parts.work(measure)
"""


def test_parts_fail_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A part that fails, crashes, hangs, or lacks time or cores costs only itself."""
    parts = module("parts")
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text(PROGRAM.format(bench=str(BENCH)))
    monkeypatch.setattr(parts, "MORE", 2)
    with out.open("w") as file:
        runner = parts.Runner(program, {"size": "large"}, time.monotonic() + 300, file)
        names = ("one", "fails", "crashes", "two", "hangs", "three")
        runner.run({1: [*(parts.Part(name, 1) for name in names), parts.Part("long", 3000)], 4096: [parts.Part("wide", 1)]})
        records = [json.loads(line) for line in out.read_text().splitlines()]  # before it is closed
    assert records == runner.records
    assert [r["part"] for r in records if "whole" in r] == ["one", "two", "three"]
    assert [r["part"] for r in records if "whole" not in r] == list(names) and all(r["cores"] == 1 for r in records if "cores" in r)
    assert [line.split(":")[0] for line in runner.missing] == [f"{name} on 1 cores" for name in ("fails", "crashes", "hangs", "long")] + [
        "wide on 4096 cores"
    ]
    assert "ValueError: no such thing" in runner.missing[0] and "ended with -11" in runner.missing[1]
    assert "it took longer than 5 s" in runner.missing[2] and "are left, and it takes about 3000 s" in runner.missing[3]
    assert "a library says something" in capfd.readouterr().out


def test_jpegs_on_the_fake(runtime: Path, job: str, tmp_path: Path) -> None:
    try:
        library = str(fakecuda.library())
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    make = f"import pathlib, sets; sets.make(pathlib.Path({str(tmp_path)!r}), 'photos', 'small')"
    subprocess.run([sys.executable, "-c", make], cwd=BENCH, check=True)
    files = [file for path in tmp_path.glob("photos-small/*.parquet") for file in pq.read_table(path)["jpeg"].to_pylist()]
    import jpegs  # which imports torch

    store = jpegs.store(tmp_path / "pictures", sorted(set(files)))
    out, journal = tmp_path / "records", tmp_path / "journal"
    fake = {"LD_PRELOAD": library, "SHARDFEED_LIBNVJPEG": library, "FAKENVJPEG_PICTURES": str(store), "FAKECUDART_JOURNAL": str(journal)}
    done = bench("--out", str(out), "--data", str(tmp_path), program="jpeg.py", OMP_NUM_THREADS="1", **fake)
    assert done.returncode == 0, done.stderr + done.stdout
    found = fakecuda.Journal.read(journal).clean()
    assert found.calls["nvjpegCreateEx"] == 1 and found.calls["decode"] > 20
    records = [json.loads(line) for line in out.read_text().splitlines()]
    verdicts, records = [r for r in records if "goal" in r], [r for r in records if "goal" not in r]
    measured = {part: len([r for r in records if r["part"] == part]) for part in ("pixels", "loaders", "resnet50", "first", "held_up")}
    assert measured["pixels"] == 1 and measured["resnet50"] == 5 and measured["first"] == 4 and measured["held_up"] == 9
    assert measured["loaders"] >= 6 and all(r["device"] == "fake" for r in records)
    assert next(r["most"] for r in records if r["part"] == "pixels") <= 8
    assert len(verdicts) == 8 and {v["verdict"] for v in verdicts} <= {"not judged", "not measured"}
    assert sum(line.startswith("| --- |") for line in done.stdout.splitlines()) == 3 and "Launches are" in done.stdout
    assert "these figures mean nothing" in done.stdout


def test_launches_that_are_held_up() -> None:
    goals = module("goals")

    def record(loader: str, launch: float) -> dict[str, object]:
        ms = {f"{what}_ms_p{p}": launch for what in ("launch", "device") for p in (50, 90, 99, 100)}
        return {"loader": loader, "steps_per_second": 9.0, **ms}

    found = goals.steps([record("no loader", 4.0), record("cuda", 5.0), record("cuda, memory of cudaMalloc", 9.0)])
    assert "| cuda | 9.00 | 5.00 | 5.00 | 5.00 | 5.00 | 1.25 |" in found
    assert found.endswith("Launches are held up (p99 over twice that without a loader) with: cuda, memory of cudaMalloc (2.25x).\n")
    assert goals.steps([record("no loader", 4.0), record("cuda", 5.0)]).endswith("Launches are not held up.\n")
    assert goals.steps([record("cuda", 5.0)]).endswith("Launches are not compared: there are no steps without a loader.\n")


def test_goals_of_jpegs() -> None:
    """Each goal has figures that reach it, and ones that do not."""
    goals, jpeg = module("goals"), module("jpeg")
    on = {"size": "large", "cores": 8, "part": "loaders"}
    records = [
        {"loader": "cpu", "rows_per_second": 4000.0, "processor_ms_a_row": 2.0, **on},
        {"loader": "cuda", "rows_per_second": 12500.0, "processor_ms_a_row": 0.3, **on},
        {"loader": "auto", "rows_per_second": 13000.0, "processor_ms_a_row": 0.5, **on},
        {"loader": "torch, 8 workers", "rows_per_second": 2000.0, **on},
        {"loader": "nvJPEG alone, without crops", "rows_per_second": 15600.0, **on},
        {"loader": "auto", "of_ceiling": 0.995, **on, "part": "resnet50"},
        {"loader": "cpu", "of_ceiling": 0.999, **on, "part": "resnet50", "cores": 4},
        {"loader": "cuda", "of_ceiling": 0.9, **on, "part": "resnet50", "cores": 4},
        {"loader": "cuda", "of_ceiling": 0.91, **on, "part": "resnet18", "cores": 16},
        {"loader": "cuda, first start on a machine", "first_seconds": 1.5, **on, "part": "first"},
        {"loader": "cuda", "first_seconds": 0.5, **on, "part": "first"},
    ]
    verdicts = list(goals.judged(jpeg.GOALS, records))
    assert [v["found"] for v in verdicts] == [6.5, pytest.approx(0.833, abs=0.001), 0.995, 0.9, 0.91, 0.5, 0.15, None]
    assert [v["verdict"].split(",")[0] for v in verdicts] == ["met", "met", "met", "MISSED", "met", "met", "met", "not measured"]
    assert [v["goal"] for v in verdicts if v["verdict"] == "met, and the aim"] == [jpeg.GOALS[0].what, jpeg.GOALS[2].what]
