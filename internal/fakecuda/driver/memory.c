// Memory of the fake driver: page-locked, registered, and that of its devices, which no pointer of the host reaches.
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, PAGE = 4096 };
enum { MEMHOSTALLOC_FLAGS = 7, MEMHOSTREGISTER_FLAGS = 15, PORTABLE = 1 };

// Where the devices' memory seems to be: no address that x86-64 or arm64 gives to a process. Addresses are never given out twice.
static const uint64_t device_base = (uint64_t)0xc0 << 48;

static struct memory *memories;
static uint64_t device_next = device_base;

static struct memory *add_memory(struct memory m) {
  struct memory *new = allocate(sizeof m);
  *new = m;
  new->next = memories;
  memories = new;
  return new;
}

// end_memory forgets and unmaps m. Operations that still use it are a violation; they are waited for, so that the test lives to tell.
static void end_memory(struct memory *m) {
  if (m->queued > 0) violation("%s: %d copies on their way use the memory", calling(), m->queued);
  while (m->queued > 0) pthread_cond_wait(&progress, &lock);
  for (struct memory **at = &memories; *at; at = &(*at)->next) {
    if (*at == m) {
      *at = m->next;
      break;
    }
  }
  switch (m->kind) {
    case PINNED:
      counts.pinned--;
      counts.pinned_bytes -= m->size;
      break;
    case REGISTERED:
      counts.registered--;
      counts.registered_bytes -= m->size;
      break;
    case DEVICE:
      counts.device--;
      counts.device_bytes -= m->size;
      m->context->device_bytes -= m->size;
      break;
  }
  if (m->kind != REGISTERED) munmap(m->bytes, m->size);
  free(m);
}

void drop_memory(struct context *context) {
  for (struct memory *m = memories, *next; m; m = next) {
    next = m->next;
    if (m->context != context) continue;
    counts.dropped++;
    end_memory(m);
  }
}

static struct memory *memory_at(enum kind kind, uintptr_t base) {
  for (struct memory *m = memories; m; m = m->next) {
    if (m->kind == kind && m->base == base) return m;
  }
  return NULL;
}

static bool overlaps(const struct memory *m, uintptr_t p, size_t n) { return p < m->base + m->size && m->base < p + n; }

static bool covers(const struct memory *m, uintptr_t p, size_t n) { return p >= m->base && n <= m->size && p - m->base <= m->size - n; }

struct memory *host_range(struct context *context, uintptr_t p, size_t n, bool *partly) {
  *partly = false;
  for (struct memory *m = memories; m; m = m->next) {
    if (m->kind == DEVICE || (m->context != context && !m->portable)) continue;
    if (covers(m, p, n)) return m;
    if (overlaps(m, p, n)) *partly = true;
  }
  return NULL;
}

struct memory *device_range(uintptr_t p, size_t n) {
  for (struct memory *m = memories; m; m = m->next) {
    if (m->kind == DEVICE && covers(m, p, n)) return m;
  }
  return NULL;
}

static char *map(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

// ---- the API

static CUresult alloc_host(void **out, size_t n, unsigned flags) {
  if (n == 0 || flags & ~MEMHOSTALLOC_FLAGS) return CUDA_ERROR_INVALID_VALUE;
  char *p = map(n);
  if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
  add_memory((struct memory){
      .kind = PINNED, .context = current, .portable = flags & PORTABLE, .base = (uintptr_t)p, .bytes = p, .size = n});
  counts.pinned++;
  counts.pinned_bytes += n;
  *out = p;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t n, unsigned flags) {
  CUresult r = enter("cuMemHostAlloc", CONTEXT, n, flags);
  remember_node();
  if (r == CUDA_SUCCESS) r = alloc_host(out, n, flags);
  return leave(r);
}

static CUresult free_memory(enum kind kind, uintptr_t p, CUresult unknown) {
  struct memory *m = memory_at(kind, p);
  if (!m) {
    violation("%s: there is nothing at %#lx", calling(), (unsigned long)p);
    return unknown;
  }
  end_memory(m);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeHost(void *p) {
  CUresult r = enter("cuMemFreeHost", CONTEXT, (uintptr_t)p, 0);
  if (r == CUDA_SUCCESS) r = free_memory(PINNED, (uintptr_t)p, CUDA_ERROR_INVALID_VALUE);
  return leave(r);
}

static CUresult register_host(void *p, size_t n, unsigned flags) {
  if (!p || n == 0 || flags & ~MEMHOSTREGISTER_FLAGS) return CUDA_ERROR_INVALID_VALUE;
  // The driver locks whole pages, so a neighbour on the same page is in the way too.
  uintptr_t base = (uintptr_t)p / PAGE * PAGE, end = ((uintptr_t)p + n + PAGE - 1) / PAGE * PAGE;
  for (struct memory *m = memories; m; m = m->next) {
    if (m->kind != DEVICE && overlaps(m, base, end - base)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  add_memory((struct memory){
      .kind = REGISTERED, .context = current, .portable = flags & PORTABLE, .base = (uintptr_t)p, .bytes = p, .size = n});
  counts.registered++;
  counts.registered_bytes += n;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned flags) {
  CUresult r = enter("cuMemHostRegister", CONTEXT, n, flags);
  if (r == CUDA_SUCCESS) r = register_host(p, n, flags);
  return leave(r);
}

EXPORT CUresult cuMemHostUnregister(void *p) {
  CUresult r = enter("cuMemHostUnregister", CONTEXT, (uintptr_t)p, 0);
  if (r == CUDA_SUCCESS) r = free_memory(REGISTERED, (uintptr_t)p, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  return leave(r);
}

static CUresult alloc_device(CUdeviceptr *out, size_t n) {
  if (n == 0) return CUDA_ERROR_INVALID_VALUE;
  if (n > settings.device_memory - current->device_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  char *p = map(n);
  if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = device_next;
  device_next += (n + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;  // never two without a gap
  add_memory((struct memory){.kind = DEVICE, .context = current, .base = *out, .bytes = p, .size = n});
  counts.device++;
  counts.device_bytes += n;
  current->device_bytes += n;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t n) {
  CUresult r = enter("cuMemAlloc", CONTEXT, n, 0);
  if (r == CUDA_SUCCESS) r = alloc_device(out, n);
  return leave(r);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr p) {
  CUresult r = enter("cuMemFree", CONTEXT, p, 0);
  if (r == CUDA_SUCCESS) r = free_memory(DEVICE, p, CUDA_ERROR_INVALID_VALUE);
  return leave(r);
}
