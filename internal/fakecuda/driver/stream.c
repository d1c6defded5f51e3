// Streams and events of the fake driver. A stream is a thread that takes operations from a queue, in order, and begins none before it is
// due: what a copy reads is read late, as by a real device, so a program that writes to it too early is found out by its data.
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NON_BLOCKING = 1, EVENT_FLAGS = 7 };

// Handles are never given out twice, so that one that was destroyed is known as such.
static const uintptr_t first_handle = 0x5eed000;
static uintptr_t next_handle = first_handle;

static struct stream *streams;
static struct event *events;

static uintptr_t new_handle(void) { return next_handle += 16; }

static void not_there(const char *what, uintptr_t handle) {
  bool was = handle > first_handle && handle <= next_handle;
  violation("%s: %s %#lx %s", calling(), what, (unsigned long)handle, was ? "was destroyed" : "does not exist");
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// ---- a stream's thread

static void sleep_until(uint64_t due) {
  struct timespec t = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
  }
}

static void release_event(struct event *event) {
  if (--event->references == 0 && event->destroyed) free(event);
}

static void copy(struct context *context, struct operation *o) {
  while (settings.held) pthread_cond_wait(&progress, &lock);
  uint64_t begin = now(), takes = (uint64_t)settings.us_per_mib * 1000 * o->bytes >> 20;
  pthread_mutex_unlock(&lock);
  sleep_until((o->due > begin ? o->due : begin) + takes);
  memcpy(o->to, o->from, o->bytes);
  pthread_mutex_lock(&lock);
  CUresult failed = fault("copy");
  if (failed != CUDA_SUCCESS) context->sticky = failed;
  counts.copies++;
  counts.copied_bytes += o->bytes;
}

// perform does one operation. In a context that has failed nothing is copied any more, and nobody waits in vain.
static void perform(struct context *context, struct operation *o) {
  switch (o->kind) {
    case COPY:
      if (context->sticky == CUDA_SUCCESS) copy(context, o);
      if (o->source) o->source->queued--;
      if (o->destination) o->destination->queued--;
      break;
    case RECORD:
      if (o->event->passed < o->generation) o->event->passed = o->generation;
      release_event(o->event);
      break;
    case AWAIT:
      while (o->event->passed < o->generation) pthread_cond_wait(&progress, &lock);
      release_event(o->event);
      break;
  }
}

static void forget_stream(struct stream *stream) {
  for (struct stream **at = &streams; *at; at = &(*at)->next) {
    if (*at == stream) {
      *at = stream->next;
      return;
    }
  }
}

static void *run(void *argument) {
  struct stream *stream = argument;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!stream->first && !stream->closing) pthread_cond_wait(&stream->work, &lock);
    struct operation *o = stream->first;
    if (!o) break;
    stream->first = o->next;
    if (!stream->first) stream->last = NULL;
    stream->busy = true;
    perform(stream->context, o);
    stream->busy = false;
    free(o);
    pthread_cond_broadcast(&progress);
  }
  forget_stream(stream);
  pthread_cond_destroy(&stream->work);
  free(stream);
  pthread_cond_broadcast(&progress);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static struct stream *start_stream(struct context *context, uintptr_t handle) {
  struct stream *stream = allocate(sizeof *stream);
  stream->handle = handle;
  stream->context = context;
  pthread_cond_init(&stream->work, NULL);
  // Signals are left as they are: the process gets some of its own on this thread, which its runtime does not know.
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, stream) != 0) abort();
  pthread_detach(thread);
  stream->next = streams;
  streams = stream;
  counts.streams += handle != 0;
  return stream;
}

void queue(struct stream *stream, struct operation operation) {
  struct operation *o = allocate(sizeof *o);
  *o = operation;
  o->due = now() + (uint64_t)settings.latency_us * 1000;
  if (o->source) o->source->queued++;
  if (o->destination) o->destination->queued++;
  if (o->event) o->event->references++;
  if (stream->last) stream->last->next = o;
  else stream->first = o;
  stream->last = o;
  pthread_cond_signal(&stream->work);
}

void drain(struct stream *stream) {
  while (stream->first || stream->busy) pthread_cond_wait(&progress, &lock);
}

// close_stream lets a stream end when it has done what it was given; it counts as gone at once.
static void close_stream(struct stream *stream) {
  counts.streams -= stream->handle != 0 && !stream->closing;
  stream->closing = true;
  pthread_cond_signal(&stream->work);
}

static void destroy_event(struct event *event) {
  for (struct event **at = &events; *at; at = &(*at)->next) {
    if (*at == event) {
      *at = event->next;
      break;
    }
  }
  counts.events--;
  event->destroyed = true;
  event->references++;
  release_event(event);
}

// drop_streams ends what is left in a context when it goes, after all that is on its way.
void drop_streams(struct context *context) {
  for (struct event *e = events, *next; e; e = next) {
    next = e->next;
    if (e->context != context) continue;
    counts.dropped++;
    destroy_event(e);
  }
  for (bool left = true; left;) {
    left = false;
    for (struct stream *s = streams; s; s = s->next) {
      if (s->context != context) continue;
      left = true;
      if (s->handle != 0 && !s->closing) counts.dropped++;
      close_stream(s);
    }
    if (left) pthread_cond_wait(&progress, &lock);
  }
  context->standard = NULL;
}

