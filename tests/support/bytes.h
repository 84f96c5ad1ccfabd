#pragma once
// Contents of buffers: patterns in which a misplaced byte shows, and where two contents differ.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

using Contents = std::vector<unsigned char>;

/// `size` bytes that depend on the seed and differ from word to word.
Contents pattern(std::size_t size, std::uint64_t seed);

/// Success if equal; else names the first byte that differs and how many do.
testing::AssertionResult same_bytes(const Contents& actual, const Contents& expected);

}  // namespace polypath::test
