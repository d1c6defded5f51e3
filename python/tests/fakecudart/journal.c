// The lock, the journal, faults, and what is forbidden in forked children.
#define _GNU_SOURCE
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int is_used, is_forked;
static __thread cudaError_t last;

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }
void wait_for_change(void) { pthread_cond_wait(&change, &mutex); }
void changed(void) { pthread_cond_broadcast(&change); }

static void after_fork(void) {
  is_forked = is_used;
  unlock();
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(lock, unlock, after_fork); }

__attribute__((destructor)) static void end(void) {
  if (is_used && !is_forked) journal("end");
}

void used(void) { is_used = 1; }
int forked(void) { return is_forked; }

void journal(const char *format, ...) {
  const char *path = getenv("FAKECUDART_JOURNAL");
  if (path == NULL) return;
  char line[512];
  int length = snprintf(line, sizeof line, "%d ", (int)getpid());
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(line + length, sizeof line - length - 1, format, arguments);
  va_end(arguments);
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || write(file, line, length) != length) abort();
  close(file);
}

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

double from_environment(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? 0 : 1e-6 * atof(value);
}

static cudaError_t fault(const char *call) {
  static struct {
    char call[64];
    int count;
  } calls[32];
  const char *faults = getenv("FAKECUDART_FAULTS");
  if (faults == NULL) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  lock();
  int k = 0;
  while (k < 31 && calls[k].call[0] != 0 && strcmp(calls[k].call, call) != 0) k++;
  snprintf(calls[k].call, sizeof calls[k].call, "%s", call);
  int count = ++calls[k].count;
  unlock();
  size_t length = strlen(call);
  for (const char *at = faults; (at = strstr(at, call)) != NULL; at += length) {
    int nth, code;
    if (sscanf(at + length, ":%d:%d", &nth, &code) == 2 && (nth == 0 || nth == count)) error = code;
  }
  if (error != cudaSuccess) journal("fault %s %d", call, error);
  return error;
}

cudaError_t enter(const char *call) { return is_forked ? cudaErrorInitializationError : fault(call); }

cudaError_t failed(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = last;
  last = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError(void) { return last; }
