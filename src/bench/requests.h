#pragma once
// JSON requests; docs/json.md describes the fields. Errors: invalid_argument points at the field;
// and those of choosing the machine.

#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/tune.h"
#include "context/open.h"
#include "plan/joint/joint.h"

namespace polypath::bench {

/// Of a plan or a trace.
struct PlanRequest {
  Machine machine;
  Lane lane;
  Bytes bytes;
  PlanOptions options;
  Settings settings;
};

/// Of a plan for several transfers.
struct JointPlanRequest {
  Machine machine;
  bool simulated = false;  ///< the machine is; else it is this computer's
  std::string pattern;     ///< empty where the transfers are named one by one
  std::vector<JointTransfer> transfers;
  JointOptions options;
  Settings settings;
};

PlanRequest read_plan_request(const std::string& json);
JointPlanRequest read_joint_plan_request(const std::string& json);
Request read_bench_request(const std::string& json);
TuneRequest read_tune_request(const std::string& json);

}  // namespace polypath::bench
