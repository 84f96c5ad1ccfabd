#include "mpi/type_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace polypath::mpi {
namespace {

// From the mark of the byte at `begin` on.
std::vector<Range> runs_of(const std::vector<std::byte>& marks, Count begin) {
  std::vector<Range> runs;
  for (auto at = marks.begin(); at != marks.end();) {
    const auto first = std::find(at, marks.end(), std::byte{0xff});
    at = std::find(first, marks.end(), std::byte{0});
    if (first != at)
      runs.push_back({begin + (first - marks.begin()), begin + (at - marks.begin())});
  }
  return runs;
}

Count bytes_of_all(const Library& library, Handle type, Count count) {
  int size = 0;
  library.real.Type_size(type, &size);
  return size * count;
}

}  // namespace

// MPI gets bytes with all bits set, side by side, into such elements among zeros. These may be
// anywhere from their address: its target's may not.
TypeLayout layout_of(const Library& library, SelfWindow& self, Handle type, Count count) {
  TypeLayout layout{.range = range_of(library, type, count), .runs = {}};
  const Range& range = layout.range;
  if (range.is_empty()) return layout;
  const Count bytes = bytes_of_all(library, type, count);
  if (bytes == range.end - range.begin) {
    layout.runs = {range};
    return layout;
  }
  if (std::max(count, bytes) > std::numeric_limits<int>::max())
    fail(ErrorCode::invalid_argument,
         fmt::format("{} elements of {} bytes in all are too many", count, bytes),
         "their type has gaps", "Make several calls.");
  std::vector<std::byte> marks(static_cast<std::size_t>(range.end - range.begin));
  const auto address =
      reinterpret_cast<std::uintptr_t>(marks.data()) - static_cast<std::uintptr_t>(range.begin);
  self.run(
      bytes, [&](std::byte* memory) { std::memset(memory, 0xff, static_cast<std::size_t>(bytes)); },
      [&](Handle window) {
        return library.real.Get(reinterpret_cast<void*>(address), static_cast<int>(count), type, 0,
                                0, static_cast<int>(bytes), library.byte, window);
      },
      [&](std::byte*) { layout.runs = runs_of(marks, range.begin); });
  return layout;
}

}  // namespace polypath::mpi
