// The state of the fake driver: devices, faults, the log of calls, counts and violations, and how a test gets at them (fakecuda_...).
#define _GNU_SOURCE
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_FAULTS = 64, MAX_OPS = 64, MAX_CALLS = 1 << 14, MAX_VIOLATIONS = 64, MAX_NODES = 1024 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
struct context contexts[MAX_DEVICES];
struct settings settings;
struct counts counts;
bool initialised;
__thread struct context *current;

struct injected {
  char op[40];
  long nth;  // of the calls from now on; 0: every one
  long seen;
  CUresult code;
};

struct call {
  const char *op;
  long thread;
  int device;  // of the thread's context; -1: none
  int node;    // that the thread's memory policy prefers; -1: none, or not asked
  uint64_t a, b;
  CUresult result;
};

static struct injected faults[MAX_FAULTS];
static int fault_count;

static struct {
  const char *op;
  long calls;
} ops[MAX_OPS];
static int op_count;

// The last MAX_CALLS calls; the n-th ever is at n % MAX_CALLS.
static struct call calls[MAX_CALLS];
static uint64_t call_count;

static char violations[MAX_VIOLATIONS][240];
static int violation_count;

static __thread uint64_t here;  // which call the thread is in

// ---- calls

static void count_op(const char *op) {
  for (int i = 0; i < op_count; i++) {
    if (strcmp(ops[i].op, op) == 0) {
      ops[i].calls++;
      return;
    }
  }
  if (op_count < MAX_OPS) {
    ops[op_count].op = op;
    ops[op_count++].calls = 1;
  }
}

CUresult fault(const char *op) {
  CUresult code = CUDA_SUCCESS;
  for (int i = 0; i < fault_count; i++) {
    struct injected *f = &faults[i];
    if (strcmp(f->op, op) == 0 && (++f->seen == f->nth || f->nth == 0)) code = f->code;
  }
  return code;
}

