#pragma once
// Recent findings about copies, so that the next copy like them costs no questions.
//
// A program makes the same copies again and again. A copy is recognised by its likeness: same size
// between the same pages of memory, say. Since the last one the program may have freed that memory
// and have other memory there. So only findings that do no harm when they are wrong may be
// remembered, and after kUses copies everything is looked at again.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "driver/driver.h"

namespace polypath::engine {

/// The page of memory that the address lies in.
constexpr std::uint64_t page_of(Address address) { return address.value >> 12; }

/// The newest values by their keys, which have `==` and say how they are mixed: `hash()`. A newer
/// key takes the place of an older one with the same slot. Not thread-safe; the owner guards it.
template <class Key, class Value, std::size_t kSlots = 256>
class RecentCopies {
 public:
  /// A value is forgotten after so many uses.
  static constexpr int kUses = 64;

  /// The entry; null if there is none. Counts as a use.
  [[nodiscard]] const Value* find(const Key& key) {
    Entry& entry = slot_of(key);
    if (entry.uses_left == 0 || !(entry.key == key)) return nullptr;
    --entry.uses_left;
    return &entry.value;
  }

  /// The same, to be changed; it is no use and does not prolong what is there.
  [[nodiscard]] Value* peek(const Key& key) {
    Entry& entry = slot_of(key);
    return entry.uses_left > 0 && entry.key == key ? &entry.value : nullptr;
  }

  void remember(const Key& key, Value value) { slot_of(key) = {key, std::move(value), kUses}; }
  void forget(const Key& key) {
    if (peek(key) != nullptr) slot_of(key) = {};
  }

 private:
  static_assert(std::has_single_bit(kSlots));

  struct Entry {
    Key key;
    Value value;
    int uses_left = 0;
  };

  // Fibonacci hashing: the upper bits of a product with 2^64 / φ are well mixed.
  Entry& slot_of(const Key& key) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
    constexpr int kShift = 64 - std::countr_zero(kSlots);
    return entries_[(key.hash() * kSpread) >> kShift];
  }

  std::array<Entry, kSlots> entries_;
};

}  // namespace polypath::engine
