#include "plan/load.h"

#include <algorithm>
#include <cmath>

namespace polypath::plan {
namespace {

constexpr double kSteps = 16;

}  // namespace

BytesPerSecond path_rate(const Machine& machine, const Path& path) {
  const BytesPerSecond first = machine.hop(path.first).bandwidth;
  return path.staged() ? std::min(first, machine.hop(path.second).bandwidth) : first;
}

LoadSignature signature_of(const Load& load, const std::vector<Capacity>& capacities) {
  LoadSignature signature;
  for (std::size_t r = 0; r < load.size(); ++r)
    signature.push_back(static_cast<int>(std::ceil(kSteps * load[r].value / capacities[r].value)));
  if (std::all_of(signature.begin(), signature.end(), [](int step) { return step == 0; }))
    return {};
  return signature;
}

void add_rates(const ResourceModel& resources, const TransferShape& transfer, Load& load) {
  load.resize(resources.capacities().size());
  for (const PathShape& part : transfer.paths) {
    const double rate = resources.own_rate(part.path).value;
    for (const Use& claim : resources.claims(part.path))
      load[claim.resource.index()].value += claim.weight * rate;
  }
}

bool overloads(const Predictor& predictor, const Path& path, const LoadSignature& load) {
  if (load.empty() || !path.staged()) return false;
  const double rate = path_rate(predictor.machine(), path).value;
  const auto& capacities = predictor.resources().capacities();
  for (const Use& claim : predictor.resources().claims(path)) {
    const std::size_t r = claim.resource.index();
    const double room = capacities[r].value * std::max(0.0, 1 - load[r] / kSteps);
    if (load[r] > 0 && claim.weight * rate > room) return true;
  }
  return false;
}

}  // namespace polypath::plan
