#pragma once
// Outcomes of a program's copies, and how often each occurs.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "core/units.h"

// X(outcome, text in the table)
#define POLYPATH_OUTCOMES(X)                                                        \
  X(streams, "over several paths, by streams")                                      \
  X(graphs, "over several paths, by a graph")                                       \
  X(windows, "through pinned windows")                                              \
  X(compared, "one native copy, timed to be compared")                              \
  X(small, "smaller than POLYPATH_MIN_MESSAGE")                                     \
  X(native, "one native copy is best")                                              \
  X(same_memory, "within one memory, or between host memories")                     \
  X(pageable, "pageable memory, too small for windows")                             \
  X(few_cpus, "pageable memory, too few CPUs for windows")                          \
  X(managed, "managed memory")                                                      \
  X(own_access, "memory of a pool or of virtual addresses, closed to this copy")    \
  X(own_registration, "host memory registered for some uses only")                  \
  X(owner_unknown, "memory of a process that does not run under Polypath")          \
  X(owner_hidden, "memory of another process on a GPU that this one does not see")  \
  X(unmappable, "memory of another process that could not be mapped a second time") \
  X(unknown_memory, "memory that the driver does not know")                         \
  X(capturing, "stream being captured")                                             \
  X(other_context, "stream of a context that is not its GPU's primary one")         \
  X(form, "a form of copy that is left alone (batch, blocking peer copy)")          \
  X(nested, "made while another one was being planned")                             \
  X(preparing, "while Polypath was preparing")                                      \
  X(pending, "behind work that may wait for the program")                           \
  X(in_use, "beside copies that wait in other streams")                             \
  X(queue_full, "behind as much as a stream takes")                                 \
  X(reads_peer, "read by the GPU that gets it")                                     \
  X(off, "Polypath is off in this process")                                         \
  X(unsettled, "left unfinished, with an error")                                    \
  X(failed, "several paths failed")

namespace polypath::preload {

enum class Outcome {
#define POLYPATH_NAME(outcome, text) outcome,
  POLYPATH_OUTCOMES(POLYPATH_NAME)
#undef POLYPATH_NAME
};

/// How many outcomes there are, and how many of them, the first ones, mean several paths.
constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::failed) + 1;
constexpr std::size_t kAccelerated = static_cast<std::size_t>(Outcome::windows) + 1;

/// The copy has been made; the program's own call is not needed any more.
constexpr bool is_made(Outcome outcome) { return outcome <= Outcome::compared; }

/// The outcome of a copy, and its cost where it is known (CopyResult::missed).
struct Fate {
  Fate(Outcome became, Seconds lost = {})  // NOLINT(google-explicit-constructor)
      : outcome(became), missed(lost) {}

  Outcome outcome;
  Seconds missed;
};

/// Copies that the report's coverage is of.
inline constexpr Bytes kLarge = 2_MiB;

/// The words of the table.
const char* text_of(Outcome outcome);

/// Counts. Safe from any thread; a count costs a few nanoseconds.
class Tally {
 public:
  struct Count {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> large_bytes{0};  ///< of copies of kLarge or more
    std::atomic<std::uint64_t> missed{0};       ///< nanoseconds
  };
  using Counts = std::array<Count, kOutcomes>;

  Tally() = default;
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  /// From here on counts in memory of another process, starting from the counts there; null: in its
  /// own.
  void count_in(Counts* counts) { counts_.store(counts == nullptr ? &own_ : counts); }
  void count(const Fate& fate, Bytes bytes) {
    Count& entry =
        (*counts_.load(std::memory_order_relaxed))[static_cast<std::size_t>(fate.outcome)];
    entry.calls.fetch_add(1, std::memory_order_relaxed);
    entry.bytes.fetch_add(bytes.value, std::memory_order_relaxed);
    if (bytes >= kLarge) entry.large_bytes.fetch_add(bytes.value, std::memory_order_relaxed);
    if (fate.missed.value > 0)
      entry.missed.fetch_add(static_cast<std::uint64_t>(fate.missed.value * 1e9),
                             std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t calls(Outcome outcome) const { return count_of(outcome).calls; }
  [[nodiscard]] Bytes bytes(Outcome outcome) const { return {count_of(outcome).bytes}; }
  [[nodiscard]] Bytes large_bytes(Outcome outcome) const { return {count_of(outcome).large_bytes}; }
  [[nodiscard]] Seconds missed(Outcome outcome) const {
    return Seconds{static_cast<double>(count_of(outcome).missed) * 1e-9};
  }
  /// Everything from zero again: for a forked child.
  void clear();
  /// A short table of what happened at all, its lines starting with "polypath: "; `why_off` is said
  /// beside the copies that were made while Polypath was off, `rank` beside the process.
  [[nodiscard]] std::string table(int process, const std::string& why_off,
                                  const std::string& rank = {}) const;

 private:
  [[nodiscard]] const Count& count_of(Outcome outcome) const {
    return (*counts_.load())[static_cast<std::size_t>(outcome)];
  }

  Counts own_;
  std::atomic<Counts*> counts_{&own_};
};

}  // namespace polypath::preload
