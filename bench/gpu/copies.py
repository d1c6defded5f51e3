"""How fast a device reads memory of the host, and how long it takes to page-lock it."""

import fcntl
import mmap
import os
import time

import numpy as np
import torch
from shardfeed.torch._pin import Cuda

MiB = 1 << 20
F_ADD_SEALS, SHRINK, GROW, SEAL = 1033, 2, 4, 1


def ring(size, touched=True):
    """Memory as the engine shares it: a sealed memfd, touched as the slots with batches are."""
    descriptor = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, F_ADD_SEALS, SHRINK | GROW | SEAL)
        memory = np.frombuffer(mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED), np.uint8)
    finally:
        os.close(descriptor)
    if touched:
        memory[:] = 1
    return memory


def copies(device, small):
    """Bandwidth of copies of a size, by each kind of memory in turn. The sources together are
    larger than the processor's cache.
    """
    cuda = Cuda(device)
    total = (16 if small else 512) * MiB
    shared = ring(total)
    cuda.register(shared.ctypes.data, total)
    sources = {
        "ring": torch.from_numpy(shared),
        "torch-pinned": torch.ones(total, dtype=torch.uint8, pin_memory=True),
        "pageable": torch.ones(total, dtype=torch.uint8),
    }
    try:
        for size in (MiB, 4 * MiB) if small else (MiB, 8 * MiB, 64 * MiB):
            target = torch.empty(size, dtype=torch.uint8, device=device)
            for name, source in sources.items():
                pieces = source.split(size)
                timed(target, pieces[:2])  # warm
                yield {"what": name, "size": size, "bytes_per_second": total / timed(target, pieces)}
    finally:
        torch.cuda.synchronize(device)
        cuda.unregister([shared.ctypes.data])


def timed(target, pieces):
    """Seconds that a stream takes to copy these in turn."""
    stream = torch.cuda.Stream(target.device)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        start.record()
        for piece in pieces:
            target.copy_(piece, non_blocking=True)
        end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def locking(device, small):
    """Times page-locking a ring and letting go of it, and page-locked memory of torch's own."""
    cuda = Cuda(device)
    size = (16 if small else 1024) * MiB
    for what, touched in {"cudaHostRegister": True, "cudaHostRegister, untouched": False}.items():
        shared = ring(size, touched)
        before = time.perf_counter()
        cuda.register(shared.ctypes.data, size)
        locked = time.perf_counter()
        cuda.unregister([shared.ctypes.data])
        yield {"what": what, "size": size, "seconds": locked - before}
        if touched:
            yield {"what": "cudaHostUnregister", "size": size, "seconds": time.perf_counter() - locked}
        del shared
    before = time.perf_counter()
    own = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    yield {"what": "torch's pinned memory", "size": own.numel(), "seconds": time.perf_counter() - before}
    del own
    torch._C._host_emptyCache()
