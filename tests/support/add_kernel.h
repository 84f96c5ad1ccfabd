#pragma once
// A kernel for tests, in both forms: destination[i] = source[i] + added, 32-bit integers.

#include "model/kernel.h"
#include "support/layers.h"

namespace polypath::test {

/// Parameters: elements, what is added; destination, source. One thread for each element.
Kernel add_kernel();

/// Threads for so many elements.
LaunchShape shape_for(std::size_t elements);

}  // namespace polypath::test
