// A CUDA runtime without a device, for tests: it stands before torch's own (LD_PRELOAD), and so torch's real code runs on it.
//
// The memory of its devices is the host's. Each stream is a thread that does what it is given in order and late: a copy reads its source
// when its turn has come, as a device does. Kernels of torch take time and compute nothing. What a trainer must not do is a violation: it is
// written into the journal, and the tests fail by it.
//
// Variables of the environment, read at each call:
//   FAKECUDART_JOURNAL    a file that each call is appended to, as a line of words: the process, the call, its arguments
//   FAKECUDART_DEVICES    how many devices there are (1)
//   FAKECUDART_COPY_US    how late a copy to a device is, in microseconds (0)
//   FAKECUDART_KERNEL_US  how long a kernel takes (0)
//   FAKECUDART_FAULTS     calls that fail, as in cudaHostRegister:1:2: the first one, with error 2; the 0th is each of them
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

enum { MAX_DEVICES = 4, MAX_RANGES = 4096 };

// A point of a stream that is passed at some time. Under the lock.
typedef struct Mark {
  int refs;
  int passed;
  double at; // seconds
} Mark;

typedef enum { COPY, SET, KERNEL, CALLBACK, RECORD, WAIT } What;

// Work that a stream was given.
typedef struct Work {
  struct Work *next;
  What what;
  void *dst;
  const void *src;
  size_t bytes;
  void *staged;     // the copy of a pageable source, which src is then
  int watched;      // src is page-locked memory of the host, whose sum was taken; a CALLBACK may read one, too
  uint64_t sum;
  int value;        // SET
  double seconds;   // how long it takes
  Mark *mark;       // RECORD, WAIT
  cudaHostFn_t function; // CALLBACK
  void *argument;
} Work;

typedef struct CUstream_st Stream;
typedef struct CUevent_st Event;

struct CUevent_st {
  Mark *mark; // NULL: it was never recorded
};

// journal.c
void lock(void);
void unlock(void);
void wait_for_change(void); // under the lock
void changed(void);         // under the lock
void journal(const char *format, ...) __attribute__((format(printf, 1, 2)));
double now(void);
double from_environment(const char *name); // microseconds, as seconds
cudaError_t enter(const char *call);       // what a call begins with: the error that it fails with, if any
cudaError_t failed(cudaError_t error);     // keeps an error as the thread's last one
void used(void);                           // CUDA may no longer be used in forked children from here on
int forked(void);

#define ENTER(call) \
  do { \
    cudaError_t enter_error = enter(call); \
    if (enter_error != cudaSuccess) return failed(enter_error); \
  } while (0)

// streams.c
Stream *stream_of(cudaStream_t stream, int device);
int stream_number(const Stream *stream);
void give(Stream *stream, Work work);
void finish(Stream *stream);          // waits until a stream has done what it was given until now
void finish_device(int device);
int reads_host(const void *memory, size_t bytes); // tells whether queued work reads or writes this memory

// device.c
int current_device(void);

// memory.c
typedef enum { PAGEABLE, REGISTERED, PINNED, DEVICE } Kind;
Kind kind_of(const void *memory, int *device);
Kind kind_of_run(const void *memory, size_t bytes); // one that begins within a piece of memory and ends behind it is a violation

// kernels.c
int kernel_number(const char *name); // or -1
int kernel_arguments(int kernel);
size_t kernel_argument_bytes(int kernel, int argument);
void kernel_run(int kernel, const unsigned grid[3], const unsigned block[3], void **arguments);
