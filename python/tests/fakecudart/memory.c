// Memory of the devices and of the host, and copies.
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
  char *start; // NULL: free
  size_t bytes;
  Kind kind;
  int device;
} Range;

static Range ranges[MAX_RANGES];

// All of these under the lock.
static Range *range_at(const void *memory) {
  const char *at = memory;
  for (Range *r = ranges; r < ranges + MAX_RANGES; r++) {
    if (r->start != NULL && r->start <= at && at < r->start + r->bytes) return r;
  }
  return NULL;
}

static Range *range_over(const void *memory, size_t bytes) {
  const char *from = memory;
  for (Range *r = ranges; r < ranges + MAX_RANGES; r++) {
    if (r->start != NULL && r->start < from + bytes && from < r->start + r->bytes) return r;
  }
  return NULL;
}

static void add(void *memory, size_t bytes, Kind kind) {
  for (Range *r = ranges; r < ranges + MAX_RANGES; r++) {
    if (r->start != NULL) continue;
    *r = (Range){.start = memory, .bytes = bytes, .kind = kind, .device = current_device()};
    return;
  }
  abort();
}

Kind kind_of(const void *memory, int *device) {
  lock();
  Range *r = range_at(memory);
  Kind kind = r == NULL ? PAGEABLE : r->kind;
  if (device != NULL) *device = r == NULL ? -1 : r->device;
  unlock();
  return kind;
}

