// The words that cuda_runtime_api.h takes from the compiler's headers, which no wheel of the runtime holds.
#pragma once

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define __host__
#define __device__
#define __global__
#define __cudart_builtin__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#define __specialization_static static
#define __forceinline__ inline
