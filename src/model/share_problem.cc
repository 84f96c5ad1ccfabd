#include "model/share_problem.h"

#include <algorithm>
#include <map>

#include "model/fair_rates.h"
#include "model/linear_program.h"

namespace polypath {
namespace {

// The least offset of the paths in `used` that claim each resource.
std::map<ResourceId, double> first_use(std::span<const SharedPath> paths,
                                       const std::vector<std::size_t>& used) {
  std::map<ResourceId, double> earliest;
  for (const std::size_t i : used)
    for (const Use& claim : paths[i].claims) {
      const double offset = paths[i].time.offset.value;
      const auto [entry, inserted] = earliest.emplace(claim.resource, offset);
      if (!inserted) entry->second = std::min(entry->second, offset);
    }
  return earliest;
}

double claim_on(const SharedPath& path, ResourceId resource) {
  for (const Use& claim : path.claims)
    if (claim.resource == resource) return claim.weight;
  return 0;
}

// The program for the paths in `used`, of which used[0] takes what the others leave: b_0 = n - Σ b.
// Amounts are scaled to n = 1 and times to the first path's n·Ω, so that all numbers are near one.
class ShareProgram {
 public:
  ShareProgram(std::span<const SharedPath> paths, std::vector<std::size_t> used, double total)
      : paths_(paths),
        used_(std::move(used)),
        total_(total),
        unit_(total * paths[used_[0]].time.slope) {}

  std::vector<double> solve(std::span<const Capacity> available) {
    for (std::size_t u = 0; u < used_.size(); ++u) add_path_row(u);
    for (const auto& [resource, start] : first_use(paths_, used_)) {
      const double capacity = available[resource.index()].value;
      if (capacity < BytesPerSecond::infinity().value) add_resource_row(resource, capacity, start);
    }
    const auto solution = minimise_deadline(used_.size() - 1, rows_, 1.0);
    std::vector<double> amounts{1.0};
    for (const double amount : solution.amounts) amounts[0] -= amount, amounts.push_back(amount);
    return amounts;
  }

 private:
  void add_path_row(std::size_t u) {
    const LinearTime& time = paths_[used_[u]].time;
    add_row([&](std::size_t i) { return i == u ? time.slope * total_ : 0.0; }, time.offset.value);
  }

  void add_resource_row(ResourceId resource, double capacity, double start) {
    add_row([&](std::size_t i) { return claim_on(paths_[used_[i]], resource) * total_ / capacity; },
            start);
  }

  // Σ seconds(i)·b_i + offset <= T, with b_0 replaced.
  template <class SecondsOf>
  void add_row(SecondsOf seconds, double offset) {
    DeadlineRow row;
    row.constant = -(offset + seconds(0)) / unit_;
    for (std::size_t i = 1; i < used_.size(); ++i)
      row.coefficients.push_back((seconds(i) - seconds(0)) / unit_);
    rows_.push_back(std::move(row));
  }

  std::span<const SharedPath> paths_;
  std::vector<std::size_t> used_;
  double total_;
  double unit_;
  std::vector<DeadlineRow> rows_;
};

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
  for (const auto& [resource, start] : first_use(paths, used)) {
    double claimed = 0;
    for (const std::size_t i : used) claimed += claim_on(paths[i], resource) * shares[i] * total;
    time = std::max(time, start + claimed / available[resource.index()].value);
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
    const auto amounts = ShareProgram(paths, used, total).solve(available);
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
  ShareSolution fair = fair_split(paths, used, available, n);
  constexpr double kAsGood = 1.002;  // half of the smallest gain worth planning for
  const bool complete =
      std::all_of(used.begin(), used.end(), [&](std::size_t i) { return fair.shares[i] > 0; });
  if (complete && time_of(paths, available, fair.shares, n) <= best_time * kAsGood) return fair;
  return {{best_time}, best};
}

}  // namespace polypath
