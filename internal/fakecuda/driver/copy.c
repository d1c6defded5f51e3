// Copies of the fake driver: beside the host where the host's memory is page-locked, at once where it is not.
#define _GNU_SOURCE
#include "fake.h"

#include <string.h>

static CUresult copy(bool to_device, CUdeviceptr device, uintptr_t host, size_t n, void *handle) {
  struct stream *stream = find_stream((uintptr_t)handle);
  if (!stream || stream->context != current) return CUDA_ERROR_INVALID_HANDLE;
  if (n == 0) return CUDA_SUCCESS;
  struct memory *there = device_range(device, n);
  if (!there || there->context != current) {
    violation("%s: %zu bytes at %#lx are not memory of device %d", calling(), n, (unsigned long)device, current->device);
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool partly;
  struct memory *here = host_range(current, host, n, &partly);
  if (partly) {
    violation("%s: %zu bytes at %#lx are page-locked only in part", calling(), n, (unsigned long)host);
    return CUDA_ERROR_INVALID_VALUE;
  }
  char *bytes = there->bytes + (device - there->base);
  struct operation o = {.kind = COPY, .bytes = n};
  if (to_device) o.to = bytes, o.from = (void *)host, o.source = here, o.destination = there;
  else o.to = (void *)host, o.from = bytes, o.source = there, o.destination = here;
  if (here) {
    queue(stream, o);
    return CUDA_SUCCESS;
  }
  // Pageable memory goes through a buffer of the driver's: the stream is waited for, and the call returns when the copy is done.
  there->queued++;
  drain(stream);
  there->queued--;
  if (current->sticky != CUDA_SUCCESS) return current->sticky;
  memcpy(o.to, o.from, n);
  counts.pageable++;
  counts.pageable_bytes += n;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, void *stream) {
  CUresult r = enter("cuMemcpyHtoDAsync", CONTEXT, n, (uintptr_t)stream);
  if (r == CUDA_SUCCESS) r = copy(true, to, (uintptr_t)from, n, stream);
  return leave(r);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, void *stream) {
  CUresult r = enter("cuMemcpyDtoHAsync", CONTEXT, n, (uintptr_t)stream);
  if (r == CUDA_SUCCESS) r = copy(false, from, (uintptr_t)to, n, stream);
  return leave(r);
}
