#include "mpi/one_sided.h"

#include <fmt/format.h>

#include <iterator>

namespace polypath::mpi {

const char* name_of(OneSided operation) {
  constexpr std::array<const char*, kOneSided> kNames = {
      "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string OneSidedCounts::lines(int process) const {
  constexpr std::array<const char*, 2> kMakers = {
      "Polypath", "MPI by the host: the window is in memory of the host"};
  std::string text;
  for (std::size_t operation = 0; operation < cells_.size(); ++operation)
    for (std::size_t fate = 0; fate < kMakers.size(); ++fate)
      if (const std::uint64_t calls = cells_[operation][fate]; calls > 0)
        fmt::format_to(std::back_inserter(text), "polypath[{}]: MPI {:20} {:9} calls by {}\n",
                       process, name_of(static_cast<OneSided>(operation)), calls, kMakers[fate]);
  return text;
}

}  // namespace polypath::mpi