// ---- the API

struct stream *find_stream(uintptr_t handle) {
  if (handle == 0) {
    if (!current->standard) current->standard = start_stream(current, 0);
    return current->standard;
  }
  for (struct stream *s = streams; s; s = s->next) {
    if (s->handle == handle && !s->closing) return s;
  }
  not_there("stream", handle);
  return NULL;
}

struct event *find_event(uintptr_t handle) {
  for (struct event *e = events; e; e = e->next) {
    if (e->handle == handle) return e;
  }
  not_there("event", handle);
  return NULL;
}

EXPORT CUresult cuStreamCreate(void **out, unsigned flags) {
  CUresult r = enter("cuStreamCreate", CONTEXT, flags, 0);
  if (r == CUDA_SUCCESS && flags & ~NON_BLOCKING) r = CUDA_ERROR_INVALID_VALUE;
  if (r == CUDA_SUCCESS) *out = (void *)start_stream(current, new_handle())->handle;
  return leave(r);
}

EXPORT CUresult cuStreamDestroy_v2(void *handle) {
  CUresult r = enter("cuStreamDestroy", CONTEXT, (uintptr_t)handle, 0);
  if (r == CUDA_SUCCESS) {
    struct stream *s = handle ? find_stream((uintptr_t)handle) : NULL;
    if (s) close_stream(s);
    else r = CUDA_ERROR_INVALID_HANDLE;
  }
  return leave(r);
}

EXPORT CUresult cuStreamSynchronize(void *handle) {
  CUresult r = enter("cuStreamSynchronize", CONTEXT, (uintptr_t)handle, 0);
  if (r == CUDA_SUCCESS) {
    struct stream *s = find_stream((uintptr_t)handle);
    if (s) {
      struct context *context = s->context;
      drain(s);
      r = context->sticky;
    } else {
      r = CUDA_ERROR_INVALID_HANDLE;
    }
  }
  return leave(r);
}

EXPORT CUresult cuStreamWaitEvent(void *handle, void *event, unsigned flags) {
  CUresult r = enter("cuStreamWaitEvent", CONTEXT, (uintptr_t)handle, (uintptr_t)event);
  if (r == CUDA_SUCCESS && flags & ~1u) r = CUDA_ERROR_INVALID_VALUE;
  if (r == CUDA_SUCCESS) {
    struct stream *s = find_stream((uintptr_t)handle);
    struct event *e = find_event((uintptr_t)event);
    if (s && e) queue(s, (struct operation){.kind = AWAIT, .event = e, .generation = e->recorded});
    else r = CUDA_ERROR_INVALID_HANDLE;
  }
  return leave(r);
}

EXPORT CUresult cuEventCreate(void **out, unsigned flags) {
  CUresult r = enter("cuEventCreate", CONTEXT, flags, 0);
  if (r == CUDA_SUCCESS && flags & ~EVENT_FLAGS) r = CUDA_ERROR_INVALID_VALUE;
  if (r == CUDA_SUCCESS) {
    struct event *e = allocate(sizeof *e);
    *e = (struct event){.handle = new_handle(), .context = current, .next = events};
    events = e;
    counts.events++;
    *out = (void *)e->handle;
  }
  return leave(r);
}

EXPORT CUresult cuEventRecord(void *event, void *handle) {
  CUresult r = enter("cuEventRecord", CONTEXT, (uintptr_t)event, (uintptr_t)handle);
  if (r == CUDA_SUCCESS) {
    struct event *e = find_event((uintptr_t)event);
    struct stream *s = find_stream((uintptr_t)handle);
    if (e && s && e->context == s->context) queue(s, (struct operation){.kind = RECORD, .event = e, .generation = ++e->recorded});
    else r = CUDA_ERROR_INVALID_HANDLE;
  }
  return leave(r);
}

EXPORT CUresult cuEventQuery(void *event) {
  CUresult r = enter("cuEventQuery", CONTEXT, (uintptr_t)event, 0);
  if (r == CUDA_SUCCESS) {
    struct event *e = find_event((uintptr_t)event);
    if (!e) r = CUDA_ERROR_INVALID_HANDLE;
    else if (e->passed < e->recorded) r = CUDA_ERROR_NOT_READY;
    else r = e->context->sticky;
  }
  return leave(r);
}

EXPORT CUresult cuEventSynchronize(void *event) {
  CUresult r = enter("cuEventSynchronize", CONTEXT, (uintptr_t)event, 0);
  if (r == CUDA_SUCCESS) {
    struct event *e = find_event((uintptr_t)event);
    if (e) {
      uint64_t generation = e->recorded;
      e->references++;
      while (e->passed < generation) pthread_cond_wait(&progress, &lock);
      r = e->context->sticky;
      release_event(e);
    } else {
      r = CUDA_ERROR_INVALID_HANDLE;
    }
  }
  return leave(r);
}

EXPORT CUresult cuEventDestroy_v2(void *event) {
  CUresult r = enter("cuEventDestroy", CONTEXT, (uintptr_t)event, 0);
  if (r == CUDA_SUCCESS) {
    struct event *e = find_event((uintptr_t)event);
    if (e) destroy_event(e);
    else r = CUDA_ERROR_INVALID_HANDLE;
  }
  return leave(r);
}
