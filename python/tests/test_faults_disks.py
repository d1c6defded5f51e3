"""Disks that are full and disks that cannot be written to, for real: training goes on where it can, else one error names them."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ended, engines
from servers import S3, s3  # noqa: F401 - a fixture

from shardfeed import StreamingDataset, errors, select
from shardfeed._engine._process import Engine

ROWS = 4000

Disk = Callable[..., Path]


def mount(*arguments: object) -> None:
    ran = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if ran.returncode != 0:
        pytest.skip(f"NOT TESTED: no disk can be mounted here, which takes root: mount {arguments}: {ran.stderr.strip()}")


@pytest.fixture
def disk(runtime: Path, request: pytest.FixtureRequest) -> Iterator[Disk]:
    """Makes disks of 4 MiB, named by what they are: "full", "no more files", or "read-only". They lie below the directory of the run."""
    made: list[Path] = []

    def make(how: str) -> Path:
        path = runtime.parent / f"{abs(hash(request.node.nodeid)) % 10**9}-{len(made)}"
        path.mkdir()
        image = path.with_suffix(".ext4")
        subprocess.run(
            ["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-b", "1024", "-N", "32", str(image), "4M"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        mount("-o", "loop", image, path)
        made.append(path)
        path.chmod(0o700)
        inside = path / "inside"
        inside.mkdir(mode=0o700)
        if how == "full":
            fill(path)
        elif how == "no more files":
            take_names(path)
        elif how == "read-only":
            mount("-o", "remount,ro", path)
        return inside

    yield make
    for path in made:
        subprocess.run(["umount", "-l", str(path)], check=True)
        path.rmdir()
        path.with_suffix(".ext4").unlink()


def fill(path: Path) -> None:
    """Takes all of a disk's room."""
    with open(path / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert os.statvfs(path).f_bavail == 0


def take_names(path: Path) -> None:
    """Takes all of a disk's files."""
    with contextlib.suppress(OSError):
        for n in range(1000):
            (path / f"file {n}").touch()
    assert os.statvfs(path).f_ffree == 0


def files(path: Path) -> list[str]:
    """The files below a directory."""
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def ids(dataset: StreamingDataset) -> list[int]:
    return sorted(i for batch in dataset for i in batch["id"].tolist())


@pytest.mark.parametrize("how", ["no more files", "read-only"])
def test_no_engine_can_be_found_on_such_a_disk(disk: Disk, shards: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = disk(how)
    for directory in (place, place / "below"):
        monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(directory))
        with pytest.raises((errors.EngineStartError, errors.OptionError), match="SHARDFEED_RUNTIME_DIR") as caught:
            StreamingDataset(shards, batch_size=8)
        assert str(place) in str(caught.value)
        assert os.strerror(errno.EROFS if how == "read-only" else errno.ENOSPC) in str(caught.value)
    assert {Path(name).suffix for name in files(place)} <= {".lock"} and not engines(place)


def test_a_full_disk_is_no_reason_not_to_start(job: str, disk: Disk, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets need no room, and what is not logged is lost."""
    place = disk("full")
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(place))
    dataset = StreamingDataset(shards, batch_size=100)
    assert ids(dataset) == list(range(ROWS))
    engine = dataset._control().welcome["pid"]
    assert Engine().log.stat().st_size == 0
    (place.parent / "filler").unlink()
    with pytest.raises(errors.NotFoundError):
        StreamingDataset(shards / "nothing", batch_size=8)
    assert "nothing" in Engine().log.read_text()  # it is logged on as soon as there is room
    del dataset
    assert ended(engine)
    assert {Path(name).suffix for name in files(place)} == {".lock", ".log"}


def test_files_that_the_user_names(job: str, disk: Disk, shards: Path) -> None:
    """The error names them and the cure, and nothing is half written."""
    place = disk("full")
    cure = "no space left on device: make room there, or name a file on another disk"
    with pytest.raises(errors.StorageError, match=f"{place / 'rows'}: {cure}"):
        select(shards, lambda batch: batch["id"] > 9, save=place / "rows", columns=["id"], workers=1)
    dataset = StreamingDataset(shards, batch_size=100)
    with pytest.raises(OSError, match=f"{place / 'trace.json'}: {cure}"), dataset.trace(place / "trace.json"):
        assert ids(dataset) == list(range(ROWS))
    state = place / "shardfeed.json"
    with pytest.raises(OSError, match=f"No space left on device: '{state}'"):
        pytest.importorskip("shardfeed.torch._trainer_state")._write_whole(state, "{}" * 4096)
    assert files(place) == []


def test_a_log_that_cannot_be_written(job: str, runtime: Path, shards: Path) -> None:
    log = Engine().log
    log.touch()
    mount("--bind", log, log)
    try:
        mount("-o", "remount,ro,bind", log)
        with pytest.raises(errors.EngineStartError, match=r"Read-only file system.*\.log.*SHARDFEED_RUNTIME_DIR"):
            StreamingDataset(shards, batch_size=8)
    finally:
        subprocess.run(["umount", "-l", str(log)], check=True)
    assert ids(StreamingDataset(shards, batch_size=100)) == list(range(ROWS))


@pytest.fixture
def stored(s3: S3, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: F811
    """The shards in a bucket, and a disk that is as it should be for what is kept."""
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return s3.put(shards)


def refused(uri: str, place: Path, **given: object) -> None:
    with pytest.raises(errors.StorageError, match=f"{place}.*read-only file system.*cache_dir"):
        StreamingDataset(uri, batch_size=100, cache_dir=place, **given)


WITHOUT = {"cache_dir": ["reading without a cache on disk", "footers are not kept in"], "index_dir": ["footers are not kept in"]}
WITHOUT["XDG_CACHE_HOME"] = WITHOUT["cache_dir"]


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("how", ["full", "no more files", "read-only"])
@pytest.mark.parametrize("what", WITHOUT)
def test_what_is_kept_between_runs(
    disk: Disk, stored: str, what: str, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Runs do without it, and say so once; but that a cache cannot be where the user wants it is an error."""
    place = disk(how)
    given = {} if what == "XDG_CACHE_HOME" else {what: place}
    if what == "XDG_CACHE_HOME":
        monkeypatch.setenv(what, str(place))
    if (what, how) == ("cache_dir", "read-only"):
        refused(stored, place)
        return
    dataset = StreamingDataset(stored, batch_size=100, **given)
    for _ in range(2):
        assert ids(dataset) == list(range(ROWS))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(WITHOUT[what])
    for words, line in zip(WITHOUT[what], said):
        assert words in line and str(place) in line
    assert files(place) == []


def test_a_cache_in_memory_is_refused(job: str, stored: str) -> None:
    with pytest.raises(errors.OptionError, match=r"/dev/shm.*tmpfs.*give a directory on a local disk"):
        StreamingDataset(stored, batch_size=100, cache_dir="/dev/shm/shardfeed")
    assert not os.path.exists("/dev/shm/shardfeed")


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("how", ["full", "nearly full", "no more files", "read-only"])
def test_a_cache_that_is_given_more_than_the_disk_has(disk: Disk, stored: str, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """What does not fit is read from the server in each epoch, and what is kept is whole."""
    place = disk("full" if how == "nearly full" else how)
    if how == "nearly full":
        filler = place.parent / "filler"
        os.truncate(filler, filler.stat().st_size - (100 << 10))
    if how == "read-only":
        refused(stored, place, cache_limit="10MiB")
        return
    for _ in range(2):
        dataset = StreamingDataset(stored, batch_size=100, cache_dir=place, cache_limit="10MiB")
        for _ in range(2):
            assert ids(dataset) == list(range(ROWS))
    said = [record.getMessage() for record in caplog.records]
    if how == "nearly full":
        kept = dataset.stats()["cache"]
        assert kept["bypassed"] > 0 and kept["bad"] == 0
        assert len(said) == 1 and "keeps nothing more" in said[0] and str(place) in said[0]
        assert not [name for name in files(place) if "tmp" in name or "/." in name]
    else:
        assert "reading without a cache on disk: too little of the disk is free" in said[0]
        assert files(place) == []
