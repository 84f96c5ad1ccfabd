#include "bench/jacobi_choice.h"

#include <algorithm>

#include "plan/joint/joint.h"

namespace polypath::bench {
namespace {

class Choice {
 public:
  Choice(const OpenMachine& opened, const JacobiGrid& grid, double efficiency)
      : opened_(opened), grid_(grid), efficiency_(efficiency) {}

  [[nodiscard]] bool together_gains() const {
    const CallCosts& costs = machine().costs;
    const Seconds in_turn = costs.event_record + 2 * costs.event_wait + 3 * costs.copy;
    const Seconds together = in_turn + 2 * costs.event_record + 2 * costs.event_wait;
    const PlaceId gpu = grid_.gpus.front();
    const Seconds kernel = kernel_of(machine(), grid_, efficiency_, 0, 0, 1, grid_.rows).duration;
    const double n = grid_.size();
    const Seconds one_after_another = std::max(n * in_turn, kernel + 2 * slowest_alone());
    const Seconds at_once =
        std::max(n * together, kernel + machine().wait_latency(gpu, gpu) + all_at_once());
    return at_once + machine().driver.least_gain_one_thread < one_after_another;
  }

 private:
  [[nodiscard]] const Machine& machine() const { return opened_.machine(); }
  [[nodiscard]] PlaceId gpu(int number) const {
    return grid_.gpus[static_cast<std::size_t>(number)];
  }

  [[nodiscard]] Seconds all_at_once() const {
    Planner planner(machine(), opened_.settings());
    std::vector<JointTransfer> all;
    for (const Halo& halo : halos_of(grid_, 0))
      all.push_back({gpu(halo.from), gpu(halo.to), grid_.halo()});
    const JointPlanPointer plan = JointPlanner(planner).plan(all);
    return std::max(plan->flow_bound, plan->predicted - plan->calls);
  }

  [[nodiscard]] Seconds slowest_alone() const {
    Seconds slowest;
    for (const Halo& halo : halos_of(grid_, 0)) {
      const Hop& hop = machine().hop(*machine().find_hop(gpu(halo.from), gpu(halo.to)));
      slowest = std::max(slowest, hop.latency + grid_.halo() / hop.bandwidth);
    }
    return slowest;
  }

  const OpenMachine& opened_;
  const JacobiGrid& grid_;
  double efficiency_;
};

}  // namespace

bool together_gains(const OpenMachine& opened, const JacobiGrid& grid, double efficiency) {
  return Choice(opened, grid, efficiency).together_gains();
}

}  // namespace polypath::bench
