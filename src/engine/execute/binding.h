#pragma once
// The streams, rings and addresses that a program's numbers stand for in one transfer.

#include <vector>

#include "engine/execute/hops.h"
#include "engine/execute/transfer.h"

namespace polypath::engine {

class Binding {
 public:
  /// Looks everything up once and creates the missing parts. Errors as of Hops.
  Binding(Hops& hops, const Transfer& transfer);

  [[nodiscard]] const Program& program() const { return *transfer_->program; }
  [[nodiscard]] const Transfer& transfer() const { return *transfer_; }
  /// The caller's stream for queue 0.
  [[nodiscard]] StreamHandle stream(int queue) const;
  /// Of any other queue.
  [[nodiscard]] QueueStream& queue(int queue) const {
    return *queues_[static_cast<std::size_t>(queue) - 1];
  }
  /// By number in Program::rings.
  [[nodiscard]] StagingRing& ring(std::size_t number) const { return *rings_[number]; }
  [[nodiscard]] StagingRing& ring(const Ring& ring) const {
    return this->ring(static_cast<std::size_t>(&ring - program().rings().data()));
  }
  /// The driver request of a node. Error (internal) if it reaches beyond its slot.
  [[nodiscard]] CopyRequest request_of(const Node& node) const;
  /// The same for a kernel; error (internal) too if it was not brought.
  [[nodiscard]] KernelRequest kernel_of(const Node& node) const;
  /// The same of a signal or await.
  [[nodiscard]] FlagRequest flag_of(const Node& node) const;
  /// The same as a node of a graph, after those of its queue and the others that it names.
  [[nodiscard]] GraphNode graph_node_of(const Node& node, std::vector<int> after) const;

 private:
  [[nodiscard]] Address address_of(const Slice& slice, Bytes bytes) const;

  const Transfer* transfer_;
  std::vector<QueueStream*> queues_;  // from queue 1 on
  std::vector<StagingRing*> rings_;
};

}  // namespace polypath::engine
