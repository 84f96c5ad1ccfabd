#include "collective/program/dependences.h"

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

using Segments = std::map<Bytes, Dependences::Segment>;

// The first segment that ends after a place.
Segments::const_iterator first_after(const Segments& segments, Bytes place) {
  const auto next = segments.upper_bound(place);
  if (next == segments.begin()) return next;
  const auto before = std::prev(next);
  return before->second.end > place ? before : next;
}

// Makes two of the segment that a place is inside of.
void cut(Segments& segments, Bytes place) {
  const auto next = segments.upper_bound(place);
  if (next == segments.begin()) return;
  const auto before = std::prev(next);
  if (before->first == place || before->second.end <= place) return;
  Dependences::Segment rest = before->second;
  before->second.end = place;
  segments.insert(next, {place, std::move(rest)});
}

}  // namespace

std::vector<int> Dependences::conflicts(std::span<const MemoryUse> uses) const {
  std::vector<int> found;
  for (const MemoryUse& use : uses) {
    const auto buffer = static_cast<std::size_t>(use.slice.buffer);
    if (buffer >= segments_.size()) continue;
    const Segments& segments = segments_[buffer];
    const Bytes begin = use.slice.offset, end = begin + use.bytes;
    for (auto at = first_after(segments, begin); at != segments.end() && at->first < end; ++at) {
      const auto& [_, writer, readers] = at->second;
      if (writer >= 0) found.push_back(writer);
      if (use.writes) found.insert(found.end(), readers.begin(), readers.end());
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// A node that comes after a writer comes after everything that the writer came after.
void Dependences::note(int node, const MemoryUse& use) {
  if (use.bytes.value == 0) return;
  const auto buffer = static_cast<std::size_t>(use.slice.buffer);
  if (buffer >= segments_.size()) segments_.resize(buffer + 1);
  Segments& segments = segments_[buffer];
  const Bytes begin = use.slice.offset, end = begin + use.bytes;
  cut(segments, begin), cut(segments, end);
  auto at = segments.lower_bound(begin);
  if (use.writes) {
    segments.erase(at, segments.lower_bound(end));
    segments.insert({begin, {.end = end, .writer = node}});
    return;
  }
  for (Bytes done = begin; done < end; done = at->second.end, ++at) {
    const bool is_gap = at == segments.end() || at->first > done;
    const Bytes gap_end = at == segments.end() ? end : std::min(end, at->first);
    if (is_gap) at = segments.insert(at, {done, {.end = gap_end}});
    note_reader(node, at->second);
  }
}

void Dependences::note_reader(int node, Segment& segment) const {
  const auto queue_of = [&](int each) { return queues_[static_cast<std::size_t>(each)]; };
  std::erase_if(segment.readers, [&](int reader) { return queue_of(reader) == queue_of(node); });
  segment.readers.push_back(node);
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
  queues_.push_back(queue);
  for (const MemoryUse& use : uses) note(node, use);
  known_.push_back(std::move(known));
  raise(last_, queue, node);
  return named;
}

}  // namespace polypath
