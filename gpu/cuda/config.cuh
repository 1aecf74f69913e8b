// Macros shared by every header of the CUDA backend. The field and curve headers also compile with a
// plain C++17 compiler, which is how they are tested on machines without a GPU.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define FG_HD __host__ __device__ __forceinline__
#define FG_D __device__ __forceinline__
#define FG_NOINLINE_D __device__ __noinline__
#else
#define FG_HD inline
#define FG_D inline
#define FG_NOINLINE_D inline
#endif

// True while compiling device code, where the PTX paths are used.
#if defined(__CUDA_ARCH__)
#define FG_DEVICE_CODE 1
#else
#define FG_DEVICE_CODE 0
#endif

#if defined(__CUDACC__)
#define FG_UNROLL _Pragma("unroll")
#define FG_NO_UNROLL _Pragma("unroll 1")
#else
#define FG_UNROLL
#define FG_NO_UNROLL
#endif
