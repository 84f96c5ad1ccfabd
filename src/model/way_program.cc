#include "model/way_program.h"

#include <algorithm>
#include <utility>

namespace polypath {
namespace {

constexpr double kLeastGain = 1e-9;
// Many resources are equally busy at the optimum, and a simplex may stand still there. Slightly
// different limits keep it going.
constexpr double kPerturbation = 1e-7;
constexpr int kMostLoadPivots = 4000;

double perturbation(std::size_t resource) {
  constexpr std::size_t kStep = 7919, kModulus = 101;
  return kPerturbation * (1 + static_cast<double>(resource * kStep % kModulus) / kModulus);
}

}  // namespace

WayProgram::WayProgram(std::size_t resources, std::vector<double> demands)
    : resources_(resources), demands_(std::move(demands)) {}

std::size_t WayProgram::add(std::size_t demand, BusyTimes times) {
  ways_.push_back({demand, std::move(times)});
  return ways_.size() - 1;
}

void WayProgram::solve() {
  if (basis_.empty()) start();
  for (int pivots = 0; pivots < kMostLoadPivots && improve();) ++pivots;
}

// All of a demand by its first way; T is the time of the busiest resource, whose row it has.
void WayProgram::start() {
  std::vector<std::size_t> first(demands_.size(), ways_.size());
  for (std::size_t way = ways_.size(); way-- > 0;) first[ways_[way].demand] = way;
  Vector free(resources_);
  for (std::size_t r = 0; r < resources_; ++r) free[r] = perturbation(r);
  for (std::size_t k = 0; k < demands_.size(); ++k)
    for (const BusyTime& each : ways_[first[k]].times) free[each.resource] -= each.time * demands_[k];
  row_of_time_ = static_cast<std::size_t>(std::ranges::min_element(free) - free.begin());
  inverse_.assign(size(), Vector(size()));
  for (std::size_t r = 0; r < resources_; ++r) {
    basis_.push_back({Variable::Kind::slack, r});
    amounts_.push_back(free[r] - free[row_of_time_]);
    inverse_[r][r] = 1;
  }
  for (std::size_t k = 0; k < demands_.size(); ++k) {
    basis_.push_back({Variable::Kind::way, first[k]});
    amounts_.push_back(demands_[k]);
    inverse_[resources_ + k][resources_ + k] = 1;
    for (const BusyTime& each : ways_[first[k]].times)
      inverse_[each.resource][resources_ + k] -= each.time;
  }
  const Vector busiest = inverse_[row_of_time_];
  basis_[row_of_time_] = {Variable::Kind::time, kTime};
  amounts_[row_of_time_] = -free[row_of_time_];
  for (std::size_t r = 0; r < resources_; ++r)
    for (std::size_t c = 0; c < size(); ++c)
      inverse_[r][c] = r == row_of_time_ ? -busiest[c] : inverse_[r][c] - busiest[c];
}

// T alone counts, so the prices are its row of the inverse.
double WayProgram::price_of(std::size_t resource) const {
  return -inverse_[row_of_time_][resource];
}

double WayProgram::value_of(std::size_t demand) const {
  return inverse_[row_of_time_][resources_ + demand];
}

double WayProgram::share_of(std::size_t way) const {
  for (std::size_t row = 0; row < basis_.size(); ++row)
    if (basis_[row].kind == Variable::Kind::way && basis_[row].number == way)
      return std::max(amounts_[row], 0.0) / demands_[ways_[way].demand];
  return 0;
}

double WayProgram::reduced_cost(const Way& way) const {
  double cost = -value_of(way.demand);
  for (const BusyTime& each : way.times) cost += each.time * price_of(each.resource);
  return cost;
}

// One pivot, with the variable that gains most; false at the optimum.
bool WayProgram::improve() {
  Variable best;
  double gain = kLeastGain * std::max(time(), kLeastGain);
  for (std::size_t r = 0; r < resources_; ++r)
    if (-price_of(r) > gain) gain = -price_of(r), best = {Variable::Kind::slack, r};
  bool found = gain > kLeastGain * std::max(time(), kLeastGain);
  for (std::size_t way = 0; way < ways_.size(); ++way)
    if (const double cost = reduced_cost(ways_[way]); -cost > gain)
      gain = -cost, best = {Variable::Kind::way, way}, found = true;
  if (!found) return false;
  const Vector column = column_of(best);
  const std::size_t row = leaving(column);
  if (row == size()) return false;
  pivot(row, column, best);
  return true;
}

// The variable's column in terms of the basis.
WayProgram::Vector WayProgram::column_of(const Variable& variable) const {
  Vector column(size());
  for (std::size_t row = 0; row < size(); ++row) {
    if (variable.kind == Variable::Kind::slack) {
      column[row] = inverse_[row][variable.number];
      continue;
    }
    const Way& way = ways_[variable.number];
    column[row] = inverse_[row][resources_ + way.demand];
    for (const BusyTime& each : way.times) column[row] += inverse_[row][each.resource] * each.time;
  }
  return column;
}

// The row that reaches zero first; T is never 0.
std::size_t WayProgram::leaving(const Vector& column) const {
  std::size_t best = size();
  double least = 0;
  for (std::size_t row = 0; row < size(); ++row) {
    if (row == row_of_time_ || column[row] <= kLeastGain) continue;
    const double ratio = std::max(amounts_[row], 0.0) / column[row];
    if (best == size() || ratio < least) best = row, least = ratio;
  }
  return best;
}

void WayProgram::pivot(std::size_t row, const Vector& column, const Variable& entering) {
  const double scale = column[row];
  for (double& cell : inverse_[row]) cell /= scale;
  amounts_[row] = std::max(amounts_[row], 0.0) / scale;
  for (std::size_t other = 0; other < size(); ++other) {
    if (other == row || column[other] == 0) continue;
    amounts_[other] -= column[other] * amounts_[row];
    for (std::size_t c = 0; c < size(); ++c)
      inverse_[other][c] -= column[other] * inverse_[row][c];
  }
  basis_[row] = entering;
}

}  // namespace polypath
