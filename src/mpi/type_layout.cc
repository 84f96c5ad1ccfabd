#include "mpi/type_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace polypath::mpi {
namespace {

bool is_dense(const Library& library, Handle type, Count count, const Range& range) {
  int size = 0;
  return library.real.Type_size(type, &size) == kSuccess && size * count == range.end - range.begin;
}

std::vector<Range> runs_of(const std::byte* marks, const Range& range) {
  const auto* const begin = marks + range.begin;
  const auto* const end = marks + range.end;
  std::vector<Range> runs;
  for (const auto* at = begin; at != end;) {
    const auto* const first = std::find(at, end, std::byte{0xff});
    at = std::find(first, end, std::byte{0});
    if (first != at) runs.push_back({first - marks, at - marks});
  }
  return runs;
}

}  // namespace

// MPI puts bytes with all bits set among zeros.
TypeLayout layout_of(const Library& library, SelfWindow& self, Handle type, Count count) {
  TypeLayout layout{.range = range_of(library, type, count), .runs = {}};
  const Range& range = layout.range;
  if (range.is_empty()) return layout;
  if (is_dense(library, type, count, range)) {
    layout.runs = {range};
    return layout;
  }
  if (count > std::numeric_limits<int>::max())
    fail(ErrorCode::invalid_argument, fmt::format("{} elements of one type are too many", count),
         "their type has gaps", "Make several calls.");
  const auto many = static_cast<int>(count);
  const Count lead = layout.lead();
  const std::vector<std::byte> ones(static_cast<std::size_t>(layout.room()), std::byte{0xff});
  self.run(
      layout.room(), [&](std::byte* memory) { std::memset(memory, 0, ones.size()); },
      [&](Handle window) {
        return library.real.Put(ones.data() + lead, many, type, 0, lead, many, type, window);
      },
      [&](std::byte* memory) { layout.runs = runs_of(memory + lead, range); });
  return layout;
}

}  // namespace polypath::mpi
