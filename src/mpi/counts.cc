#include "mpi/counts.h"

#include <fmt/format.h>

#include <iterator>

namespace polypath::mpi {

namespace {

const char* reason_of(Fate fate) {
  constexpr std::array<const char*, kFates> kReasons = {
      "",
      "another rank passes memory of the host, or another kind of call",
      "Polypath has no such operation, type or reduction",
      "memory of another GPU than in earlier calls",
      "the ranks are not all under Polypath, with a GPU each, as many on each computer",
      "Polypath has no such call among several computers",
      "not all ranks passed memory of GPUs before; those of several computers ask again later",
      "MPI_THREAD_MULTIPLE is not there, which calls that do not block need among computers"};
  return kReasons[static_cast<std::size_t>(fate)];
}

std::string text_of(Fate fate, bool by_host) {
  if (fate == Fate::ours) return "Polypath";
  return fmt::format("MPI{}: {}", by_host ? " by the host" : "", reason_of(fate));
}

}  // namespace

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
                   name_of(each.operation), each.calls, text_of(each.fate, counts.is_staged()));
  return text;
}

}  // namespace polypath::mpi
