#pragma once
// The layer before NCCL in this process.

#include <cstddef>

#include "nccl/layer.h"

namespace polypath::preload {

/// NCCL's functions, and the layer before them.
struct NcclLayer {
  nccl::Functions real;
  nccl::Layer* layer = nullptr;  ///< null: all calls are NCCL's
};

/// This process's, made at its first call of NCCL.
const NcclLayer& nccl_layer();
/// The same if there was one.
const nccl::Layer* nccl_layer_if_any();

/// True of names that NCCL's functions may have.
inline bool is_of_nccl(const char* name) {
  return name != nullptr && name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l';
}
/// Our function for a function that dlsym has found in a library, if that library is the NCCL of
/// this process: the first NCCL that is asked for. Else `real`.
void* nccl_replacement(void* library, const char* name, void* real);

/// The exported functions, by name; library/nccl.cc has them.
using NcclEntries = void* (*)(const char* name);
void set_nccl_entries(NcclEntries entries);

}  // namespace polypath::preload
