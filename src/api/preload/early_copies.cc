#include "api/preload/early_copies.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/ignore_errors.h"

namespace polypath::preload {

void EarlyCopyList::note(const ProgramCopy& copy) noexcept {
  (void)ignore_errors([&] {
    const std::scoped_lock lock(mutex_);
    const auto like = std::ranges::find_if(kinds_, [&](const EarlyCopies& kind) {
      return kind.copy.destination == copy.destination && kind.copy.source == copy.source &&
             kind.copy.bytes == copy.bytes && kind.copy.stream == copy.stream;
    });
    if (like != kinds_.end()) return void(++like->count);
    if (kinds_.size() == kMost) return;
    if (const auto home = home_of(copy.stream)) kinds_.push_back({copy, *home});
  });
}

std::vector<EarlyCopies> EarlyCopyList::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(kinds_, {});
}

}  // namespace polypath::preload
