"""Programs that end while they hold iterators and batches print nothing, also in Python's
development mode.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("job")

BEGIN = """
    import sys, threading
    import shardfeed

    def open_shards(batch_size=100):
        return shardfeed.StreamingDataset(sys.argv[1], batch_size=batch_size, columns=["id"], cache=False)

    class Held:
        def __init__(self):
            self.batches, self.rows = iter(open_shards()), iter(open_shards(None))
            self.taken = [next(self.batches), next(self.batches), next(self.rows)]
"""

PROGRAMS = {
    "in variables": """
        batches = iter(open_shards())
        taken = [batch for batch, _ in zip(batches, range(3))]
        row = next(iter(open_shards(None)))
    """,
    "in a cycle": """
        held = Held()
        held.itself = held
        del held
    """,
    "in modules that live longest": """
        import builtins, codecs, importlib, io, os, shardfeed._columns._columns, struct
        for module in (builtins, codecs, importlib, io, os, shardfeed._columns._columns, struct, sys, threading):
            module.held = Held()
    """,
    "in a loop that ends the program": """
        def train():
            for batch in open_shards():
                held = Held()
                sys.exit()
        train()
    """,
    "in a generator": """
        def batches():
            yield from open_shards()
        left = batches()
        next(left)
    """,
    "in threads": """
        taken = threading.Event()
        def take():
            held = Held()
            taken.set()
            for batch in held.batches:
                held.taken.append(batch)
            threading.Event().wait()
        for _ in range(2):
            threading.Thread(target=take, daemon=True).start()
        assert taken.wait(60)
    """,
    "in a notebook": """
        import code
        shell = code.InteractiveInterpreter(globals())
        for cell in ("batches = iter(open_shards())", "batch = next(batches)", "batches", "next(batches)"):
            assert not shell.runsource(cell)
    """,
}

TORCH = {
    "of torch": """
        import shardfeed.torch
        dataset = shardfeed.torch.StreamingDataset(sys.argv[1], batch_size=100, columns=["id"], cache=False)
        loader = shardfeed.torch.DataLoader(dataset.map(dict))
        held = [iter(dataset), iter(loader)]
        held.append([next(batches) for batches in held])
        sys.held = held
    """,
    "of torch workers": """
        import shardfeed.torch, torch
        dataset = shardfeed.torch.StreamingDataset(sys.argv[1], batch_size=100, columns=["id"], cache=False)
        loader = shardfeed.torch.DataLoader(dataset.map(dict), num_workers=2)
        kept = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1, persistent_workers=True)
        held = [iter(loader), iter(kept)]
        held.append([next(batches) for batches in held])
    """,
}


def ends_in_silence(shards: Path, program: str) -> None:
    code = textwrap.dedent(BEGIN) + textwrap.dedent(program)
    command = [sys.executable, "-X", "dev", "-c", code, str(shards)]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("where", PROGRAMS)
def test_what_is_held(shards: Path, where: str) -> None:
    ends_in_silence(shards, PROGRAMS[where])


@pytest.mark.parametrize("where", TORCH)
def test_what_is_held_with_torch(shards: Path, where: str) -> None:
    pytest.importorskip("torch")
    ends_in_silence(shards, TORCH[where])
