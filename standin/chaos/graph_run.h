#pragma once
// One launch of a graph: its nodes in any order that its edges allow, in turns.

#include <vector>

#include "standin/chaos/copying.h"

namespace polypath::standin::chaos {

class GraphRun final : public Job {
 public:
  /// A job after others of the graph, by their indices.
  struct Node {
    std::unique_ptr<Job> job;
    std::vector<int> after;
    std::uint64_t priority = 0;
  };
  explicit GraphRun(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  JobState step(Chance& chance) override;

 private:
  [[nodiscard]] bool can_go_on(const Node& node) const;
  Node& pick(Chance& chance);

  std::vector<Node> nodes_;       ///< those that are done have no job
  std::uint64_t picks_left_ = 0;  ///< until priorities are drawn anew
};

}  // namespace polypath::standin::chaos
