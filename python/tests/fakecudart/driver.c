// The driver's calls for kernels that are compiled while a program runs. The kernels that the tests know are run, on the CPU (kernels.c).
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = 8, INVALID_VALUE = 1, INVALID_IMAGE = 200, NOT_FOUND = 500 };

static __thread void *context;

int cuCtxGetCurrent(void **current) {
  *current = context;
  return 0;
}

int cuCtxSetCurrent(void *current) {
  context = current;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **retained, int index) {
  static char contexts[MAX_DEVICES];
  *retained = &contexts[index];
  return enter("cuDevicePrimaryCtxRetain");
}

int cuGetErrorString(int code, const char **text) {
  *text = cudaGetErrorString(code);
  return 0;
}

int cuModuleLoadData(void **module, const void *image) {
  int error = enter("cuModuleLoadData");
  if (error != 0) return error;
  if (memcmp(image, "\x7f"
                    "ELF",
             4) != 0)
    return INVALID_IMAGE;
  if (context == NULL) journal("violation cuModuleLoadData on a thread without a context");
  journal("cuModuleLoadData");
  *module = context;
  return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  int k = kernel_number(name);
  *function = (void *)(intptr_t)(k + 1);
  return k < 0 ? NOT_FOUND : 0;
}

typedef struct {
  int kernel;
  unsigned grid[3], block[3];
  uint64_t values[MAX_ARGUMENTS][8];
} Launch;

static void run_launch(void *argument) {
  Launch *launch = argument;
  void *arguments[MAX_ARGUMENTS];
  for (int i = 0; i < kernel_arguments(launch->kernel); i++) arguments[i] = launch->values[i];
  kernel_run(launch->kernel, launch->grid, launch->block, arguments);
  free(launch);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *handle,
                   void **arguments, void **extra) {
  (void)shared, (void)extra;
  int error = enter("cuLaunchKernel");
  if (error != 0) return error;
  if (gx == 0 || gy == 0 || gz == 0 || gy > 65535 || gz > 65535 || bx * by * bz > 1024) return INVALID_VALUE;
  if (context == NULL) journal("violation cuLaunchKernel on a thread without a context");
  if (handle == NULL) journal("violation cuLaunchKernel on the standard stream, which others wait for");
  Launch *launch = calloc(1, sizeof *launch);
  *launch = (Launch){.kernel = (int)(intptr_t)function - 1, .grid = {gx, gy, gz}, .block = {bx, by, bz}};
  for (int i = 0; i < kernel_arguments(launch->kernel); i++) {
    size_t bytes = kernel_argument_bytes(launch->kernel, i);
    memcpy(launch->values[i], arguments[i], bytes);
    void *memory;
    memcpy(&memory, arguments[i], sizeof memory);
    int is_address = i + 1 < kernel_arguments(launch->kernel);
    if (is_address && memory != NULL && kind_of(memory, NULL) != DEVICE) journal("violation argument %d of a kernel is not memory of a device", i);
  }
  Stream *stream = stream_of(handle, current_device());
  journal("launch %d %d", launch->kernel, stream_number(stream));
  give(stream, (Work){.what = CALLBACK, .function = run_launch, .argument = launch, .seconds = from_environment("FAKECUDART_KERNEL_US")});
  return 0;
}
