#pragma once
// MPI_BOTTOM: elements whose type has their addresses. It is a null pointer in every MPI here.

#include <optional>

#include "mpi/element.h"
#include "mpi/memory.h"

namespace polypath::mpi {

/// The GPU that has elements, which are the bytes of `range` from `memory` on. Of MPI_BOTTOM the
/// first and the last byte are asked for. A null pointer without a range is no memory.
std::optional<int> gpu_of_elements(GpuOf ask, const void* memory, const Range& range);

/// The allocation with these elements, which are a GPU's; none if the driver knows of none. Error
/// (unsupported) for elements of MPI_BOTTOM that are not all in one of a GPU.
std::optional<MemoryInfo> find_elements(Driver& driver, const void* memory, const Range& range);

}  // namespace polypath::mpi
