#pragma once
// The table behind the ledger: a slot for each process, and before them one line that says until
// when each of them counts, so that a look at that line suffices where no process is at work.
//
// The table must neither stop nor kill any process, also when other processes end, files are
// removed and descriptors of this process are closed:
//
// - The slots are in a shared segment (shared_segment.h), which no process can truncate.
// - A lock on a byte of a file marks the owner of a slot; the kernel gives it up with the process,
//   however it ends. Process numbers, which mean something else in every namespace, are not needed.
//   The lock hangs on a mapping that is never touched: not on a descriptor, which the program may
//   close, and which forked children would go on holding.
// - A slot has a version, odd while it is written (a sequence lock). A process that reads meanwhile
//   reads again, a few times; it does not wait for a writer that was stopped in the middle.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/load/shared_segment.h"

namespace polypath::engine {

/// A transfer in flight, as other processes see it.
struct LedgerEntry {
  static constexpr std::size_t kMostUses = 24;
  struct Use {
    std::uint64_t resource = 0;  ///< hash of its node-wide name
    double rate = 0;             ///< bytes per second taken of it
  };

  std::uint64_t source = 0;       ///< hash of the place's node-wide name
  std::uint64_t destination = 0;  ///< likewise
  std::uint64_t bytes = 0;
  double duration = 0;    ///< by itself
  double start = 0;       ///< of it and those before it that went the same way without a gap
  double end = 0;         ///< entries stay for a while after that
  std::uint64_t set = 0;  ///< stands for all that recurs with it (LoadTracker); zero: unknown
  double back_until = 0;  ///< see LoadTracker; zero if it met none the other way
  std::uint64_t uses = 0;
  std::array<Use, kMostUses> use{};
};

class LedgerTable {
 public:
  static constexpr std::size_t kMostProcesses = 64;
  static constexpr std::size_t kMostEntries = 8;  ///< of a process
  /// Seconds for which a process that has published counts as alive without a look whether it is:
  /// a look takes 1.4 us.
  static constexpr double kBelieved = 0.02;

  /// Opens or makes the file and takes a slot. See `problem`.
  explicit LedgerTable(const std::string& folder);
  LedgerTable(const LedgerTable&) = delete;
  LedgerTable& operator=(const LedgerTable&) = delete;
  ~LedgerTable();

  /// Why it cannot be used, in words; empty if it can. Then nothing is written or seen.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Publishes the transfers that this process has in flight at `now`, in place of its earlier
  /// entries; the last ones if there are more than fit.
  void publish(const std::vector<LedgerEntry>& entries, double now);
  /// The entries of all other processes that still run, if one of a process's was not over at
  /// `since`.
  [[nodiscard]] std::vector<LedgerEntry> others(double now, double since) const;

 private:
  struct Slot;
  struct Layout;
  using Entries = std::vector<LedgerEntry>;

  /// Of a file, whatever its name.
  struct Identity {
    std::uint64_t device = 0, number = 0;
    bool operator==(const Identity&) const = default;
  };

  [[nodiscard]] std::string open(const std::string& folder);
  [[nodiscard]] std::string take_slot(int file);
  [[nodiscard]] std::string keep(int file);
  [[nodiscard]] bool is_usable() const;
  void write(const LedgerEntry* entries, std::size_t count, double until, double now);
  [[nodiscard]] std::optional<Entries> read(std::size_t slot, double now) const;
  [[nodiscard]] bool has_owner(std::size_t slot) const;

  std::string problem_;
  std::string path_;
  Identity file_;
  SharedSegment segment_;
  Layout* layout_ = nullptr;
  void* lock_ = nullptr;  ///< the mapping that keeps it; not to be touched
  std::size_t own_ = 0;   ///< slot
  int generation_;        ///< of the process that took it
};

}  // namespace polypath::engine
