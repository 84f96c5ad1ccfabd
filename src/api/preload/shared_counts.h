#pragma once
// Counts that `polypath run --report` reads from a process that does not report at its end: it was
// killed, it left by _exit as forked children do, or it is still running. They lie in memory of
// `polypath run` (_POLYPATH_COUNTS=/proc/PROCESS/fd/FILE:TOKEN), which cannot be shortened and is
// gone with it; python/polypath/cli/run_counts.py makes it and reads it.
//
// A table of owners (process numbers; 0 is free) says whose each entry is. A process takes one when
// the library is loaded, a forked child another one, and gives it back once it has reported.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/preload/outcome.h"

namespace polypath::preload {

/// The beginning of the memory. Every process writes the same but for the owners.
struct alignas(8) CountsTable {
  static constexpr std::size_t kEntries = 4096, kText = 96;

  char token[32];  ///< by `polypath run`: the memory is its own
  std::uint32_t outcomes, accelerated, entries, entry_bytes;
  char texts[kOutcomes][kText];
  std::atomic<std::int32_t> owners[kEntries];
};

/// One process. Entries follow the table.
struct CountsEntry {
  char program[64], rank[64], why_off[128];
  std::atomic<std::uint64_t> driver_open;
  Tally::Counts counts;
};

class SharedCounts {
 public:
  SharedCounts(const SharedCounts&) = delete;
  SharedCounts& operator=(const SharedCounts&) = delete;

  static SharedCounts& of_process();

  /// `polypath run` has asked for them.
  [[nodiscard]] static bool are_wanted() noexcept;
  /// Looks for the memory, once, and takes an entry; does nothing where there is none.
  void attach() noexcept;
  /// In a forked child: takes another entry, by nothing but memory accesses.
  void take_for_child() noexcept;
  /// This process's counts, or null.
  [[nodiscard]] Tally::Counts* counts() { return entry_ == nullptr ? nullptr : &entry_->counts; }
  [[nodiscard]] bool is_attached() const { return table_ != nullptr; }
  void note_driver() noexcept;
  void note_off(const char* why) noexcept;
  /// The process has reported by itself.
  void give_back() noexcept;

 private:
  SharedCounts() = default;
  void take(const char* program, const char* rank, bool driver_open) noexcept;

  std::atomic<bool> looked_{false};
  CountsTable* table_ = nullptr;
  CountsEntry* entry_ = nullptr;
};

}  // namespace polypath::preload
