#pragma once
// The virtual CPU threads that call the simulated driver, and what calls cost them. Each has one
// real thread per node of the machine, with a clock of its own.

#include <cstddef>
#include <vector>

#include "core/units.h"
#include "machine/machine.h"

namespace polypath::sim {

class HostClocks {
 public:
  /// The machine must outlive it.
  explicit HostClocks(const Machine& machine);

  /// The machine's, or with what threads hold each other up.
  [[nodiscard]] const CallCosts& costs() const { return costs_; }
  /// From now on several virtual threads call at the same time, or no longer.
  void hold_up(bool several);

  /// Later calls are made by the thread of the GPU's node.
  void issue_at(PlaceId gpu) {
    node_ = gpu.valid() ? static_cast<std::size_t>(machine_.place(gpu).node) : 0;
  }
  /// The calling thread is busy for so long.
  void spend(Seconds cost) { clocks_[thread_][node_] += cost; }
  /// The threads of all nodes are.
  void spend_at_all_nodes(Seconds cost);
  /// The calling thread's time.
  [[nodiscard]] Seconds time() const { return clocks_[thread_][node_]; }
  /// That of the node's thread that is ahead.
  [[nodiscard]] Seconds latest() const;
  /// The threads of all nodes are where the last one is. Returns the time there.
  Seconds meet_nodes();
  /// The same, but no earlier than `time`.
  void meet_nodes_at(Seconds time);

  /// Calls are made by this virtual thread from now on. A new one starts where the last one is.
  void use_thread(std::size_t thread);
  [[nodiscard]] std::size_t thread() const { return thread_; }
  /// The clocks of all virtual threads go on from the latest.
  void align();

 private:
  using NodeClocks = std::vector<Seconds>;

  const Machine& machine_;
  CallCosts costs_;
  std::vector<NodeClocks> clocks_;  ///< by virtual thread
  std::size_t thread_ = 0;
  std::size_t node_ = 0;  ///< whose thread calls
};

}  // namespace polypath::sim
