#include "collective/program/dependences.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace polypath::collective {
namespace {

// Rows are made this much wider at a time, because all of them move.
constexpr std::size_t kWider = 16;

// Of two rows, whose width is a multiple of that, the later nodes, in the first.
void take_later(int* __restrict row, const int* __restrict other, std::size_t width) {
  for (std::size_t block = 0; block < width; block += kWider)
    for (std::size_t i = block; i < block + kWider; ++i) row[i] = std::max(row[i], other[i]);
}

using Segments = std::pmr::map<Bytes, Dependences::Segment>;

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
  auto& [end, writer, readers] = before->second;
  segments.emplace_hint(next, place,
                        Dependences::Segment{end, writer, {readers, readers.get_allocator()}});
  end = place;
}

}  // namespace

// The latest first: an earlier node never comes after a later one.
void Dependences::find_conflicts(std::span<const MemoryUse> uses) {
  conflicts_.clear();
  for (const MemoryUse& use : uses) {
    const auto buffer = static_cast<std::size_t>(use.slice.buffer);
    if (buffer >= segments_.size()) continue;
    const Segments& segments = segments_[buffer];
    const Bytes begin = use.slice.offset, end = begin + use.bytes;
    for (auto at = first_after(segments, begin); at != segments.end() && at->first < end; ++at) {
      const auto& [_, writer, readers] = at->second;
      if (writer >= 0) conflicts_.push_back(writer);
      if (use.writes) conflicts_.insert(conflicts_.end(), readers.begin(), readers.end());
    }
  }
  std::sort(conflicts_.begin(), conflicts_.end(), std::greater<>());
}

// A node that comes after a writer comes after everything that the writer came after.
void Dependences::note(int node, const MemoryUse& use) {
  if (use.bytes.value == 0) return;
  const auto buffer = static_cast<std::size_t>(use.slice.buffer);
  while (buffer >= segments_.size()) segments_.emplace_back(&memory_);
  Segments& segments = segments_[buffer];
  const Bytes begin = use.slice.offset, end = begin + use.bytes;
  if (const auto same = segments.find(begin); same != segments.end() && same->second.end == end) {
    if (!use.writes) return note_reader(node, same->second);
    same->second.writer = node, same->second.readers.clear();
    return;
  }
  cut(segments, begin), cut(segments, end);
  auto at = segments.lower_bound(begin);
  if (use.writes) {
    segments.erase(at, segments.lower_bound(end));
    segments.emplace(begin, Segment{end, node, Readers(&memory_)});
    return;
  }
  for (Bytes done = begin; done < end; done = at->second.end, ++at) {
    const bool is_gap = at == segments.end() || at->first > done;
    const Bytes gap_end = at == segments.end() ? end : std::min(end, at->first);
    if (is_gap) at = segments.emplace_hint(at, done, Segment{gap_end, -1, Readers(&memory_)});
    note_reader(node, at->second);
  }
}

void Dependences::note_reader(int node, Segment& segment) const {
  const auto queue_of = [&](int each) { return queues_[static_cast<std::size_t>(each)]; };
  std::erase_if(segment.readers, [&](int reader) { return queue_of(reader) == queue_of(node); });
  segment.readers.push_back(node);
}

// `node` comes after `earlier`, and after all that it comes after.
void Dependences::name(int earlier, int node) {
  const int queue = queues_[static_cast<std::size_t>(earlier)];
  if (known(node, queue) >= earlier) return;
  named_.push_back(earlier);
  take_later(&known(node, 0), &known(earlier, 0), stride_);
  known(node, queue) = earlier;
}

void Dependences::widen(std::size_t queues) {
  last_.resize(std::max(last_.size(), queues), -1);
  if (queues <= stride_) return;
  const std::size_t wider = (queues / kWider + 1) * kWider;
  std::vector<int> known(wider * queues_.size(), -1);
  for (std::size_t node = 0; node < queues_.size(); ++node)
    std::copy_n(known_.begin() + static_cast<std::ptrdiff_t>(stride_ * node), stride_,
                known.begin() + static_cast<std::ptrdiff_t>(wider * node));
  known_ = std::move(known), stride_ = wider;
}

// It comes after the one before it in its queue.
void Dependences::begin(int node, int queue) {
  widen(static_cast<std::size_t>(queue) + 1);
  queues_.push_back(queue);
  int& before = last_[static_cast<std::size_t>(queue)];
  known_.resize(known_.size() + stride_);
  if (before < 0) {
    std::fill_n(&known(node, 0), stride_, -1);
  } else {
    std::copy_n(&known(before, 0), stride_, &known(node, 0));
    known(node, queue) = before;
  }
  before = node;
}

std::vector<int>& Dependences::add(int queue, std::span<const MemoryUse> uses) {
  const int node = static_cast<int>(queues_.size());
  begin(node, queue);
  named_.clear();
  find_conflicts(uses);
  for (const int earlier : conflicts_) name(earlier, node);
  for (const MemoryUse& use : uses) note(node, use);
  return named_;
}

}  // namespace polypath::collective
