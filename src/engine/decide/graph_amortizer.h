#pragma once
// Whether a plan is made a graph.
//
// A graph is made once, for a cost C, and then each transfer is faster by Δ than the best that
// needs none. The number of repetitions is not known in advance. So transfers go without a graph
// until they could have gained C by it. From then on the program has lost no more than C in any
// case, and no more than half of what it could have had (the rent-or-buy rule of online algorithms:
// Karlin et al., Algorithmica 3, 1988). Each lane makes graphs of its own, so each stream counts.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/units.h"
#include "driver/driver.h"
#include "machine/machine.h"
#include "plan/lru_cache.h"
#include "plan/plan.h"

namespace polypath::engine {

/// The cost of making the graph of a plan.
inline Seconds cost_of_graph(const CallCosts& costs, const Plan& plan) {
  return costs.graph_instantiate +
         costs.graph_instantiate_node * static_cast<double>(plan.program.nodes().size());
}

/// The uses so far, on one stream, of a plan that would be faster as a graph.
struct GraphWish {
  int uses = 0;
  Seconds missed;

  /// One more use of `graph` as `meanwhile`, the best plan without one.
  void count(const Plan& graph, const Plan& meanwhile) {
    ++uses;
    if (meanwhile.predicted > graph.predicted) missed += meanwhile.predicted - graph.predicted;
  }
};

/// Not thread-safe.
class GraphAmortizer {
 public:
  /// `after` uses, whatever a graph costs; none: once it would have paid.
  GraphAmortizer(const CallCosts& costs, std::optional<int> after, std::size_t most)
      : costs_(costs), after_(after), wishes_(most) {}

  /// The wish for `graph`, the plan, on a stream. Valid until the next call. Plans of one structure
  /// share graphs, and so a wish; two structures of one hash would at worst have a graph early.
  GraphWish& of(const Plan& graph, StreamHandle stream) {
    const Key key{stream, std::hash<std::string>{}(graph.structure)};
    GraphWish* wish = wishes_.find(key);
    if (wish == nullptr) wish = &wishes_.insert(key, {});
    return *wish;
  }

  /// True once `graph` is to be one.
  bool is_due(const GraphWish& wish, const Plan& graph) const {
    return after_ ? wish.uses >= *after_ : wish.missed >= cost_of_graph(costs_, graph);
  }

 private:
  using Key = std::pair<StreamHandle, std::size_t>;

  CallCosts costs_;
  std::optional<int> after_;
  LruCache<Key, GraphWish> wishes_;
};

}  // namespace polypath::engine
