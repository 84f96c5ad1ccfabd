#pragma once
// Copies that leave nothing in the caches of the cores.

#include <cstddef>

namespace polypath::engine {

/// As memcpy, but the bytes go into memory at once: a GPU reads bytes that lie changed in the
/// caches of the cores at less than half of the rate of its link
/// (results/h200x1/pageable_choices.json). As memcpy where the processor has no such stores. All
/// bytes are there for other threads and GPUs when it returns.
void copy_past_caches(std::byte* destination, const std::byte* source, std::size_t bytes);

}  // namespace polypath::engine
