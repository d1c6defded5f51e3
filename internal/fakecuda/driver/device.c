// The driver itself, its devices and their primary contexts, and the names of its errors.
#define _GNU_SOURCE
#include "fake.h"

#include <stdio.h>

EXPORT CUresult cuInit(unsigned flags) {
  CUresult r = enter("cuInit", NOTHING, flags, 0);
  if (r == CUDA_SUCCESS && flags != 0) r = CUDA_ERROR_INVALID_VALUE;
  if (r == CUDA_SUCCESS && settings.devices <= 0) r = CUDA_ERROR_NO_DEVICE;
  if (r == CUDA_SUCCESS) {
    for (int i = 0; i < MAX_DEVICES; i++) contexts[i].device = i;
    initialised = true;
  }
  publish();
  return leave(r);
}

EXPORT CUresult cuDriverGetVersion(int *version) {
  CUresult r = enter("cuDriverGetVersion", NOTHING, 0, 0);
  if (r == CUDA_SUCCESS) *version = 12080;
  return leave(r);
}

EXPORT CUresult cuDeviceGetCount(int *count) {
  CUresult r = enter("cuDeviceGetCount", INITIALISED, 0, 0);
  if (r == CUDA_SUCCESS) *count = settings.devices;
  return leave(r);
}

static bool exists(CUdevice device) { return device >= 0 && device < settings.devices && device < MAX_DEVICES; }

EXPORT CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  CUresult r = enter("cuDeviceGet", INITIALISED, ordinal, 0);
  if (r == CUDA_SUCCESS && !exists(ordinal)) r = CUDA_ERROR_INVALID_DEVICE;
  if (r == CUDA_SUCCESS) *out = ordinal;
  return leave(r);
}

EXPORT CUresult cuDeviceGetName(char *out, int room, CUdevice device) {
  CUresult r = enter("cuDeviceGetName", INITIALISED, device, 0);
  if (r == CUDA_SUCCESS && !exists(device)) r = CUDA_ERROR_INVALID_DEVICE;
  if (r == CUDA_SUCCESS) snprintf(out, room, "Fake GPU %d", device);
  return leave(r);
}

EXPORT CUresult cuDeviceGetPCIBusId(char *out, int room, CUdevice device) {
  CUresult r = enter("cuDeviceGetPCIBusId", INITIALISED, device, 0);
  if (r == CUDA_SUCCESS && !exists(device)) r = CUDA_ERROR_INVALID_DEVICE;
  if (r == CUDA_SUCCESS) snprintf(out, room, "0000:%02X:00.0", 0x3a + device);
  return leave(r);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
  CUresult r = enter("cuDeviceTotalMem", INITIALISED, device, 0);
  if (r == CUDA_SUCCESS && !exists(device)) r = CUDA_ERROR_INVALID_DEVICE;
  if (r == CUDA_SUCCESS) *out = settings.device_memory;
  return leave(r);
}

// ---- contexts

EXPORT CUresult cuDevicePrimaryCtxRetain(void **out, CUdevice device) {
  CUresult r = enter("cuDevicePrimaryCtxRetain", INITIALISED, device, 0);
  if (r == CUDA_SUCCESS && !exists(device)) r = CUDA_ERROR_INVALID_DEVICE;
  if (r == CUDA_SUCCESS) {
    contexts[device].retained++;
    counts.contexts++;
    *out = &contexts[device];
    publish();
  }
  return leave(r);
}

static CUresult release(CUdevice device) {
  if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  struct context *context = &contexts[device];
  if (context->retained == 0) {
    violation("cuDevicePrimaryCtxRelease: the context of device %d is not retained", device);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context->retained == 1) {  // what is left in it ends with it
    drop_streams(context);
    drop_memory(context);
    context->sticky = CUDA_SUCCESS;
  }
  context->retained--;
  counts.contexts--;
  publish();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CUresult r = enter("cuDevicePrimaryCtxRelease", INITIALISED, device, 0);
  if (r == CUDA_SUCCESS) r = release(device);
  return leave(r);
}

EXPORT CUresult cuCtxSetCurrent(void *handle) {
  CUresult r = enter("cuCtxSetCurrent", INITIALISED, (uintptr_t)handle, 0);
  struct context *context = handle;
  if (r == CUDA_SUCCESS && context) {
    if (context < contexts || context >= contexts + MAX_DEVICES || context->retained == 0) {
      violation("cuCtxSetCurrent: %p is no context", handle);
      r = CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  if (r == CUDA_SUCCESS) current = context;
  return leave(r);
}

// ---- errors

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// These two need neither cuInit nor the lock: they only read what never changes.
EXPORT CUresult cuGetErrorName(CUresult code, const char **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].code == (int)code) *out = errors[i].name;
  }
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(CUresult code, const char **out) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].code == (int)code) *out = errors[i].text;
  }
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
