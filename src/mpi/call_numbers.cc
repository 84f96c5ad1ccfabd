#include "mpi/call_numbers.h"

#include <algorithm>
#include <cstddef>

namespace polypath::mpi {

// MPI's until all have told.
struct CallNumbers::Telling {
  std::vector<Count> mine, all;
  Handle request = 0;
};

// After an error it is kept until the process ends: nothing says when MPI no longer uses it.
std::unique_ptr<CallNumbers::Telling> CallNumbers::exchange(const std::vector<Count>& mine,
                                                            const Wait& wait) const {
  auto telling = std::make_unique<Telling>();
  telling->mine = mine;
  telling->all.resize(mine.size() * ranks_);
  const int bytes = static_cast<int>(mine.size() * sizeof(Count));
  library_.real.Iallgather(telling->mine.data(), bytes, library_.byte, telling->all.data(), bytes,
                           library_.byte, comm_, &telling->request);
  try {
    for (int is_over = 0;
         library_.real.Test(&telling->request, &is_over, library_.status_ignore) == kSuccess &&
         is_over == 0;)
      wait();
  } catch (...) {
    (void)telling.release();
    throw;
  }
  return telling;
}

Count CallNumbers::tell(const std::vector<Count>& counts, Count number, const Wait& wait) {
  std::vector<Count> mine = counts;
  if (has_places_) mine.push_back(number);
  if (mine.empty()) return number;
  const auto telling = exchange(mine, wait);
  told_.clear();
  for (auto each = telling->all.begin(); each != telling->all.end();) {
    const auto behind = each + static_cast<std::ptrdiff_t>(counts.size());
    told_.insert(told_.end(), each, behind);
    if (has_places_) number = std::max(number, *behind);
    each += static_cast<std::ptrdiff_t>(mine.size());
  }
  return number;
}

}  // namespace polypath::mpi
