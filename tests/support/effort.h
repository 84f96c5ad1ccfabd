#pragma once
// How much a test tries: the short form, or the long one of `make test LONG=1`
// (TESTS_LONG=1).

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "support/layers.h"

namespace polypath::test {

/// True in the long form.
bool is_long();

/// True in the short form for one of these: GTEST_SKIP then. They take longest, and others show the
/// same.
bool is_left_out(std::string_view name, std::initializer_list<std::string_view> longest);

/// One number for the short form and one for the long one.
template <class T>
T short_or_long(T brief, T full) {
  return is_long() ? full : brief;
}

/// The seeds of a property test: `count` of them in the long form, and a share in the short one,
/// which is spread over the same range. TESTS_SEED names a single one. Say the seed in a
/// SCOPED_TRACE.
std::vector<std::uint64_t> seeds(std::uint64_t count, std::uint64_t brief);

}  // namespace polypath::test
