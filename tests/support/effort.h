#pragma once
// How much a test tries: the short form, or the long one of `make test LONG=1` (POLYPATH_TEST_LONG=1).

#include <cstdint>
#include <vector>

namespace polypath::test {

/// True in the long form.
bool is_long();

/// One number for the short form and one for the long one.
template <class T>
T short_or_long(T brief, T full) {
  return is_long() ? full : brief;
}

/// The seeds of a property test: `count` of them in the long form, and a share in the short one, which is spread
/// over the same range. POLYPATH_TEST_SEED names a single one. Say the seed in a SCOPED_TRACE.
std::vector<std::uint64_t> seeds(std::uint64_t count, std::uint64_t brief);

}  // namespace polypath::test
