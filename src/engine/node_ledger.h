#pragma once
// What the transfers of all processes of one user on one node take: a table in shared memory, with
// a slot per process.
//
// Each process writes its own slot only and reads the others'. A slot has a version that is odd
// while it is written, so that a reader never sees half of it. Nothing has to be given back: an
// entry is over at its predicted end, and the slot of a process that has been killed counts for
// nothing and goes to the next one that needs it.
//
// Processes may see different GPUs under different numbers. Places and resources are therefore told
// apart by hashes of node-wide names: "0000:1b:00.0.egress" where this process says "gpu0.egress".
//
// Times are seconds on the node's monotonic clock.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/process_identity.h"
#include "machine/machine.h"
#include "plan/planner.h"

namespace polypath {

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
  double duration = 0;  ///< by itself
  double end = 0;
  double back_until = 0;  ///< see LoadTracker; zero if it met none the other way
  std::uint64_t uses = 0;
  std::array<Use, kMostUses> use{};
};

class NodeLedger {
 public:
  static constexpr std::size_t kMostProcesses = 64;
  static constexpr std::size_t kMostEntries = 8;

  /// Opens or makes the table in `folder`. `place_names`: the node-wide name of each place of the
  /// machine. See `problem`.
  NodeLedger(const std::string& folder, const Machine& machine,
             const std::vector<std::string>& place_names);
  NodeLedger(const NodeLedger&) = delete;
  NodeLedger& operator=(const NodeLedger&) = delete;
  ~NodeLedger();

  /// Why it cannot be used, in words; empty if it can. Then nothing is published or seen.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  static double now();

  /// The entry of a transfer that takes `load`; its times are the caller's to set.
  [[nodiscard]] LedgerEntry entry(PlaceId source, PlaceId destination, Bytes bytes,
                                  const Load& load) const;
  /// What this process has in flight, in place of what it said before; the latest ones if there are
  /// more than fit.
  void publish(const std::vector<LedgerEntry>& entries);
  /// The entries of all other processes that still run, over or not.
  [[nodiscard]] std::vector<LedgerEntry> others() const;
  /// Adds what an entry takes of this machine's resources.
  void add(const LedgerEntry& entry, Load& load) const;
  [[nodiscard]] std::uint64_t key_of(PlaceId place) const { return place_keys_[place.index()]; }

 private:
  struct Slot;
  struct Table;

  [[nodiscard]] std::string open(const std::string& folder);
  [[nodiscard]] std::string claim();
  [[nodiscard]] bool is_usable() const;
  [[nodiscard]] bool is_gone(const Slot& slot, std::int64_t owner) const;

  std::string problem_;
  Table* table_ = nullptr;
  Slot* own_ = nullptr;
  int generation_;  ///< of the process that claimed the slot
  ProcessIdentity self_;
  std::vector<std::uint64_t> place_keys_;
  std::vector<std::uint64_t> resource_keys_;
};

/// The node's ledger for a machine whose GPUs are this computer's visible ones; null, and a line in
/// the log, if it cannot be had.
std::unique_ptr<NodeLedger> open_node_ledger(const Machine& machine);

}  // namespace polypath
