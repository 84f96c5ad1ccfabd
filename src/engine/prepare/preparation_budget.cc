#include "engine/prepare/preparation_budget.h"

#include <algorithm>

namespace polypath::engine {
namespace {

// Copies must have taken so many times the price: as the price is about twice what a preparation
// costs, no more than a twentieth of their time is lost by it.
constexpr double kLeastCopying = 10;

// Contexts on GPUs of other processes: four ranks that each made three were slower by 20 to 30 ms
// of their first 0.28 s, and by 75 ms of 1.4 s, which is 25 ms for each context; the price is twice
// that (results/h200x4/jacobi_mpi.json).
constexpr double kDearerBesideOthers = 10;

}  // namespace

bool PreparationBudget::pays(const Plan& plan, int copies, int put_off) {
  missed_ += (plan.native_predicted - plan.predicted) * copies;
  copied_ += plan.native_predicted * copies;
  const Seconds price =
      put_off > 0 ? 1_us * settings_.prepare_after * kDearerBesideOthers * put_off : price_of(plan);
  if (missed_ < price || copied_ < price * kLeastCopying) return false;
  missed_ = copied_ = {};
  return true;
}

Seconds PreparationBudget::price_of(const Plan& plan) const {
  const Seconds usual = 1_us * settings_.prepare_after;
  if (driver_.now() - Seconds{last_allocation_.load()} > kStillAllocates) return usual;
  const auto opened = [this](const PathShape& part) {
    const auto open = [this](HopId hop) { return driver_.is_open(machine_.executing_gpu(hop)); };
    return open(part.path.first) && (!part.path.staged() || open(part.path.second));
  };
  const bool all = std::all_of(plan.shape.paths.begin(), plan.shape.paths.end(), opened);
  return all ? usual : usual * machine_.driver.context_beside_allocations;
}

}  // namespace polypath::engine
