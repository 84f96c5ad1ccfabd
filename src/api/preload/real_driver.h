#pragma once
// The functions of the real driver, even if other libraries stand before it in this process.

#include <optional>

#include "api/preload/driver_functions.h"
#include "driver/driver.h"

namespace polypath::preload {

/// The real functions, looked up when first asked for. Before libcuda is in the process, and for
/// functions that it does not have, the entries return an error. Safe from any thread and before
/// any constructor has run.
const RealFunctions& real();

using Lookup = void* (*)(void* library, const char* name);

/// The system's own dlsym. Where it is called from matters to it for RTLD_NEXT and RTLD_DEFAULT.
Lookup system_lookup();

/// The real driver's function `name`; null if it has no such function or is not in the process.
void* real_symbol(const char* name);
/// True of a driver that is in the process and has no such function.
bool driver_lacks(const char* name);

/// True of memory that the driver does not know. Asks without what the planner's driver needs,
/// which is looked up in the background.
bool is_pageable(Address address);

/// The driver's number of the GPU whose memory it is, managed memory too; none of memory of the
/// host. Asks like is_pageable().
std::optional<int> gpu_of_memory(const void* memory);

/// A context and the driver's number of its GPU.
struct StreamHome {
  cuda::ContextPointer context = nullptr;
  int gpu = 0;
};

/// Where the stream is, if that is the calling thread's context, too. Asks like is_pageable().
std::optional<StreamHome> home_of(cuda::StreamPointer stream);

}  // namespace polypath::preload
