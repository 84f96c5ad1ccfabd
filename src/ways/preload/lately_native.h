#pragma once
// Copies that were lately left to the driver because nothing could be gained, so that the next one
// like them costs no questions.
//
// Alike are copies of as many bytes between the same pages. The program may have freed the memory
// since and have other memory there: that is harmless, because the driver's own copy is right
// between memories of any kind. After kUses copies the memory is looked at again.

#include <array>
#include <atomic>
#include <cstdint>

#include "ways/preload/program_copy.h"

namespace polypath::preload {

/// Safe from any thread, without a lock: at worst something is forgotten, or remembered twice.
class LatelyNative {
 public:
  static constexpr std::uint32_t kUses = 64;

  /// True if a copy like this one is remembered; counts as a use.
  [[nodiscard]] bool contains(const ProgramCopy& copy) {
    const std::uint64_t likeness = likeness_of(copy);
    Entry& entry = slot_of(likeness);
    if (entry.likeness.load(std::memory_order_relaxed) != likeness) return false;
    if (entry.uses.fetch_add(1, std::memory_order_relaxed) < kUses) return true;
    entry.likeness.store(0, std::memory_order_relaxed);
    return false;
  }

  void remember(const ProgramCopy& copy) {
    const std::uint64_t likeness = likeness_of(copy);
    Entry& entry = slot_of(likeness);
    entry.uses.store(0, std::memory_order_relaxed);
    entry.likeness.store(likeness, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> likeness{0};  ///< 0 is nothing
    std::atomic<std::uint32_t> uses{0};
  };

  // Two different copies may be alike by accident, one time in 2^63: then one goes natively that
  // might have gained.
  static std::uint64_t likeness_of(const ProgramCopy& copy) {
    constexpr int kPageShift = 12;
    // 2^64 / φ, whose multiples are well spread.
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = (copy.destination.value >> kPageShift) * kSpread;
    mixed = ((mixed ^ (mixed >> 32)) + (copy.source.value >> kPageShift)) * kSpread;
    mixed = ((mixed ^ (mixed >> 32)) + copy.bytes.value) * kSpread;
    return mixed | 1;
  }
  Entry& slot_of(std::uint64_t likeness) { return entries_[likeness >> 56]; }

  std::array<Entry, 256> entries_;
};

}  // namespace polypath::preload
