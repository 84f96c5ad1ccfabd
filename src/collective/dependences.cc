#include "collective/dependences.h"

#include <algorithm>
#include <functional>

namespace polypath {
namespace {

int at(const std::vector<int>& numbers, int index) {
  const auto i = static_cast<std::size_t>(index);
  return i < numbers.size() ? numbers[i] : -1;
}

void raise(std::vector<int>& numbers, int index, int to) {
  const auto i = static_cast<std::size_t>(index);
  if (i >= numbers.size()) numbers.resize(i + 1, -1);
  numbers[i] = std::max(numbers[i], to);
}

}  // namespace

std::vector<int> Dependences::conflicts(std::span<const MemoryUse> uses) const {
  std::vector<int> found;
  for (const MemoryUse& use : uses) {
    const auto buffer = static_cast<std::size_t>(use.slice.buffer);
    if (buffer >= accesses_.size()) continue;
    const Bytes begin = use.slice.offset, end = begin + use.bytes;
    for (const Access& earlier : accesses_[buffer])
      if ((use.writes || earlier.writes) && earlier.begin < end && begin < earlier.end)
        found.push_back(earlier.node);
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// Whoever comes after a node that writes comes after everything that this node came after.
void Dependences::note(int node, const MemoryUse& use) {
  const auto buffer = static_cast<std::size_t>(use.slice.buffer);
  if (buffer >= accesses_.size()) accesses_.resize(buffer + 1);
  const Bytes begin = use.slice.offset, end = begin + use.bytes;
  if (use.writes)
    std::erase_if(accesses_[buffer], [&](const Access& earlier) {
      return begin <= earlier.begin && earlier.end <= end && earlier.node != node;
    });
  accesses_[buffer].push_back({begin, end, node, use.writes});
}

void Dependences::name(int node, std::vector<int>& known, std::vector<int>& named) const {
  const int queue = queues_[static_cast<std::size_t>(node)];
  if (at(known, queue) >= node) return;
  named.push_back(node);
  const auto& of_node = known_[static_cast<std::size_t>(node)];
  for (std::size_t other = 0; other < of_node.size(); ++other)
    raise(known, static_cast<int>(other), of_node[other]);
  raise(known, queue, node);
}

// The latest first: an earlier node never comes after a later one.
std::vector<int> Dependences::add(int queue, std::span<const MemoryUse> uses) {
  const int node = static_cast<int>(queues_.size());
  std::vector<int> known, named;
  if (const int before = at(last_, queue); before >= 0) {
    known = known_[static_cast<std::size_t>(before)];
    raise(known, queue, before);
  }
  for (const int earlier : conflicts(uses)) name(earlier, known, named);
  for (const MemoryUse& use : uses) note(node, use);
  queues_.push_back(queue);
  known_.push_back(std::move(known));
  raise(last_, queue, node);
  return named;
}

}  // namespace polypath