CUresult enter(const char *op, enum needs needs, uint64_t a, uint64_t b) {
  pthread_mutex_lock(&lock);
  count_op(op);
  here = call_count++;
  calls[here % MAX_CALLS] = (struct call){
      .op = op, .thread = syscall(SYS_gettid), .device = current ? current->device : -1, .node = -1, .a = a, .b = b};
  CUresult injected = fault(op);
  if (injected != CUDA_SUCCESS) return injected;
  if (needs >= INITIALISED && !initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs < CONTEXT) return CUDA_SUCCESS;
  if (!current) {
    violation("%s: no context is current on thread %ld", op, calls[here % MAX_CALLS].thread);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!current->retained) {
    violation("%s: the context of device %d was released", op, current->device);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return current->sticky;
}

CUresult leave(CUresult result) {
  if (here + MAX_CALLS > call_count) calls[here % MAX_CALLS].result = result;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *calling(void) { return calls[here % MAX_CALLS].op; }

void remember_node(void) {
  int mode = 0;
  unsigned long nodes[MAX_NODES / (8 * sizeof(long))] = {0};
  if (syscall(SYS_get_mempolicy, &mode, nodes, MAX_NODES + 1, NULL, 0) != 0 || mode == 0) return;
  for (int n = 0; n < MAX_NODES; n++) {
    if (nodes[n / (8 * sizeof(long))] >> n % (8 * sizeof(long)) & 1) {
      calls[here % MAX_CALLS].node = n;
      return;
    }
  }
}

void violation(const char *format, ...) {
  if (violation_count < MAX_VIOLATIONS) {
    va_list args;
    va_start(args, format);
    vsnprintf(violations[violation_count++], sizeof violations[0], format, args);
    va_end(args);
  }
  publish();
}

void *allocate(size_t bytes) {
  void *p = calloc(1, bytes);
  if (!p) abort();
  return p;
}

// ---- reports, as JSON

struct text {
  char *out;
  size_t room, length;  // length is that of all that was added, also of what had no room
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...) {
  bool fits = t->length < t->room;
  va_list args;
  va_start(args, format);
  t->length += vsnprintf(fits ? t->out + t->length : NULL, fits ? t->room - t->length : 0, format, args);
  va_end(args);
}

static void add_counts(struct text *t) {
  add(t, "\"pinned_bytes\":%zu,\"registered_bytes\":%zu,", counts.pinned_bytes, counts.registered_bytes);
  add(t, "\"device_bytes\":%zu,", counts.device_bytes);
  add(t, "\"pinned\":%ld,\"registered\":%ld,\"device\":%ld,", counts.pinned, counts.registered, counts.device);
  add(t, "\"streams\":%ld,\"events\":%ld,\"contexts\":%ld,", counts.streams, counts.events, counts.contexts);
  add(t, "\"copies\":%ld,\"copied_bytes\":%ld,", counts.copies, counts.copied_bytes);
  add(t, "\"pageable\":%ld,\"pageable_bytes\":%ld,\"dropped\":%ld", counts.pageable, counts.pageable_bytes, counts.dropped);
}

static size_t report(char *out, size_t room) {
  struct text t = {.out = out, .room = room};
  add(&t, "{");
  add_counts(&t);
  add(&t, ",\"calls\":{");
  for (int i = 0; i < op_count; i++) add(&t, "%s\"%s\":%ld", i ? "," : "", ops[i].op, ops[i].calls);
  add(&t, "},\"violations\":[");
  for (int i = 0; i < violation_count; i++) add(&t, "%s\"%s\"", i ? "," : "", violations[i]);
  add(&t, "]}\n");
  return t.length;
}

// publish is called whenever a context comes or goes and at each violation: a Go program ends without a word to the libraries it has loaded,
// so there is no end of the process at which to write.
void publish(void) {
  const char *path = getenv("FAKECUDA_REPORT");
  if (!path) return;
  size_t length = report(NULL, 0);
  char *out = allocate(length + 1);
  report(out, length + 1);
  FILE *file = fopen(path, "w");
  if (file) {
    fputs(out, file);
    fclose(file);
  }
  free(out);
}

// ---- control

static void inject(const char *op, long nth, int code) {
  if (fault_count == MAX_FAULTS) return;
  struct injected *f = &faults[fault_count++];
  *f = (struct injected){.nth = nth, .code = code};
  snprintf(f->op, sizeof f->op, "%s", op);
}

// inject_all reads op:nth:code,op:nth:code,...
static void inject_all(const char *list) {
  char op[40];
  long nth;
  int code, used;
  while (list && sscanf(list, "%39[^:]:%ld:%d%n", op, &nth, &code, &used) == 3) {
    inject(op, nth, code);
    list += used;
    if (*list++ != ',') break;
  }
}

// configure sets everything to what the environment says, or to one quick device without faults.
__attribute__((constructor)) static void configure(void) {
  const char *devices = getenv("FAKECUDA_DEVICES");
  settings = (struct settings){.devices = devices ? atoi(devices) : 1, .device_memory = (size_t)1 << 30, .latency_us = 100};
  const char *delay = getenv("FAKECUDA_DELAY");
  if (delay) sscanf(delay, "%ld,%ld", &settings.latency_us, &settings.us_per_mib);
  fault_count = 0;
  inject_all(getenv("FAKECUDA_FAULTS"));
}

// fakecuda_reset drops what is left and forgets everything, cuInit too.
EXPORT void fakecuda_reset(void) {
  pthread_mutex_lock(&lock);
  settings.held = false;
  pthread_cond_broadcast(&progress);
  for (int i = 0; i < MAX_DEVICES; i++) {
    drop_streams(&contexts[i]);
    drop_memory(&contexts[i]);
    contexts[i] = (struct context){.device = i};
  }
  counts = (struct counts){0};
  op_count = violation_count = 0;
  call_count = 0;
  initialised = false;
  configure();
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_devices(int n) {
  pthread_mutex_lock(&lock);
  settings.devices = n;
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_memory(size_t bytes) {
  pthread_mutex_lock(&lock);
  settings.device_memory = bytes;
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_delay(long latency_us, long us_per_mib) {
  pthread_mutex_lock(&lock);
  settings.latency_us = latency_us;
  settings.us_per_mib = us_per_mib;
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_hold(int held) {
  pthread_mutex_lock(&lock);
  settings.held = held;
  pthread_cond_broadcast(&progress);
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_fault(const char *op, long nth, int code) {
  pthread_mutex_lock(&lock);
  inject(op, nth, code);
  pthread_mutex_unlock(&lock);
}

EXPORT void fakecuda_forget_faults(void) {
  pthread_mutex_lock(&lock);
  fault_count = 0;
  pthread_mutex_unlock(&lock);
}

// fakecuda_report and fakecuda_log write at most room bytes and return how many there are.
EXPORT size_t fakecuda_report(char *out, size_t room) {
  pthread_mutex_lock(&lock);
  size_t length = report(out, room);
  pthread_mutex_unlock(&lock);
  return length;
}

EXPORT size_t fakecuda_log(char *out, size_t room) {
  pthread_mutex_lock(&lock);
  struct text t = {.out = out, .room = room};
  uint64_t first = call_count > MAX_CALLS ? call_count - MAX_CALLS : 0;
  add(&t, "[");
  for (uint64_t i = first; i < call_count; i++) {
    const struct call *c = &calls[i % MAX_CALLS];
    add(&t, "%s{\"op\":\"%s\",\"thread\":%ld,\"device\":%d,\"node\":%d,\"a\":%llu,\"b\":%llu,\"result\":%d}", i > first ? ",\n" : "", c->op,
        c->thread, c->device, c->node, (unsigned long long)c->a, (unsigned long long)c->b, (int)c->result);
  }
  add(&t, "]\n");
  pthread_mutex_unlock(&lock);
  return t.length;
}

// fakecuda_forgive takes back what was recorded: a test that broke a rule on purpose has seen it.
EXPORT void fakecuda_forgive(void) {
  pthread_mutex_lock(&lock);
  violation_count = 0;
  counts.dropped = 0;
  pthread_mutex_unlock(&lock);
}
