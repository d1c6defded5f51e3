"""Ranks that see the same batches: by replication, by a DeviceMesh, with torch workers, with images, and resumed from a state."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from rank import RANK, WORLD_SIZE, Report, group, ids, same_on_all
from torch.distributed.device_mesh import init_device_mesh

import shardfeed
import shardfeed.torch


def read(report: Report, way: str, loader: Any, epochs: int) -> None:
    for epoch in range(epochs):
        for step, batch in enumerate(loader):
            found = ids(batch) if isinstance(batch, dict) else batch["id"][batch.row_valid].tolist()
            report("step", way=way, epoch=epoch, step=step, ids=found)


def draw(report: Report, table: Path) -> None:
    """The pixels of each row, by their digests."""
    image = shardfeed.Image(16, crop="random_resized", flip=0.5, color_jitter=0.3)
    data = shardfeed.StreamingDataset(table, batch_size=5, seed=7, replication=2, images={"img": image}, image_decoder="go")
    for step, batch in enumerate(data):
        rows = zip(batch["id"].tolist(), batch["img"], batch.row_valid)
        report("drawn", step=step, ids=[[i, hashlib.sha256(pixels.tobytes()).hexdigest()] for i, pixels, valid in rows if valid])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("state", type=Path)
    parser.add_argument("--replication", type=int, default=2)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    what: dict[str, Any] = {"batch_size": 50, "columns": ["id"], "seed": 7, "replication": given.replication}
    report = Report()
    with group():
        own = shardfeed.StreamingDataset(given.uri, **what)
        share = own._share()
        report("share", ranks=[own.rank, own.world_size], replicas=share.replicas, length=len(own))
        if given.resume:
            own.load_state_dict(json.loads(given.state.read_text()))
            read(report, "resumed", own, 1)
            return
        read(report, "own", own, 2)
        tensors = shardfeed.torch.StreamingDataset(given.uri, **what, with_row_valid=True)
        read(report, "workers", shardfeed.torch.DataLoader(tensors, num_workers=2, persistent_workers=True), 2)
        mesh = init_device_mesh("cpu", (WORLD_SIZE // 2, 2), mesh_dim_names=("dp", "tp"))
        del what["replication"]
        meshed = shardfeed.torch.DataLoader(given.uri, **what, mesh=mesh["dp"], with_row_valid=True)
        report("mesh", ranks=[meshed.dataset.rank, meshed.dataset.world_size], replicas=meshed.dataset._share().replicas)
        read(report, "mesh", meshed, 1)
        turned = shardfeed.torch.DataLoader(given.uri, **what, mesh=mesh["tp"], with_row_valid=True)
        report("turned", ranks=[turned.dataset.rank, turned.dataset.world_size], replicas=turned.dataset._share().replicas)
        read(report, "turned", turned, 1)
        for step, _ in enumerate(part := iter(mapped := own.map(lambda batch: batch))):
            if step == 3:
                break
        part.close() if hasattr(part, "close") else None
        state = mapped.state_dict()
        report("state", same=same_on_all(state["shardfeed"]))
        if RANK == 0:
            given.state.write_text(json.dumps(state))
        draw(report, given.pictures)


if __name__ == "__main__":
    main()
