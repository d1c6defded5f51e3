// Devices, their kernels, and what torch asks about them.
#define _GNU_SOURCE
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread int device;

int current_device(void) { return device; }

static int devices(void) {
  const char *value = getenv("FAKECUDART_DEVICES");
  int count = value == NULL ? 1 : atoi(value);
  return count < MAX_DEVICES ? count : MAX_DEVICES;
}

cudaError_t cudaGetDeviceCount(int *count) {
  *count = 0;
  ENTER("cudaGetDeviceCount");
  *count = devices();
  return failed(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *current) {
  ENTER("cudaGetDevice");
  *current = device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int wanted) {
  ENTER("cudaSetDevice");
  if (wanted < 0 || wanted >= devices()) return failed(cudaErrorInvalidDevice);
  used();
  device = wanted;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  ENTER("cudaDeviceSynchronize");
  finish_device(device);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int index) {
  ENTER("cudaGetDeviceProperties");
  if (index < 0 || index >= devices()) return failed(cudaErrorInvalidDevice);
  *properties = (struct cudaDeviceProp){
      .name = "fake",
      .totalGlobalMem = (size_t)16 << 30,
      .sharedMemPerBlock = 48 << 10,
      .sharedMemPerBlockOptin = 99 << 10,
      .sharedMemPerMultiprocessor = 100 << 10,
      .regsPerBlock = 65536,
      .regsPerMultiprocessor = 65536,
      .warpSize = 32,
      .maxThreadsPerBlock = 1024,
      .maxThreadsPerMultiProcessor = 2048,
      .maxThreadsDim = {1024, 1024, 64},
      .maxGridSize = {2147483647, 65535, 65535},
      .major = 9,
      .minor = 0,
      .multiProcessorCount = 4,
      .l2CacheSize = 1 << 20,
      .asyncEngineCount = 2,
      .concurrentKernels = 1,
      .unifiedAddressing = 1,
  };
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int index) {
  ENTER("cudaDeviceGetAttribute");
  struct cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  if (error != cudaSuccess) return error;
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock: *value = properties.maxThreadsPerBlock; break;
  case cudaDevAttrMultiProcessorCount: *value = properties.multiProcessorCount; break;
  case cudaDevAttrWarpSize: *value = properties.warpSize; break;
  case cudaDevAttrComputeCapabilityMajor: *value = properties.major; break;
  case cudaDevAttrComputeCapabilityMinor: *value = properties.minor; break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)properties.sharedMemPerBlock; break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)properties.sharedMemPerBlockOptin; break;
  case cudaDevAttrMaxThreadsPerMultiProcessor: *value = properties.maxThreadsPerMultiProcessor; break;
  default: *value = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int length, int index) {
  snprintf(bus, length, "0000:%02x:00.0", index);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int index, int peer) {
  (void)index, (void)peer;
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

// There is no driver behind this runtime.
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result) {
  (void)symbol, (void)version, (void)flags;
  *function = NULL;
  if (result != NULL) *result = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "cudaSuccess";
  case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
  case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
  case cudaErrorHostMemoryAlreadyRegistered: return "cudaErrorHostMemoryAlreadyRegistered";
  case cudaErrorHostMemoryNotRegistered: return "cudaErrorHostMemoryNotRegistered";
  default: return "cudaErrorOfTheFake";
  }
}

const char *cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error); }

// Kernels take their time and compute nothing.
static cudaError_t launch(cudaStream_t handle) {
  ENTER("cudaLaunchKernel");
  Stream *stream = stream_of(handle, device);
  journal("kernel %d", stream_number(stream));
  give(stream, (Work){.what = KERNEL, .seconds = from_environment("FAKECUDART_KERNEL_US")});
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  (void)function, (void)grid, (void)block, (void)arguments, (void)shared;
  return launch(stream);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  (void)function, (void)arguments;
  return launch(config->stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
  *kernel = (cudaKernel_t)function;
  return cudaSuccess;
}

static __thread struct {
  dim3 grid, block;
  size_t shared;
  void *stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
  configuration.grid = grid;
  configuration.block = block;
  configuration.shared = shared;
  configuration.stream = stream;
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  memcpy(stream, &configuration.stream, sizeof configuration.stream);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
  (void)function;
  *attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = 1024, .numRegs = 32, .ptxVersion = 90, .binaryVersion = 90};
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  (void)function, (void)attribute, (void)value;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared) {
  (void)function, (void)size, (void)shared;
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size, size_t shared,
                                                                   unsigned int flags) {
  (void)flags;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, shared);
}

// What programs with kernels do when they are loaded.
void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  (void)binary;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
void __cudaRegisterFunction(void **handle, const char *host, char *device_name) { (void)handle, (void)host, (void)device_name; }
void __cudaRegisterVar(void **handle, char *host) { (void)handle, (void)host; }

// Of the driver: torch asks which devices have a context. This library has the driver's name, so that torch finds them here.
int cuDevicePrimaryCtxGetState(int index, unsigned int *flags, int *active) {
  (void)index;
  *flags = 0;
  *active = !forked();
  return 0;
}
