#pragma once
// One launch of a graph: its copies in any order that its edges allow, in turns.

#include <vector>

#include "standin/chaos/copying.h"

namespace polypath::standin::chaos {

class GraphRun final : public Job {
 public:
  /// A copy after others of the graph, by their indices.
  struct Node {
    std::unique_ptr<CopyJob> copy;
    std::vector<int> after;
  };
  explicit GraphRun(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  Progress step(Chance& chance) override;

 private:
  [[nodiscard]] bool can_go_on(const Node& node) const;

  std::vector<Node> nodes_;  ///< those that are done have no copy
};

}  // namespace polypath::standin::chaos
