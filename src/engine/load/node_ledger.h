#pragma once
// The load of the transfers of all processes of one user on one node: a table in shared memory,
// with a slot per process (ledger_table.h).
//
// Nothing has to be given back: an entry is over at its predicted end, and the slot of a process
// that has been killed counts for nothing and goes to the next one that needs it.
//
// Processes may see different GPUs under different numbers. Places and resources are therefore told
// apart by hashes of node-wide names: "0000:1b:00.0.egress" where this process says "gpu0.egress".
//
// Times are seconds on the node's monotonic clock, or on another one that all processes share, as
// simulated ones do.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/load/ledger_table.h"
#include "machine/machine.h"
#include "plan/single/planner.h"

namespace polypath::engine {

class NodeLedger {
 public:
  static constexpr std::size_t kMostProcesses = LedgerTable::kMostProcesses;
  static constexpr std::size_t kMostEntries = LedgerTable::kMostEntries;

  using Clock = std::function<double()>;

  /// Opens or makes the table in `folder`. `place_names`: the node-wide name of each place of the
  /// machine. See `problem`.
  NodeLedger(const std::string& folder, const Machine& machine,
             const std::vector<std::string>& place_names, Clock clock = now);

  /// Why it cannot be used, in words; empty if it can. Then nothing is published or seen.
  [[nodiscard]] const std::string& problem() const { return table_.problem(); }
  static double now();
  /// By its own clock.
  [[nodiscard]] double time() const { return clock_(); }

  /// The entry of a transfer that takes `load`; its times are the caller's to set.
  [[nodiscard]] LedgerEntry entry(PlaceId source, PlaceId destination, Bytes bytes,
                                  const Load& load) const;
  /// Publishes the transfers that this process has in flight, in place of its earlier entries; the
  /// latest ones if there are more than fit.
  void publish(const std::vector<LedgerEntry>& entries) { table_.publish(entries, time()); }
  /// The entries of all other processes that still run, where not all of one are over.
  [[nodiscard]] std::vector<LedgerEntry> others() const { return others(time()); }
  [[nodiscard]] std::vector<LedgerEntry> others(double at) const { return others(at, at); }
  /// The same, where not all of one were over at `since`.
  [[nodiscard]] std::vector<LedgerEntry> others(double at, double since) const {
    return table_.others(at, since);
  }
  /// Adds what an entry takes of this machine's resources.
  void add(const LedgerEntry& entry, Load& load) const;
  [[nodiscard]] std::uint64_t key_of(PlaceId place) const { return place_keys_[place.index()]; }
  /// Nothing for one that this process does not see.
  [[nodiscard]] std::optional<PlaceId> place_of(std::uint64_t key) const;
  /// Stands for the places in their order: a process that sees others, or in another order, plans
  /// otherwise.
  [[nodiscard]] std::uint64_t view() const { return view_; }

 private:
  LedgerTable table_;
  Clock clock_;
  std::vector<std::uint64_t> place_keys_;
  std::vector<std::uint64_t> resource_keys_;
  std::uint64_t view_ = 0;
};

/// The node's ledger for a machine whose GPUs are this computer's visible ones; null, and a line in
/// the log, if it cannot be had.
std::unique_ptr<NodeLedger> open_node_ledger(const Machine& machine,
                                             const std::string& folder = {});

}  // namespace polypath::engine
