"""A cache on a slow disk: an ext4 file system in a file on a disk whose reads are slow."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import servers

from insight.disk import Disk

SIZE = "160M"


class Volume:
    """A file system that holds the whole table in a cache. Each use has a copy of it."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        """Fills the cache from the store of environment."""
        self._image = directory / "volume"
        content = directory / "content"
        command = [
            os.environ["SHARDFEED_BIN"],
            "warm",
            f"s3://{servers.BUCKET}/plain",
            "--cache-dir",
            content / "cache",
            "--cache-limit",
            "1GiB",
        ]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        options = ["-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", "-d", content]
        subprocess.run(["mkfs.ext4", *options, self._image, SIZE], check=True, capture_output=True)
        shutil.rmtree(content)

    def mounted(self, directory: Path, rate: float, stack: contextlib.ExitStack) -> Path:
        """The cache of a copy that is mounted until the stack closes, once for all ranks. Its reads
        pass at a rate in bytes a second; 0 is no limit.
        """
        files, slow, mountpoint = (directory / name for name in ("files", "slow", "volume"))
        if not mountpoint.exists():
            for each in (files, slow, mountpoint):
                each.mkdir(parents=True)
            subprocess.run(["cp", "--sparse=always", self._image, files / "volume"], check=True)
            disk = stack.enter_context(contextlib.closing(Disk(files, slow, 0.0, writable=True)))
            subprocess.run(["mount", "-o", "loop,noatime", slow / "volume", mountpoint], check=True, capture_output=True)
            stack.callback(subprocess.run, ["umount", "-l", mountpoint], check=True)
            disk.slow_down(rate)
        return mountpoint / "cache"


def of(directory: Path, environment: Mapping[str, str]) -> Volume | None:
    """A volume, or None where this process may not mount one."""
    directory.mkdir()
    try:
        volume = Volume(directory, environment)
        with contextlib.ExitStack() as stack:
            volume.mounted(directory / "try", 0.0, stack)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"insight: no file system on a slow disk: {error}", file=sys.stderr)
        return None
    return volume