// Takes memory of a kind away. Where queued work still uses memory of the host, that is a violation.
static cudaError_t take_away(void *memory, Kind kind, const char *call) {
  lock();
  Range *r = range_at(memory);
  int known = r != NULL && r->start == memory && r->kind == kind;
  int busy = known && kind != DEVICE && reads_host(r->start, r->bytes);
  if (known) r->start = NULL;
  unlock();
  if (!known) journal("violation %s of %p, which is not there", call, memory);
  if (busy) journal("violation %s of %p, which a queued copy still uses", call, memory);
  if (known) journal("%s %p", call, memory);
  if (known) return cudaSuccess;
  return failed(kind == REGISTERED ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
}

// What only a process that began with CUDA itself may do.
static int in_child(const char *call) {
  if (!forked()) return 0;
  journal("violation %s in a forked child", call);
  return 1;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned int flags) {
  if (in_child("cudaHostRegister")) return failed(cudaErrorInitializationError);
  ENTER("cudaHostRegister");
  used();
  if (memory == NULL || bytes == 0) return failed(cudaErrorInvalidValue);
  lock();
  int known = range_over(memory, bytes) != NULL;
  if (!known) add(memory, bytes, REGISTERED);
  unlock();
  if (known) journal("violation cudaHostRegister of %p, which is registered already", memory);
  if (!known) journal("cudaHostRegister %p %zu %u %d", memory, bytes, flags, current_device());
  return failed(known ? cudaErrorHostMemoryAlreadyRegistered : cudaSuccess);
}

cudaError_t cudaHostUnregister(void *memory) {
  if (in_child("cudaHostUnregister")) return failed(cudaErrorInitializationError);
  ENTER("cudaHostUnregister");
  return take_away(memory, REGISTERED, "cudaHostUnregister");
}

static cudaError_t allocate(void **memory, size_t bytes, Kind kind, const char *call) {
  if (in_child(call)) return failed(cudaErrorInitializationError);
  ENTER(call);
  used();
  if (posix_memalign(memory, 4096, bytes == 0 ? 1 : bytes) != 0) return failed(cudaErrorMemoryAllocation);
  lock();
  add(*memory, bytes == 0 ? 1 : bytes, kind);
  unlock();
  journal("%s %p %zu", call, *memory, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int flags) {
  (void)flags;
  return allocate(memory, bytes, PINNED, "cudaHostAlloc");
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) { return allocate(memory, bytes, PINNED, "cudaHostAlloc"); }

cudaError_t cudaFreeHost(void *memory) {
  if (in_child("cudaFreeHost")) return failed(cudaErrorInitializationError);
  ENTER("cudaFreeHost");
  cudaError_t error = take_away(memory, PINNED, "cudaFreeHost");
  if (error == cudaSuccess) free(memory);
  return error;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) { return allocate(memory, bytes, DEVICE, "cudaMalloc"); }

cudaError_t cudaFree(void *memory) {
  ENTER("cudaFree");
  if (memory == NULL) return cudaSuccess;
  int device;
  kind_of(memory, &device);
  if (device >= 0) finish_device(device);
  cudaError_t error = take_away(memory, DEVICE, "cudaFree");
  if (error == cudaSuccess) free(memory);
  return error;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
  *total = (size_t)16 << 30;
  *left = *total;
  lock();
  for (Range *r = ranges; r < ranges + MAX_RANGES; r++) {
    if (r->start != NULL && r->kind == DEVICE && r->device == current_device()) *left -= r->bytes;
  }
  unlock();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory) {
  ENTER("cudaPointerGetAttributes");
  *attributes = (struct cudaPointerAttributes){.hostPointer = (void *)memory, .device = -2};
  Kind kind = kind_of(memory, &attributes->device);
  if (kind == PAGEABLE) return cudaSuccess;
  attributes->type = kind == DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->devicePointer = (void *)memory;
  if (kind == DEVICE) attributes->hostPointer = NULL;
  return cudaSuccess;
}

static const char *name_of(Kind kind) {
  static const char *names[] = {[PAGEABLE] = "pageable", [REGISTERED] = "registered", [PINNED] = "pinned", [DEVICE] = "device"};
  return names[kind];
}

Kind kind_of_run(const void *memory, size_t bytes) {
  lock();
  Range *r = range_at(memory);
  Kind kind = r == NULL ? PAGEABLE : r->kind;
  int outside = r != NULL && (const char *)memory + bytes > r->start + r->bytes;
  unlock();
  if (outside) journal("violation a copy or fill of %zu bytes at %p ends behind the %s memory there", bytes, memory, name_of(kind));
  return kind;
}

static cudaError_t copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind direction, Stream *stream, const char *call) {
  if (in_child(call)) return failed(cudaErrorInitializationError);
  ENTER(call);
  if (bytes == 0) return cudaSuccess;
  Kind from = kind_of_run(src, bytes), to = kind_of_run(dst, bytes);
  int from_device = direction == cudaMemcpyDeviceToHost || direction == cudaMemcpyDeviceToDevice;
  int to_device = direction == cudaMemcpyHostToDevice || direction == cudaMemcpyDeviceToDevice;
  if (direction != cudaMemcpyDefault && ((from == DEVICE) != from_device || (to == DEVICE) != to_device)) {
    journal("violation %s from %s to %s memory is no copy of kind %d", call, name_of(from), name_of(to), direction);
    return failed(cudaErrorInvalidValue);
  }
  journal("copy %p %s %p %s %zu %d", src, name_of(from), dst, name_of(to), bytes, stream_number(stream));
  Work work = {.what = COPY, .dst = dst, .src = src, .bytes = bytes};
  if (to == DEVICE && from != DEVICE) work.seconds = from_environment("FAKECUDART_COPY_US");
  work.watched = from == REGISTERED || from == PINNED;
  if (from == PAGEABLE) {
    work.staged = malloc(bytes);
    work.src = memcpy(work.staged, src, bytes);
  }
  give(stream, work);
  if (to == PAGEABLE) finish(stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind direction, cudaStream_t stream) {
  return copy(dst, src, bytes, direction, stream_of(stream, current_device()), "cudaMemcpyAsync");
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind direction) {
  Stream *stream = stream_of(NULL, current_device());
  cudaError_t error = copy(dst, src, bytes, direction, stream, "cudaMemcpy");
  finish(stream);
  return error;
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes, cudaStream_t stream) {
  (void)to, (void)from;
  return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  ENTER("cudaMemsetAsync");
  kind_of_run(memory, bytes);
  give(stream_of(stream, current_device()), (Work){.what = SET, .dst = memory, .value = value, .bytes = bytes});
  return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, NULL); }

// The C library's, of the trainer: memory that is still page-locked must not go.
int munmap(void *memory, size_t bytes) {
  lock();
  Range *r = range_over(memory, bytes);
  int registered = r != NULL && r->kind == REGISTERED;
  int busy = registered && reads_host(memory, bytes);
  unlock();
  if (registered) journal("violation munmap of %p, which is registered%s", memory, busy ? ", and a queued copy uses it" : "");
  if (busy) finish_device(current_device()); // else the copy would end the test by a fault
  return (int)syscall(SYS_munmap, memory, bytes);
}
