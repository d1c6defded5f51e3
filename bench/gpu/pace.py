"""How many batches a second a loop trains on."""

import os
import pathlib
import time

import torch

WARM = 3  # steps before the clock starts
FLYING = 2  # steps that the device may be behind


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def processor_seconds():
    """What all processors of the machine have computed so far."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, pathlib.Path("/proc/stat").read_text().split()[1:10])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Behind:
    """Waits until the device is at most FLYING steps behind the host."""

    def __init__(self, device):
        self.device, self.events = device, []

    def step(self):
        if self.device.type == "cuda":
            event = torch.cuda.Event(blocking=True)
            event.record()
            self.events.append(event)
            if len(self.events) > FLYING:
                self.events.pop(0).synchronize()


def measure(batches, step, device, seconds, ahead=0):
    """Trains for the given seconds, at least one step. First it discards `ahead` batches as fast as
    they come: as many as the loader may have made before."""
    begin = time.perf_counter()
    for n in range(ahead):
        batch = next(batches)
        if n == 0:
            first = time.perf_counter() - begin
        del batch
    behind = Behind(device)
    for _ in range(WARM):
        step(next(batches))
        behind.step()
    synchronize(device)
    steps, waited, busy, begin = 0, 0.0, processor_seconds(), time.perf_counter()
    while not steps or time.perf_counter() - begin < seconds:
        asked = time.perf_counter()
        batch = next(batches)
        waited += time.perf_counter() - asked
        step(batch)
        behind.step()
        steps += 1
        del batch
    synchronize(device)
    wall = time.perf_counter() - begin
    found = {"steps": steps, "seconds": wall, "batches_per_second": steps / wall, "waits": waited / wall}
    found["cores_busy"] = (processor_seconds() - busy) / wall
    return {**found, "first_seconds": first} if ahead else found
