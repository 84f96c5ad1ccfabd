#pragma once
// Planners with their machines, and short ways to write what is asked of them.

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "machine/load_machine.h"
#include "plan/single/planner.h"
#include "support/layers.h"

namespace polypath::test {

using Names = std::vector<std::string>;

inline constexpr PlaceId kGpu0{0};
inline constexpr PlaceId kGpu1{1};

/// A planner with the machine it plans on.
struct PlannerRig {
  explicit PlannerRig(const std::string& name, const Settings& settings = {})
      : PlannerRig(load_machine(name), settings) {}
  explicit PlannerRig(Machine described, const Settings& settings = {})
      : machine(std::move(described)), planner(machine, settings) {}

  PlanPointer plan(Bytes bytes, const PlanOptions& options = {},
                   const ConcurrentTransfers& concurrent = {}) {
    return planner.plan(kGpu0, kGpu1, bytes, options, concurrent);
  }

  Machine machine;
  Planner planner;
};

/// What the plan says of the path of that name.
inline const PathDecision& decision(const Plan& plan, const std::string& name) {
  for (const PathDecision& decision : plan.decisions)
    if (decision.name == name) return decision;
  throw std::out_of_range(name);
}

/// The paths that carry bytes.
inline Names used(const Plan& plan) {
  Names names;
  for (const PathDecision& decision : plan.decisions)
    if (decision.included) names.push_back(decision.name);
  return names;
}

/// Options that ask for one thing each.
inline PlanOptions with_executor(std::optional<Executor> executor) {
  PlanOptions options;
  options.executor = executor;
  return options;
}

inline PlanOptions over(const Names& paths) {
  PlanOptions options;
  options.paths = paths;
  return options;
}

inline PlanOptions split(const std::map<std::string, double>& shares) {
  PlanOptions options;
  options.shares = shares;
  return options;
}

inline PlanOptions chunked(const std::map<std::string, int>& chunks) {
  PlanOptions options;
  options.chunks = chunks;
  return options;
}

/// The machines that come along, and so many synthetic ones.
inline std::vector<std::string> zoo_and_synthetic(int synthetic) {
  std::vector<std::string> names = zoo_names();
  for (int seed = 0; seed < synthetic; ++seed) names.push_back("synthetic:" + std::to_string(seed));
  return names;
}

}  // namespace polypath::test
