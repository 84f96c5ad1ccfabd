#include "engine/call/copy_set.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/call/dependence.h"

namespace polypath::engine {
namespace {

/// Bytes that a copy reads or writes.
struct Range {
  std::uint64_t begin;
  std::uint64_t end;
  bool written;
};

/// True if the span of all reads overlaps the span of all writes.
bool reads_overlap_writes(const std::vector<Range>& ranges) {
  Range read{~std::uint64_t{0}, 0, false}, written{~std::uint64_t{0}, 0, true};
  for (const Range& range : ranges) {
    Range& all = range.written ? written : read;
    all.begin = std::min(all.begin, range.begin), all.end = std::max(all.end, range.end);
  }
  return read.begin < written.end && written.begin < read.end;
}

/// Ranges in the order of their beginnings; thousands of them often come in it.
void sort_by_begin(std::vector<Range>& ranges) {
  const auto earlier = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), earlier))
    std::sort(ranges.begin(), ranges.end(), earlier);
}

// What is read and what is written mostly lies in memories of their own; then nothing that is read
// has to be sorted. In the order of their beginnings each meets what reaches furthest of those
// before it.
bool depend_on_each_other(std::vector<Range>& ranges) {
  if (!reads_overlap_writes(ranges))
    std::erase_if(ranges, [](const Range& range) { return !range.written; });
  sort_by_begin(ranges);
  std::uint64_t read_until = 0, written_until = 0;
  for (const Range& range : ranges) {
    if (range.begin < written_until || (range.written && range.begin < read_until)) return true;
    std::uint64_t& until = range.written ? written_until : read_until;
    until = std::max(until, range.end);
  }
  return false;
}

void add_ranges(const CopyCall& call, std::vector<Range>& ranges) {
  if (call.bytes.value == 0) return;
  ranges.push_back({call.source.value, call.source.value + call.bytes.value, false});
  ranges.push_back({call.destination.value, call.destination.value + call.bytes.value, true});
}

/// The arrangement of one stream's copies.
struct StreamParts {
  std::vector<Range> ranges = {};
  bool in_order = false;  ///< its copies depend on each other
  bool begun = false;     ///< a copy of it is a transfer
};

class Arrangement {
 public:
  explicit Arrangement(std::span<const SetMember> members) : members_(members) {
    for (const SetMember& member : members)
      add_ranges(member.call, streams_[member.call.stream].ranges);
    for (auto& [stream, parts] : streams_) parts.in_order = depend_on_each_other(parts.ranges);
  }

  CopySet make() && {
    for (const SetMember& member : members_) set_.parts.push_back(part_of(member));
    return std::move(set_);
  }

 private:
  using Way = std::tuple<StreamHandle, PlaceId, PlaceId>;

  CopySet::Part part_of(const SetMember& member) {
    if (!member.plannable) return {};
    const Way way{member.call.stream, member.ends.source, member.ends.destination};
    const auto first = firsts_.find(way);
    if (first == firsts_.end()) return begin(member, way);
    if (set_.transfers[*first->second.transfer].bytes == member.call.bytes) return first->second;
    return {.transfer = std::nullopt, .branch = first->second.branch};
  }

  CopySet::Part begin(const SetMember& member, const Way& way) {
    const CopyCall& call = member.call;
    StreamParts& stream = streams_[call.stream];
    if (stream.begun && stream.in_order) return {};
    CopySet::Part part{.transfer = set_.transfers.size(), .branch = std::nullopt};
    set_.transfers.push_back({member.ends.source, member.ends.destination, call.bytes});
    if (stream.begun) {
      part.branch = set_.branches.size();
      set_.branches.push_back({call.stream, call.stream_gpu});
    }
    stream.begun = true;
    firsts_[way] = part;
    return part;
  }

  std::span<const SetMember> members_;
  std::map<StreamHandle, StreamParts> streams_;
  std::map<Way, CopySet::Part> firsts_;
  CopySet set_;
};

}  // namespace

bool depend_on_each_other(std::span<const CopyCall> calls) {
  std::vector<Range> ranges;
  ranges.reserve(2 * calls.size());
  for (const CopyCall& call : calls) add_ranges(call, ranges);
  return depend_on_each_other(ranges);
}

bool depend_on_each_other(std::span<const SetMember> members) {
  std::vector<Range> ranges;
  ranges.reserve(2 * members.size());
  for (const SetMember& member : members) add_ranges(member.call, ranges);
  return depend_on_each_other(ranges);
}

// Without a plannable copy there is nothing to arrange.
CopySet arrange(std::span<const SetMember> members) {
  const bool any = std::any_of(members.begin(), members.end(),
                               [](const SetMember& member) { return member.plannable; });
  if (!any) return {std::vector<CopySet::Part>(members.size()), {}, {}};
  return Arrangement(members).make();
}

// By a rank that never falls within a stream, and that of the n-th copy of a transfer is behind all
// the copies before the n-th of the other transfers.
std::vector<std::size_t> order_of_calls(const CopySet& set, std::span<const CopyCall> calls,
                                        const IssueOrder& transfers) {
  std::vector<std::size_t> turns(transfers.size()), ranks;
  for (std::size_t turn = 0; turn < transfers.size(); ++turn) turns[transfers[turn]] = turn;
  std::map<std::pair<std::optional<std::size_t>, StreamHandle>, std::size_t> last_ranks;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    const CopySet::Part& part = set.parts[number];
    const auto stream = part.branch ? StreamHandle{} : calls[number].stream;
    std::size_t& rank = last_ranks[{part.branch, stream}];
    if (part.transfer) {
      rank = std::max(rank, turns[*part.transfer]);
      turns[*part.transfer] += transfers.size();
    }
    ranks.push_back(rank);
  }
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  return order;
}

}  // namespace polypath::engine
