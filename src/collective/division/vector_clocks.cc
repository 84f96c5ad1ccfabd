#include "collective/division/vector_clocks.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace polypath::collective {

void VectorClock::join(const VectorClock& other) {
  for (std::size_t i = 0; i < other.last_.size(); ++i)
    last_[i] = std::max(last_[i], other.last_[i]);
}

bool VectorClock::covers(const VectorClock& other) const {
  return std::equal(last_.begin(), last_.end(), other.last_.begin(), std::greater_equal<>());
}

void VectorClock::add(int queue, int node) {
  int& last = last_[index_of(queue)];
  last = std::max(last, node);
}

VectorClock VectorClocks::after(int node) const {
  VectorClock clock = before_[index_of(node)];
  clock.add(program_.node(node).queue, node);
  return clock;
}

VectorClock VectorClocks::after_last_of(int queue) const {
  const int last = last_of(queue);
  return last >= 0 ? after(last) : nothing();
}

void VectorClocks::add(int node, VectorClock before) {
  before_.push_back(std::move(before));
  last_[index_of(program_.node(node).queue)] = node;
}

}  // namespace polypath::collective
