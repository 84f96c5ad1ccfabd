#include "model/share_problem.h"

#include <algorithm>

#include "model/fair_rates.h"
#include "model/share_program.h"
#include "model/tolerance.h"

namespace polypath::model {
namespace {

// Amounts (of 1) when every used path runs at its fair rate and all end together; the common end.
ShareSolution fair_split(std::span<const SharedPath> paths, const std::vector<std::size_t>& used,
                         std::span<const Capacity> available, double total) {
  std::vector<Flow> flows;
  for (const std::size_t i : used) flows.push_back({{1 / paths[i].time.slope}, paths[i].claims});
  const auto rates = fair_rates(flows, available);
  double rate_sum = 0, head_start = 0;
  for (std::size_t u = 0; u < used.size(); ++u) {
    rate_sum += rates[u].value;
    head_start += rates[u].value * paths[used[u]].time.offset.value;
  }
  ShareSolution split{{(total + head_start) / rate_sum}, std::vector<double>(paths.size(), 0)};
  for (std::size_t u = 0; u < used.size(); ++u) {
    const double busy = split.time.value - paths[used[u]].time.offset.value;
    split.shares[used[u]] = std::max(0.0, rates[u].value * busy / total);
  }
  return split;
}

// The mean rate of each resource until `time`.
std::vector<Capacity> mean_until(double time, std::span<const Capacity> available) {
  std::vector<Capacity> means(available.begin(), available.end());
  for (Capacity& each : means)
    if (each.credit > 0) each.value = std::min(each.burst, each.value + each.credit / time);
  return means;
}

// The finishing time that the program's rows give these shares.
double time_of(std::span<const SharedPath> paths, std::span<const Capacity> available,
               const std::vector<double>& shares, double total) {
  double time = 0;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (shares[i] <= 0) continue;
    used.push_back(i);
    time = std::max(time, paths[i].time.offset.value + paths[i].time.slope * shares[i] * total);
  }
  const ShareGroup group{paths, used, total};
  for (const auto& [resource, start] : first_use({&group, 1})) {
    double claimed = 0;
    for (const std::size_t i : used) claimed += claim_on(paths[i], resource) * shares[i] * total;
    time = std::max(time, start + available[resource.index()].time_of(claimed));
  }
  return time;
}

// Of the paths but the first that would carry less than `smallest`, the one that starts last; 0 if
// there is none. Its row Δ <= T may be what keeps the others from sharing, so it goes before them.
std::size_t to_leave_out(std::span<const SharedPath> paths, const std::vector<std::size_t>& used,
                         const std::vector<double>& amounts, double smallest) {
  std::size_t last = 0;
  for (std::size_t u = 1; u < used.size(); ++u)
    if (amounts[u] < smallest &&
        (last == 0 || paths[used[u]].time.offset > paths[used[last]].time.offset))
      last = u;
  return last;
}

// The program's optimum, leaving out one by one the paths that would carry less than `smallest`.
std::vector<double> program_shares(std::span<const SharedPath> paths,
                                   std::span<const Capacity> available, double total,
                                   double smallest, std::vector<std::size_t>& used) {
  while (true) {
    const ShareGroup group{paths, used, total};
    const auto amounts = optimal_amounts({&group, 1}, available, AmongEqual::any).of_group[0];
    const std::size_t out = to_leave_out(paths, used, amounts, smallest / total);
    if (out == 0) {
      std::vector<double> shares(paths.size(), 0);
      for (std::size_t u = 0; u < used.size(); ++u) shares[used[u]] = std::max(0.0, amounts[u]);
      return shares;
    }
    used.erase(used.begin() + static_cast<std::ptrdiff_t>(out));
  }
}

}  // namespace

ShareSolution solve_shares(std::span<const SharedPath> paths, std::span<const Capacity> available,
                           Bytes total, Bytes smallest) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < paths.size(); ++i) used.push_back(i);
  const double n = total.real();
  const auto best = program_shares(paths, available, n, std::max(1.0, smallest.real()), used);
  const double best_time = time_of(paths, available, best, n);
  ShareSolution fair = fair_split(paths, used, mean_until(best_time, available), n);
  const bool complete =
      std::all_of(used.begin(), used.end(), [&](std::size_t i) { return fair.shares[i] > 0; });
  if (complete && time_of(paths, available, fair.shares, n) <= best_time * (1 + kAlike))
    return fair;
  return {{best_time}, best};
}

}  // namespace polypath::model
