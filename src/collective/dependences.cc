#include "collective/dependences.h"

#include <algorithm>
#include <functional>
#include <iterator>

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
    const Accesses& accesses = accesses_[buffer];
    for (auto at = accesses.from(begin); at != accesses.all.end() && at->first < end; ++at)
      if ((use.writes || at->second.writes) && begin < at->second.end)
        found.push_back(at->second.node);
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// Whoever comes after a node that writes comes after everything that this node came after.
void Dependences::note(int node, const MemoryUse& use) {
  const auto buffer = static_cast<std::size_t>(use.slice.buffer);
  if (buffer >= accesses_.size()) accesses_.resize(buffer + 1);
  const Bytes begin = use.slice.offset, end = begin + use.bytes;
  Accesses& accesses = accesses_[buffer];
  if (use.writes)
    for (auto at = accesses.all.lower_bound(begin); at != accesses.all.end() && at->first < end;) {
      const bool replaced = at->second.end <= end && at->second.node != node;
      at = replaced ? accesses.all.erase(at) : std::next(at);
    }
  accesses.all.insert({begin, {end, node, use.writes}});
  accesses.longest = std::max(accesses.longest, use.bytes);
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
