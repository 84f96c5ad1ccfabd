#include "support/bytes.h"

#include <algorithm>
#include <cstring>

#include "support/layers.h"

namespace polypath::test {

Contents pattern(std::size_t size, std::uint64_t seed) {
  Contents contents(size);
  std::uint64_t word = (seed + 1) * 0x9e3779b97f4a7c15U;
  std::size_t i = 0;
  for (; i + sizeof word <= size; i += sizeof word, word += 0x9e3779b97f4a7c15U) {
    const std::uint64_t mixed = word ^ (word >> 29);
    std::memcpy(contents.data() + i, &mixed, sizeof mixed);
  }
  std::memcpy(contents.data() + i, &word, size - i);
  return contents;
}

testing::AssertionResult same_bytes(const Contents& actual, const Contents& expected) {
  if (actual.size() != expected.size())
    return testing::AssertionFailure() << actual.size() << " bytes instead of " << expected.size();
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size()) == 0)
    return testing::AssertionSuccess();
  std::size_t first = actual.size();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (actual[i] != expected[i]) first = std::min(first, i), ++wrong;
  return testing::AssertionFailure()
         << wrong << " of " << actual.size() << " bytes are wrong, the first at offset " << first;
}

}  // namespace polypath::test
