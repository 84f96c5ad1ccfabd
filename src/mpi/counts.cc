#include "mpi/counts.h"

#include <fmt/format.h>

#include <iterator>

namespace polypath::mpi {

const char* text_of(Fate fate) {
  constexpr std::array<const char*, kFates> kTexts = {
      "Polypath",
      "MPI by the host: another rank passes memory of the host, or another kind of call",
      "MPI by the host: Polypath has no such operation, type or reduction",
      "MPI by the host: memory of another GPU than in earlier calls",
      "MPI by the host: the ranks are not all on this computer, under Polypath, with a GPU each"};
  return kTexts[static_cast<std::size_t>(fate)];
}

std::vector<CountedCalls> Counts::all() const {
  std::vector<CountedCalls> found;
  for (int operation = 0; operation < kOperations; ++operation)
    for (int fate = 0; fate < kFates; ++fate) {
      const auto calls =
          cells_[static_cast<std::size_t>(operation)][static_cast<std::size_t>(fate)].load(
              std::memory_order_relaxed);
      if (calls > 0)
        found.push_back({static_cast<Operation>(operation), static_cast<Fate>(fate), calls});
    }
  return found;
}

std::string lines_of(const Counts& counts, int process) {
  std::string text;
  for (const CountedCalls& each : counts.all())
    fmt::format_to(std::back_inserter(text), "polypath[{}]: MPI {:20} {:9} calls by {}\n", process,
                   name_of(each.operation), each.calls, text_of(each.fate));
  return text;
}

}  // namespace polypath::mpi
