#pragma once
// Reports of a machine, a plan or a timeline as JSON, for the interfaces; docs/json.md describes
// the schemas.

#include <string>
#include <vector>

#include "driver/sim/sim_driver.h"
#include "plan/joint/joint.h"
#include "plan/plan.h"

namespace polypath::context {

/// A list of the zoo's machines: [{name, description, gpus, hosts}].
std::string machines_report();
/// The settings: [{variable, value, default, meaning}]. Error: invalid_setting.
std::string settings_report();

/// The copies of one transfer in time, as simulated.
struct SimulatedTransfer {
  Seconds start;                 ///< of the call, on the driver's clock
  std::vector<sim::Span> spans;  ///< in order of completion
};

/// polypath.plan/1 of a plan.
std::string plan_report(const Machine& machine, const Plan& plan);
/// The same with the timeline of its copies.
std::string plan_report(const Machine& machine, const Plan& plan,
                        const SimulatedTransfer& simulated);

/// A set of transfers with its plan, and its request.
struct PlannedSet {
  const Machine& machine;
  bool simulated = false;    ///< the machine is; else it is this computer's
  std::string pattern = {};  ///< empty where the transfers were named one by one
  Issuers issuers = Issuers::one_thread;
  const JointPlan& plan;
};

/// polypath.joint_plan/1 of a set's plan.
std::string joint_plan_report(const PlannedSet& planned);

/// The copies of a simulated machine in the trace event format that Perfetto opens. Times begin
/// with the first of them; it says that they are simulated.
std::string trace_report(const Machine& machine, const std::vector<sim::Span>& spans);

}  // namespace polypath::context
