#include "model/share_program.h"

#include <algorithm>
#include <set>

#include "model/linear_program.h"
#include "model/tolerance.h"

namespace polypath::model {
namespace {

// Of all shares that take so little longer, those are taken that use least of the machine. With
// twice as much, here and in predict.cc, one of 343 joint plans took 1.96 times as long
// (tests/plan/plan_times).
constexpr double kSlack = kAlike / 2;

// One variable, or the rest of its group.
struct Column {
  const SharedPath* path;
  const ShareGroup* group;
};

// Amounts are scaled to n = 1 and times to the largest n·Ω of a first path, so that all numbers are
// near one.
class ShareProgram {
 public:
  ShareProgram(std::span<const ShareGroup> groups, std::span<const Capacity> available)
      : groups_(groups), available_(available) {
    for (const ShareGroup& group : groups) {
      rests_.push_back(columns_.size());
      for (const std::size_t i : group.used) columns_.push_back({&group.paths[i], &group});
      unit_ = std::max(unit_, group.total * columns_[rests_.back()].path->time.slope);
      levels_.insert(group.deadline);
    }
    costs_.resize(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) note_claims(c);
  }

  ShareAmounts solve(AmongEqual among_equal) {
    for (std::size_t c = 0; c < columns_.size(); ++c) add_path_row(c);
    for (auto& [resource, use] : uses_) {
      use.is_needed = !follows_from_another(resource, use);
      for (const double level : levels_)
        if (use.is_needed) add_resource_rows(resource, use, level);
    }
    SecondObjective second;
    if (among_equal == AmongEqual::least_use) second = {use_of_machine(), kSlack};
    const auto solution =
        minimise_deadline(columns_.size() - rests_.size(), rows_, limits(), second);
    return {solution.time * unit_, by_group(solution.amounts)};
  }

 private:
  /// The claims of all columns on one resource, and the least offset of those that have some.
  struct ClaimsOn {
    double start = 0;
    std::vector<double> claims;
    bool is_needed = true;
  };

  [[nodiscard]] double capacity_of(ResourceId resource) const {
    return available_[resource.index()].value;
  }

  void note_claims(std::size_t c) {
    const SharedPath& path = *columns_[c].path;
    const double start = path.time.offset.value;
    for (const auto& [resource, weight] : path.claims) {
      if (capacity_of(resource) == BytesPerSecond::infinity().value) continue;
      ClaimsOn& use = uses_.try_emplace(resource, ClaimsOn{start, {}}).first->second;
      if (use.claims.empty()) use.claims.resize(columns_.size());
      use.start = std::min(use.start, start);
      if (use.claims[c] == 0) use.claims[c] = weight;
    }
  }

  // True if the row of a path, or of another resource that the first of its paths uses, says as
  // much.
  [[nodiscard]] bool follows_from_another(ResourceId resource, const ClaimsOn& use) const {
    const auto used = [](double claim) { return claim != 0; };
    if (levels_.size() > 1 || available_[resource.index()].credit > 0) return false;
    const auto first = std::ranges::find_if(use.claims, used);
    const SharedPath& path = *columns_[static_cast<std::size_t>(first - use.claims.begin())].path;
    const bool is_only_one = std::none_of(first + 1, use.claims.end(), used);
    if (is_only_one && *first <= path.time.slope * capacity_of(resource)) return true;
    return std::ranges::any_of(path.claims, [&](const Use& claim) {
      const auto other = uses_.find(claim.resource);
      return other != uses_.end() && claim.resource != resource &&
             says_as_much(*other, resource, use);
    });
  }
  [[nodiscard]] bool says_as_much(const std::pair<const ResourceId, ClaimsOn>& other,
                                  ResourceId resource, const ClaimsOn& use) const {
    const auto& [id, its] = other;
    if (!its.is_needed || available_[id.index()].credit > 0 || its.start < use.start) return false;
    const double times = capacity_of(id) / capacity_of(resource);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (its.claims[c] < use.claims[c] * times) return false;
    return true;
  }

