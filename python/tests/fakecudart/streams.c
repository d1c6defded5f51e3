// Streams and events. A stream's thread is started with its first work.
#define _GNU_SOURCE
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct CUstream_st {
  Stream *next; // of all streams; they stay for ever, as events refer to them
  int number, device, started;
  Work *first, **end; // not yet done; the first one is being done
  unsigned long given, done;
};

static Stream *streams;
static Stream *defaults[MAX_DEVICES];
static int numbers, events;

// How many events there are; called by the tests.
int fakecudart_events(void) {
  lock();
  int now = events;
  unlock();
  return now;
}

static Stream *new_stream(int number, int device) {
  Stream *stream = calloc(1, sizeof *stream);
  *stream = (Stream){.next = streams, .number = number, .device = device, .end = &stream->first};
  streams = stream;
  return stream;
}

static Stream *stream_locked(cudaStream_t stream, int device) {
  if (stream != NULL && stream != cudaStreamLegacy && stream != cudaStreamPerThread) return stream;
  if (defaults[device] == NULL) defaults[device] = new_stream(0, device);
  return defaults[device];
}

Stream *stream_of(cudaStream_t stream, int device) {
  lock();
  Stream *found = stream_locked(stream, device);
  unlock();
  return found;
}

int stream_number(const Stream *stream) { return stream->number; }

static uint64_t sum_of(const void *memory, size_t bytes) {
  const unsigned char *at = memory;
  uint64_t sum = 1469598103934665603u, word;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    memcpy(&word, at, 8);
    sum = (sum ^ word) * 1099511628211u;
  }
  for (; bytes > 0; bytes--) sum = (sum ^ *at++) * 1099511628211u;
  return sum;
}

static void pause_for(double seconds) {
  if (seconds <= 0) return;
  struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (time_t)seconds))};
  nanosleep(&t, NULL);
}

static void drop(Mark *mark) {
  if (mark != NULL && --mark->refs == 0) free(mark);
}

static void check_source(const Work *work, int number) {
  if (work->watched && sum_of(work->src, work->bytes) != work->sum) {
    journal("violation the source of a copy of %zu bytes on stream %d was written before the copy read it", work->bytes, number);
  }
}

// Does a stream's first work. Under the lock, which it lets go meanwhile.
static void run_locked(Stream *stream, Work *work) {
  switch (work->what) {
  case WAIT:
    while (!work->mark->passed) wait_for_change();
    return;
  case RECORD:
    work->mark->passed = 1;
    work->mark->at = now();
    return;
  default:
    break;
  }
  unlock();
  pause_for(work->seconds);
  check_source(work, stream->number);
  if (work->what == COPY) {
    memcpy(work->dst, work->src, work->bytes);
  } else if (work->what == SET) {
    memset(work->dst, work->value, work->bytes);
  } else if (work->what == CALLBACK) {
    work->function(work->argument);
  }
  lock();
}

static void *run(void *argument) {
  Stream *stream = argument;
  lock();
  for (;;) {
    while (stream->first == NULL) wait_for_change();
    Work *work = stream->first;
    run_locked(stream, work);
    stream->first = work->next;
    if (stream->first == NULL) stream->end = &stream->first;
    stream->done++;
    drop(work->mark);
    free(work->staged);
    free(work);
    changed();
  }
  return NULL;
}

void give(Stream *stream, Work given) {
  if (given.watched) given.sum = sum_of(given.src, given.bytes);
  Work *work = malloc(sizeof *work);
  *work = given;
  work->next = NULL;
  used();
  lock();
  if (!stream->started) {
    pthread_t thread;
    stream->started = 1;
    if (pthread_create(&thread, NULL, run, stream) != 0) abort();
    pthread_detach(thread);
  }
  *stream->end = work;
  stream->end = &work->next;
  stream->given++;
  changed();
  unlock();
}

void finish(Stream *stream) {
  lock();
  unsigned long given = stream->given;
  while (stream->done < given) wait_for_change();
  unlock();
}

void finish_device(int device) {
  lock();
  for (Stream *stream = streams; stream != NULL; stream = stream->next) {
    if (stream->device != device) continue;
    unsigned long given = stream->given;
    while (stream->done < given) wait_for_change();
  }
  unlock();
}

// Under the lock.
int reads_host(const void *memory, size_t bytes) {
  const char *from = memory, *to = from + bytes;
  for (Stream *stream = streams; stream != NULL; stream = stream->next) {
    for (Work *work = stream->first; work != NULL; work = work->next) {
      if (work->what != COPY && work->what != CALLBACK) continue;
      const char *src = work->src, *dst = work->dst;
      if ((src < to && src + work->bytes > from) || (dst < to && dst + work->bytes > from)) return 1;
    }
  }
  return 0;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
  (void)flags, (void)priority;
  ENTER("cudaStreamCreate");
  used();
  lock();
  *stream = new_stream(++numbers, current_device());
  unlock();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  (void)stream;
  *priority = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ENTER("cudaStreamSynchronize");
  finish(stream_of(stream, current_device()));
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  ENTER("cudaStreamQuery");
  Stream *stream = stream_of(handle, current_device());
  lock();
  int busy = stream->first != NULL;
  unlock();
  return failed(busy ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  (void)flags;
  ENTER("cudaStreamWaitEvent");
  Stream *stream = stream_of(handle, current_device());
  lock();
  Mark *mark = event->mark;
  if (mark != NULL) mark->refs++;
  unlock();
  if (mark != NULL) give(stream, (Work){.what = WAIT, .mark = mark});
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
  ENTER("cudaLaunchHostFunc");
  give(stream_of(stream, current_device()), (Work){.what = CALLBACK, .function = function, .argument = argument});
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  (void)stream;
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges, size_t *count) {
  (void)id, (void)graph, (void)nodes, (void)edges, (void)count;
  return cudaStreamIsCapturing(stream, status);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  (void)mode;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  (void)flags;
  ENTER("cudaEventCreate");
  used();
  *event = calloc(1, sizeof **event);
  lock();
  events++;
  unlock();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ENTER("cudaEventDestroy");
  lock();
  drop(event->mark);
  events--;
  unlock();
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned int flags) {
  (void)flags;
  ENTER("cudaEventRecord");
  Stream *stream = stream_of(handle, current_device());
  Mark *mark = calloc(1, sizeof *mark);
  mark->refs = 2; // the event's and the work's
  lock();
  drop(event->mark);
  event->mark = mark;
  unlock();
  give(stream, (Work){.what = RECORD, .mark = mark});
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return cudaEventRecordWithFlags(event, stream, 0); }

cudaError_t cudaEventQuery(cudaEvent_t event) {
  ENTER("cudaEventQuery");
  lock();
  int passed = event->mark == NULL || event->mark->passed;
  unlock();
  return failed(passed ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ENTER("cudaEventSynchronize");
  lock();
  Mark *mark = event->mark;
  if (mark != NULL) {
    mark->refs++;
    while (!mark->passed) wait_for_change();
    drop(mark);
  }
  unlock();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  ENTER("cudaEventElapsedTime");
  lock();
  int passed = start->mark != NULL && start->mark->passed && end->mark != NULL && end->mark->passed;
  if (passed) *milliseconds = (float)(1e3 * (end->mark->at - start->mark->at));
  unlock();
  return failed(passed ? cudaSuccess : cudaErrorNotReady);
}
