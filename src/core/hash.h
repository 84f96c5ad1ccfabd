#pragma once
// FNV-1a, 64 bits (Fowler, Noll, Vo: http://www.isthe.com/chongo/tech/comp/fnv): the same in every
// process and on every computer. Against chance, not against people.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/layers.h"

namespace polypath {

class Hash {
 public:
  static constexpr std::uint64_t kUsualSeed = 0xcbf29ce484222325;

  explicit Hash(std::uint64_t seed = kUsualSeed) : value_(seed) {}

  Hash& add(unsigned char byte) {
    value_ = (value_ ^ byte) * 0x100000001b3;
    return *this;
  }
  Hash& add(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) add(static_cast<const unsigned char*>(data)[i]);
    return *this;
  }
  Hash& add(std::string_view text) { return add(text.data(), text.size()); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

}  // namespace polypath
