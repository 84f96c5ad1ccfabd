#pragma once
// Ranks, queues, nodes and flags are numbered by int, as in programs. Internal to src/collective.

#include <cstddef>

namespace polypath::collective {

/// Where a number stands in a vector.
inline std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

}  // namespace polypath::collective
