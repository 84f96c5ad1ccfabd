#pragma once
// Marks what hosts and GPUs compute alike.

#ifdef __CUDACC__
#define POLYPATH_ON_BOTH __host__ __device__
#else
#define POLYPATH_ON_BOTH
#endif
