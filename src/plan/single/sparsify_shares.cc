#include "plan/single/sparsify_shares.h"

#include <algorithm>

namespace polypath::plan {
namespace {

// The path after the first that carries least; 0 if none does.
std::size_t least_of(const std::vector<double>& shares) {
  std::size_t least = 0;
  for (std::size_t path = 1; path < shares.size(); ++path)
    if (shares[path] > 0 && (least == 0 || shares[path] < shares[least])) least = path;
  return least;
}

}  // namespace

std::vector<double> sparsify_shares(std::vector<SharedPath> problem,
                                    const std::vector<Capacity>& capacities, Bytes total,
                                    Bytes smallest, std::size_t most) {
  std::vector<double> all(problem.size(), 0);
  std::vector<std::size_t> used(problem.size());
  for (std::size_t path = 0; path < used.size(); ++path) used[path] = path;
  while (true) {
    const auto shares = solve_shares(problem, capacities, total, smallest).shares;
    const auto carrying =
        std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; });
    if (static_cast<std::size_t>(carrying) <= most) {
      for (std::size_t u = 0; u < used.size(); ++u) all[used[u]] = shares[u];
      return all;
    }
    const auto out = static_cast<std::ptrdiff_t>(least_of(shares));
    problem.erase(problem.begin() + out);
    used.erase(used.begin() + out);
  }
}

void merge_claims(std::vector<Use>& claims) {
  std::vector<Use> sums;
  for (const Use& use : claims) {
    const auto same = std::find_if(
        sums.begin(), sums.end(), [&](const Use& other) { return other.resource == use.resource; });
    if (same != sums.end()) same->weight += use.weight;
    else sums.push_back(use);
  }
  claims = std::move(sums);
}

}  // namespace polypath::plan