  void add_path_row(std::size_t c) {
    const LinearTime& time = columns_[c].path->time;
    const ShareGroup& group = *columns_[c].group;
    costs_[c] = time.slope * group.total;
    add_row(time.offset.value, group.deadline);
  }

  // The transfers that must be over by the deadline of `level` must fit into the time until then:
  // of a resource with a burst both at that rate and, but for its credit, at the lasting one.
  void add_resource_rows(ResourceId resource, const ClaimsOn& use, double level) {
    const Capacity& capacity = available_[resource.index()];
    const double rested = use.start - capacity.credit / capacity.value;
    add_resource_row(use.claims, capacity.value, rested, level);
    if (capacity.credit > 0) add_resource_row(use.claims, capacity.burst, use.start, level);
  }

  void add_resource_row(const std::vector<double>& claims, double rate, double start,
                        double level) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (const ShareGroup& group = *columns_[c].group; claims[c] != 0 && group.deadline <= level)
        costs_[c] = claims[c] * group.total / rate;
    add_row(start, level);
  }

  // Σ costs(i)·b_i + offset <= level·T, with the b_0 replaced. Then nothing costs anything.
  void add_row(double offset, double level) {
    for (const std::size_t rest : rests_) offset += costs_[rest];
    DeadlineRow row;
    row.constant = -offset / (unit_ * level);
    row.coefficients = against_rest(unit_ * level);
    rows_.push_back(std::move(row));
    std::ranges::fill(costs_, 0);
  }

  // The extra cost of a column's amount over the same amount in its group's rest.
  [[nodiscard]] std::vector<double> against_rest(double unit) const {
    std::vector<double> costs;
    costs.reserve(columns_.size() + 1);
    for (std::size_t g = 0; g < rests_.size(); ++g) {
      const double of_rest = costs_[rests_[g]];
      for (std::size_t c = rests_[g] + 1; c < rests_[g] + groups_[g].used.size(); ++c) {
        const double more = costs_[c] - of_rest;
        costs.push_back(more == 0 ? 0 : more / unit);
      }
    }
    return costs;
  }

  [[nodiscard]] std::vector<double> use_of_machine() {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      for (const Use& claim : columns_[c].path->claims)
        costs_[c] += claim.weight * columns_[c].group->total / capacity_of(claim.resource);
    return against_rest(unit_);
  }

  [[nodiscard]] std::vector<AmountLimit> limits() const {
    std::vector<AmountLimit> limits;
    std::size_t first = 0;
    for (const ShareGroup& group : groups_) {
      limits.push_back({.first = first, .count = group.used.size() - 1, .most = 1});
      first += group.used.size() - 1;
    }
    return limits;
  }

  [[nodiscard]] std::vector<std::vector<double>> by_group(
      const std::vector<double>& amounts) const {
    std::vector<std::vector<double>> groups;
    auto next = amounts.begin();
    for (const ShareGroup& group : groups_) {
      groups.push_back({1.0});
      for (std::size_t u = 1; u < group.used.size(); ++u, ++next)
        groups.back()[0] -= *next, groups.back().push_back(*next);
    }
    return groups;
  }

  std::span<const ShareGroup> groups_;
  std::span<const Capacity> available_;
  std::vector<Column> columns_;
  std::vector<double> costs_;            // of a row that is made, by column
  std::vector<std::size_t> rests_;       // each group's first column
  std::map<ResourceId, ClaimsOn> uses_;  // of those that limit anything
  std::set<double> levels_;
  double unit_ = 0;
  std::vector<DeadlineRow> rows_;
};

}  // namespace

ShareAmounts optimal_amounts(std::span<const ShareGroup> groups,
                             std::span<const Capacity> available, AmongEqual among_equal) {
  return ShareProgram(groups, available).solve(among_equal);
}

std::map<ResourceId, double> first_use(std::span<const ShareGroup> groups) {
  std::map<ResourceId, double> earliest;
  for (const ShareGroup& group : groups)
    for (const std::size_t i : group.used)
      for (const Use& claim : group.paths[i].claims) {
        const double offset = group.paths[i].time.offset.value;
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

}  // namespace polypath::model
