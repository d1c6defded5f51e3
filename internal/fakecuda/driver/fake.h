// What the files of the fake driver share. One lock guards everything that is declared here: enter() takes it and leave() gives it back, and
// every other function is called with it held unless it says otherwise. Waiting gives the lock back for as long as it lasts.
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

// The driver's names for results, as many as the fake itself returns; cuGetErrorName knows more.
typedef enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
} CUresult;

typedef int CUdevice;
typedef uint64_t CUdeviceptr;

enum { MAX_DEVICES = 8 };

// ---- state.c: what there is, what is asked of it, and what was seen

// A context is the primary one of its device; it exists while it is retained.
struct context {
  int device;
  int retained;
  CUresult sticky;          // of an asynchronous failure: every later call in the context returns it
  struct stream *standard;  // the stream with handle 0, started when it is first used
  size_t device_bytes;
};

struct settings {
  int devices;
  size_t device_memory;  // bytes of each device
  long latency_us;       // from the call of a copy to its beginning: the source is read late
  long us_per_mib;       // how long a copy of a MiB takes
  bool held;             // no copy begins
};

struct counts {
  size_t pinned_bytes, registered_bytes, device_bytes;
  long pinned, registered, device, streams, events, contexts;
  long copies, copied_bytes;    // of what was done beside the host
  long pageable, pageable_bytes;  // of copies from or to memory that is not page-locked: done at once
  long dropped;                 // allocations, streams and events that ended with their context, never freed by their owner
};

extern pthread_mutex_t lock;
extern pthread_cond_t progress;  // an operation is done, a stream has ended
extern struct context contexts[MAX_DEVICES];
extern struct settings settings;
extern struct counts counts;
extern bool initialised;
extern __thread struct context *current;

enum needs { NOTHING, INITIALISED, CONTEXT };

// enter begins every function of the API: it takes the lock, writes the call down and returns what the function must return at once, such as
// an injected fault, or CUDA_SUCCESS. a and b are the arguments worth remembering. leave ends it, whatever enter returned.
CUresult enter(const char *op, enum needs needs, uint64_t a, uint64_t b);
CUresult leave(CUresult result);

// fault is the code that is injected for the next op, or CUDA_SUCCESS.
CUresult fault(const char *op);

// violation records a use of the driver that no correct program makes, even where the driver would not notice.
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

// remember_node notes the memory policy of the thread, for the call that it is in.
void remember_node(void);

// publish writes the report to the file named by FAKECUDA_REPORT, if any.
void publish(void);

const char *calling(void);  // the name of the function that the thread is in
void *allocate(size_t bytes);  // zeroed, never NULL

// ---- memory.c

enum kind { PINNED, REGISTERED, DEVICE };

struct memory {
  enum kind kind;
  struct context *context;
  bool portable;    // page-locked for all contexts
  uintptr_t base;   // as the caller knows it
  char *bytes;      // where it really is: a device's addresses cannot be used by the host
  size_t size;
  int queued;       // operations on their way that use it
  struct memory *next;
};

// host_range finds the page-locked memory that [p, p+n) is part of, as context sees it; NULL where it is not page-locked. *partly says that
// some of it is.
struct memory *host_range(struct context *context, uintptr_t p, size_t n, bool *partly);

// device_range finds the device's memory that [p, p+n) is part of.
struct memory *device_range(uintptr_t p, size_t n);

void drop_memory(struct context *context);

// ---- stream.c

enum operation_kind { COPY, RECORD, AWAIT };

struct operation {
  enum operation_kind kind;
  struct memory *source, *destination;  // NULL where it is not ours
  void *to;
  const void *from;
  size_t bytes;
  struct event *event;
  uint64_t generation;
  uint64_t due;  // ns, before which it does not begin
  struct operation *next;
};

struct event {
  uintptr_t handle;
  struct context *context;
  uint64_t recorded, passed;  // generations: cuEventRecord begins one
  int references;             // of operations and waits
  bool destroyed;
  struct event *next;
};

struct stream {
  uintptr_t handle;
  struct context *context;
  pthread_cond_t work;
  struct operation *first, *last;
  bool busy;     // with an operation that is no longer in the queue
  bool closing;  // the thread ends when nothing is left to do
  struct stream *next;
};

// find_stream and find_event look up a handle; what is not there is a violation, and NULL.
struct stream *find_stream(uintptr_t handle);
struct event *find_event(uintptr_t handle);

void queue(struct stream *stream, struct operation operation);
void drain(struct stream *stream);
void drop_streams(struct context *context);

#endif
