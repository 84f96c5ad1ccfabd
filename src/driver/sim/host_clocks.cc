#include "driver/sim/host_clocks.h"

#include <algorithm>

namespace polypath::sim {

HostClocks::HostClocks(const Machine& machine) : machine_(machine), costs_(machine.costs) {
  clocks_.emplace_back(static_cast<std::size_t>(machine.nodes()));
}

void HostClocks::hold_up(bool several) {
  costs_ = several ? held_up(machine_.costs) : machine_.costs;
}

void HostClocks::spend_at_all_nodes(Seconds cost) {
  for (Seconds& clock : clocks_[thread_]) clock += cost;
}

Seconds HostClocks::latest() const {
  return *std::max_element(clocks_[thread_].begin(), clocks_[thread_].end());
}

Seconds HostClocks::meet_nodes() {
  const Seconds met = latest();
  std::fill(clocks_[thread_].begin(), clocks_[thread_].end(), met);
  return met;
}

void HostClocks::meet_nodes_at(Seconds time) {
  const Seconds met = std::max(latest(), time);
  std::fill(clocks_[thread_].begin(), clocks_[thread_].end(), met);
}

void HostClocks::use_thread(std::size_t thread) {
  const NodeClocks now = clocks_[thread_];
  if (clocks_.size() <= thread) clocks_.resize(thread + 1, now);
  thread_ = thread;
}

void HostClocks::align() {
  Seconds latest;
  for (const NodeClocks& clocks : clocks_)
    latest = std::max(latest, *std::max_element(clocks.begin(), clocks.end()));
  for (NodeClocks& clocks : clocks_) std::fill(clocks.begin(), clocks.end(), latest);
}

}  // namespace polypath::sim
