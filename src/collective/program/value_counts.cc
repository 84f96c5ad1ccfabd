#include "collective/program/value_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace polypath::collective {

// Bytes between stretches have not been written.
ValueCounts::Stretches ValueCounts::within(const Slice& slice, Bytes bytes) const {
  Stretches found;
  const Bytes begin = slice.offset, end = begin + bytes;
  Bytes done = begin;
  const auto add = [&](Bytes until, int count) {
    if (done < until) found[done - begin] = {until - begin, count};
    done = std::max(done, until);
  };
  const auto of_buffer = of_buffers_.find(slice.buffer);
  if (of_buffer != of_buffers_.end()) {
    const Stretches& all = of_buffer->second;
    auto at = all.upper_bound(begin);
    if (at != all.begin()) --at;
    for (; at != all.end() && at->first < end; ++at) {
      add(std::min(at->first, end), 1);
      add(std::min(at->second.end, end), at->second.count);
    }
  }
  add(end, 1);
  return found;
}

int ValueCounts::at(const Slice& slice, Bytes bytes) const {
  const Stretches found = within(slice, bytes);
  const int count = found.empty() ? 1 : found.begin()->second.count;
  for (const auto& [begin, stretch] : found)
    if (stretch.count != count)
      fail(ErrorCode::internal, "values of different ranks are averaged together",
           fmt::format("{} and {} ranks' lie side by side", count, stretch.count));
  return count;
}

void ValueCounts::set(const Slice& slice, Bytes bytes, int count) {
  if (bytes.value == 0) return;
  Stretches& all = of_buffers_[slice.buffer];
  const Bytes begin = slice.offset, end = begin + bytes;
  auto at = all.upper_bound(begin);
  if (at != all.begin()) --at;
  while (at != all.end() && at->first < end) {
    const auto [old_begin, old] = *at;
    if (old.end <= begin) {
      ++at;
      continue;
    }
    at = all.erase(at);
    if (old_begin < begin) all[old_begin] = {begin, old.count};
    if (old.end > end) all[end] = old;
  }
  all[begin] = {end, count};
}

void ValueCounts::copy(const Slice& from, const Slice& to, Bytes bytes) {
  for (const auto& [begin, stretch] : within(from, bytes))
    set({to.buffer, to.offset + begin}, stretch.end - begin, stretch.count);
}

}  // namespace polypath::collective
