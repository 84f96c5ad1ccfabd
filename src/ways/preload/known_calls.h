#pragma once
// What the engine is asked for copies that the program makes again and again and that it lately
// made itself: between two GPUs that copy to each other, say. To find all of it out anew takes a
// dozen questions to the driver: 64 MiB both ways at once took 193 to 194 us between two H200s with
// them and 185 to 191 without, natively 184 to 190 (results/h200x2/ledger.json).
//
// Since then the program may have other memory there, or another stream of that number. The
// driver's own copy is right all the same. After kUses copies everything is looked at again.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/copy_call.h"
#include "ways/preload/program_copy.h"
#include "ways/preload/stream_watch.h"

namespace polypath::preload {

/// Thread-safe.
class KnownCalls {
 public:
  static constexpr int kUses = 64;

  struct Known {
    CopyCall call;
    StreamWatch::Order order;      ///< of the stream
    cuda::ContextPointer context;  ///< of a default stream; else null
  };
  using Pointer = std::shared_ptr<const Known>;

  /// What is remembered of exactly this copy, `context` being the current one if it goes into a
  /// default stream, else null; null if nothing is. Counts as a use.
  [[nodiscard]] Pointer find(const ProgramCopy& copy, cuda::ContextPointer context) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = slot_of(copy);
    const bool found =
        entry.uses_left > 0 && same(entry.copy, copy) && entry.known->context == context;
    if (!found) return nullptr;
    --entry.uses_left;
    return entry.known;
  }

  void remember(const ProgramCopy& copy, Known known) {
    auto pointer = std::make_shared<const Known>(std::move(known));
    const std::scoped_lock lock(mutex_);
    slot_of(copy) = {copy, std::move(pointer), kUses};
  }

 private:
  struct Entry {
    ProgramCopy copy;
    Pointer known;
    int uses_left = 0;
  };

  static bool same(const ProgramCopy& a, const ProgramCopy& b) {
    return a.destination == b.destination && a.source == b.source && a.bytes == b.bytes &&
           a.stream == b.stream && a.blocking == b.blocking;
  }
  // Addresses of one program differ in few bits: 2^64 / φ, whose multiples are well spread.
  Entry& slot_of(const ProgramCopy& copy) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
    const std::uint64_t mixed = (copy.destination.value * 31 + copy.source.value) * 31 +
                                copy.bytes.value + reinterpret_cast<std::uintptr_t>(copy.stream);
    return entries_[(mixed * kSpread) >> 58];
  }

  std::mutex mutex_;
  std::array<Entry, 64> entries_;  ///< a newer one takes an older one's place
};

}  // namespace polypath::preload
